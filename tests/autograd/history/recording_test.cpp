// tests/autograd/history/recording_test.cpp -- what generated recording functions refuse.
//
// What they record and save is tested for all rows in tests/python/autograd/test_recording.py and
// tests/python/ops/test_saved.py.
#include <gtest/gtest.h>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

TEST(Recording, IsCutUnderNoGradAndSaysSo) {
  const Tensor x = leaf({1, 2});
  const NoGradGuard guard;
  const Tensor y = exp(x);
  EXPECT_FALSE(y.requires_grad());
  const Tensor later = y + 1;  // inherits the reason
  EXPECT_NE(autograd::explain_origin(later).find("no_grad"), std::string::npos)
      << autograd::explain_origin(later);
}

TEST(OutForms, RefuseOperandsThatRequireAGradient) {
  const Tensor out = empty(Shape{1}, DType::float32);
  const Tensor x = leaf({1});
  EXPECT_EQ(error_of<AutogradError>([&] { add_out(x, x, out); }),
            "add_out: the out= form is not differentiable and needs operands that require no "
            "gradient, got one that does\nhint: use the plain form, or call it under no_grad");
  const NoGradGuard guard;
  EXPECT_EQ(floats(add_out(x, x, out)), (Floats{2}));
}

}  // namespace
}  // namespace ebb
