// tests/ebb_test.cpp -- what a program writes that includes ebb/ebb.h: methods, options, printing.
#include "ebb/ebb.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace ebb {
namespace {

std::string printed(const Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

Tensor counted(double end) { return arange(1.0, end + 1.0); }

TEST(Methods, AreTheOpsOfTheTable) {
  const Tensor x = counted(6.0).reshape({2, 3});
  EXPECT_EQ(x.sum().item<float>(), 21.0f);
  EXPECT_EQ(printed(x.sum(0)), "tensor([5., 7., 9.])");
  EXPECT_EQ(printed(x.t()[2]), "tensor([3., 6.])");
  EXPECT_EQ(std::get<1>(x.max(1)).sum().item<int64_t>(), 4);
  EXPECT_EQ(x.permute({1, 0}).flatten()[1].item<int>(), 4);
}

TEST(Methods, WriteInPlace) {
  const Tensor x = counted(2.0);
  x.mul_(3).add_(x);
  EXPECT_EQ(printed(x), "tensor([ 6., 12.])");
}

TEST(Methods, DifferentiateAndKeepTheGradient) {
  const Tensor x = counted(2.0).requires_grad_();
  (x * x).sum().backward();
  EXPECT_EQ(printed(x.grad()), "tensor([2., 4.])");
  EXPECT_TRUE(x.is_leaf());
  const Tensor cube = (x * x * x).sum();
  cube.backward({.retain_graph = true});
  cube.backward();
  EXPECT_EQ(printed(x.grad()), "tensor([ 8., 28.])");
}

TEST(Methods, NameTheOpInErrors) {
  try {
    counted(6.0).reshape({4});
    FAIL() << "reshape() took another number of elements";
  } catch (const ShapeError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("reshape: ", 0), 0u) << error.what();
  }
}

TEST(Methods, RecordTheLineOfTheirCall) {
  const Tensor x = counted(3.0).requires_grad_();
  const int line = __LINE__ + 1;
  const Tensor y = x.sum();
  const SourceLocation place = describe_location(autograd::grad_fn(y)->location());
  EXPECT_NE(place.file.find("ebb_test.cpp"), std::string::npos) << place.file;
  EXPECT_EQ(place.line, line);
}

TEST(Methods, AddNothingToATensor) { EXPECT_EQ(sizeof(Tensor), sizeof(void*)); }

TEST(Lists, InBracesAreSizesAndDims) {
  EXPECT_EQ(printed(ones({2, 1})), "tensor([[1.],\n        [1.]])");
  EXPECT_EQ(reshape(counted(6.0), {2, -1}).shape(), (Shape{2, 3}));
  EXPECT_EQ(ones({}).ndim(), 0);
  EXPECT_EQ(zeros({3}, DType::int64).dtype(), DType::int64);
}

TEST(Lists, OfTooManyDimsAreRefused) { EXPECT_THROW(reshape(counted(6.0), {4}), ShapeError); }

TEST(Options, NameArgumentsAsPythonDoes) {
  const Tensor x = counted(6.0).reshape({2, 3});
  EXPECT_EQ(printed(sum(x, {.dim = 1, .keepdim = true})), printed(x.sum(1, true)));
  EXPECT_EQ(printed(x.sum({.dim = {0, 1}})), "tensor(21.)");
  EXPECT_EQ(x.sum({.dtype = DType::float64}).dtype(), DType::float64);
  EXPECT_EQ(x.var({.correction = 0.0, .keepdim = true}).ndim(), 2);
}

TEST(Options, LeaveListsWithoutNamesToDims) {
  EXPECT_EQ(counted(6.0).reshape({2, 3}).sum({0, 1}).item<float>(), 21.0f);
}

TEST(Options, HoldOptionalTensors) {
  const Tensor x = counted(4.0).reshape({1, 1, 4});
  const Tensor weight = ones(Shape{1, 1, 2});
  const Tensor out = conv1d(x, weight, {.bias = ones(Shape{1}), .stride = 2});
  EXPECT_EQ(printed(out.flatten()), "tensor([4., 8.])");
}

TEST(Grad, OfOneTensorIsOneTensor) {
  const Tensor x = counted(3.0).requires_grad_();
  const Tensor y = (x * x * x).sum();
  const Tensor slope = grad(y, x, {.create_graph = true});
  EXPECT_EQ(printed(grad(slope.sum(), x)), "tensor([ 6., 12., 18.])");
}

TEST(Grad, OfAListIsAList) {
  const Tensor x = counted(2.0).requires_grad_(), weight = counted(2.0).requires_grad_();
  const Tensor y = (x * weight).sum(), z = (weight * weight).sum();
  const std::vector<Tensor> grads = grad({y, z}, {x, weight}, {.retain_graph = true});
  EXPECT_EQ(printed(grads.at(0)), "tensor([1., 2.])");
  EXPECT_EQ(printed(grads.at(1)), "tensor([3., 6.])");
  EXPECT_EQ(printed(grad({y, z}, weight, {.retain_graph = true})), printed(grads.at(1)));
  EXPECT_EQ(grad(y, std::vector<Tensor>{x, weight}).size(), 2u);
}

TEST(Grad, TakesASeed) {
  const Tensor x = counted(2.0).requires_grad_();
  EXPECT_EQ(printed(grad(x * x, x, counted(2.0))), "tensor([2., 8.])");
}

TEST(Grad, RunsBackwardFromSeveralTensors) {
  const Tensor x = counted(2.0).requires_grad_();
  backward({(x * x).sum(), x.sum()});
  EXPECT_EQ(printed(x.grad()), "tensor([3., 5.])");
}

TEST(Print, LaysNumbersOutAsPythonDoes) {
  EXPECT_EQ(printed(counted(4.0).reshape({2, 2})), "tensor([[1., 2.],\n        [3., 4.]])");
  EXPECT_EQ(printed(counted(2.0).div(8)), "tensor([0.1250, 0.2500])");
  EXPECT_EQ(printed(ones(Shape{2}, DType::int64)), "tensor([1, 1])");
  EXPECT_EQ(printed(full(Shape{}, 2.5, DType::float64)), "tensor(2.5000, dtype=ebb.float64)");
  EXPECT_EQ(printed(zeros(Shape{0})), "tensor([])");
  EXPECT_EQ(printed(Tensor()), "tensor(undefined)");
}

TEST(Print, TellsWhereATensorComesFrom) {
  const Tensor x = ones(Shape{1}).requires_grad_();
  EXPECT_EQ(printed(x), "tensor([1.], requires_grad=True)");
  EXPECT_EQ(printed(x * x), "tensor([1.], grad_fn=<MulBackward>)");
}

TEST(Print, ShowsTheEndsOfALargeTensor) {
  EXPECT_EQ(printed(arange(0.0, 2000.0)),
            "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n"
            "        1.9990e+03])");
  EXPECT_EQ(printed(arange(1000.0, 3000.0)),
            "tensor([1000., 1001., 1002.,  ..., 2997., 2998., 2999.])");
}

}  // namespace
}  // namespace ebb
