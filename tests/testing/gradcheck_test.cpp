// tests/testing/gradcheck_test.cpp -- gradcheck as C++ calls it: right gradients pass, wrong ones
// are an error that says where.
//
// Python's gradcheck is this one: tests/python/autograd/test_gradcheck.py tests what it finds.
#include "ebb/testing/gradcheck.h"

#include <gtest/gtest.h>

#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/reshape.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

using testing::gradcheck;
using testing::GradcheckOptions;
using testing::gradgradcheck;
using testing::TensorFunction;

Tensor ramp(IntSpan sizes) {
  const Tensor flat = add(mul(arange(checked_numel("ramp", sizes, 8)), 0.3), 0.5);
  return requires_grad_(cast(reshape(flat, sizes), DType::float64));
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nshould contain " << part;
}

std::vector<Tensor> product(std::span<const Tensor> inputs) { return {mul(inputs[0], inputs[1])}; }

/// Its gradient misses the second factor.
std::vector<Tensor> half_a_square(std::span<const Tensor> inputs) {
  return {mul(inputs[0], detach(inputs[0]))};
}

TEST(Gradcheck, AcceptsRightDerivativesInEveryMode) {
  const Tensor inputs[] = {ramp({2, 3}), ramp({3})};
  EXPECT_NO_THROW(gradcheck(product, inputs));
  EXPECT_NO_THROW(gradgradcheck(product, inputs));
  EXPECT_NO_THROW(gradcheck(
      product, inputs,
      {.check_forward_ad = true, .check_batched_grad = true, .check_batched_forward_grad = true}));
  EXPECT_NO_THROW(gradgradcheck(product, inputs, {},
                                {.fast_mode = true,
                                 .check_forward_ad = true,
                                 .check_rev_over_fwd = true,
                                 .gen_non_contig_grad_outputs = true}));
}

TEST(Gradcheck, FindsAWrongGradientAndSaysWhere) {
  const Tensor inputs[] = {ramp({2})};
  expect_contains(error_of<Error>([&] { gradcheck(half_a_square, inputs); }),
                  "gradcheck: gradient of output 0 with respect to input 0 must match finite "
                  "differences, got analytical 0.5 and numerical 1");
  expect_contains(error_of<Error>([&] { gradcheck(half_a_square, inputs, {.fast_mode = true}); }),
                  "along a random direction");
}

TEST(Gradcheck, FindsATangentThatOnlyForwardModeLoses) {
  const TensorFunction drops_a_tangent = [](std::span<const Tensor> in) {
    // Right for backward, which does not see that the value was taken from a twin.
    return std::vector<Tensor>{autograd::is_dual(in[0]) ? mul(in[0], detach(in[0]))
                                                        : mul(in[0], in[0])};
  };
  const Tensor inputs[] = {ramp({2, 3})};
  for (const bool fast : {false, true}) {
    const GradcheckOptions options{.fast_mode = fast, .check_forward_ad = true};
    EXPECT_NO_THROW(gradcheck(drops_a_tangent, inputs, {.fast_mode = fast}));
    expect_contains(error_of<Error>([&] { gradcheck(drops_a_tangent, inputs, options); }),
                    "gradcheck: tangent of output 0 with respect to input 0 must match");
  }
}

}  // namespace
}  // namespace ebb
