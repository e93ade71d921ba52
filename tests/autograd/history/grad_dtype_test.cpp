// tests/autograd/history/grad_dtype_test.cpp -- leaves whose gradients have another dtype than
// they.
#include "ebb/autograd/history/grad_dtype.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

TEST(GradDType, IsTheLeafsUnlessAnotherIsSet) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(grad_dtype(x), DType::float32);
  EXPECT_EQ(grad_dtype(vector_of<int64_t>({1})), DType::int64);
  set_grad_dtype(x, DType::float64);
  EXPECT_EQ(grad_dtype(x), DType::float64);
  backward(sum(x * 3));
  EXPECT_EQ(grad_of(x).dtype(), DType::float64);
  EXPECT_EQ(grad({{sum(x * 3)}}, {{x}})[0].dtype(), DType::float64);
}

TEST(GradDType, EndsWithTheDTypeOfTheLeaf) {
  const Tensor x = leaf({1, 2});
  set_grad_dtype(x, DType::float64);
  set_data(x, vector_of<float>({3, 4}));
  EXPECT_EQ(grad_dtype(x), DType::float64);
  set_data(x, cast(vector_of<float>({3, 4}), DType::float16));
  EXPECT_EQ(grad_dtype(x), DType::float16);
}

TEST(GradDType, RefusesWhatTakesNoSuchGradient) {
  const Tensor x = leaf({1});
  EXPECT_THROW(grad_dtype(x * 2), AutogradError);
  EXPECT_THROW(set_grad_dtype(vector_of<float>({1}), DType::float64), AutogradError);
  EXPECT_EQ(error_of<DTypeError>([&] { set_grad_dtype(x, DType::int32); }),
            "grad_dtype: needs a real floating dtype for a leaf of float32, got int32");
  backward(x * 2);
  EXPECT_EQ(error_of<DTypeError>([&] { set_grad_dtype(x, DType::float64); }),
            "grad_dtype: needs the dtype of the gradient there is, float32, got float64"
            "\nhint: set grad to None first");
}

}  // namespace
}  // namespace ebb
