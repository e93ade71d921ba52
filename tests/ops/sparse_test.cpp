// tests/ops/sparse_test.cpp -- sparse tensors in C++: ops without recording refuse them, opaque
// tensors are refused everywhere, and the gradients that pass them.
#include "ebb/core/tensor/sparse.h"

#include <gtest/gtest.h>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/forward/forward_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/embedding_sparse.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/rows.h"
#include "ebb/autograd/ops/sparse_coo.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_dense.h"
#include "ebb/autograd/ops/to_sparse.h"
#include "ebb/autograd/ops/to_sparse_csr.h"
#include "ebb/autograd/ops/values.h"
#include "ebb/ops/compare.h"
#include "ebb/ops/copy.h"
#include "ebb/ops/index.h"
#include "ebb/ops/matmul.h"
#include "ebb/ops/pointwise.h"
#include "ebb/ops/reduce.h"
#include "ebb/ops/shape.h"
#include "ebb/ops/sort.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

/// [[0, 3, 0], [4, 0, 5]].
Tensor small_coo() { return to_sparse(tensor_of<float>({0, 3, 0, 4, 0, 5}, {2, 3})); }
Tensor small_opaque() {
  return make_opaque(
      Shape{2, 3}, DType::float32, Device{}, [](void*) noexcept {}, nullptr);
}

template <typename Call>
void expect_refused(const char* what, Call&& call) {
  const std::string text = error_of<NotImplementedError>(call);
  EXPECT_NE(text.find("strided"), std::string::npos) << what << ": " << text;
}

/// Calls the unrecorded ops with the tensor in each place that it may come to.
void try_unrecorded_ops(const Tensor& bad) {
  const Tensor good = ones(Shape{2, 3}, DType::float32);
  const Tensor square = ones(Shape{3, 3}, DType::float32);
  const Tensor out = ones(Shape{2, 3}, DType::float32);
  expect_refused("add", [&] { ops::add(bad, good); });
  expect_refused("add, second", [&] { ops::add(good, bad); });
  expect_refused("add, both", [&] { ops::add(bad, bad); });
  expect_refused("add_", [&] { ops::add_(bad, good); });
  expect_refused("add_, second", [&] { ops::add_(good, bad); });
  expect_refused("add_out", [&] { ops::add_out(good, good, bad); });
  expect_refused("mul.Scalar", [&] { ops::mul(bad, Scalar(2)); });
  expect_refused("exp", [&] { ops::exp(bad); });
  expect_refused("eq", [&] { ops::eq(bad, good); });
  expect_refused("where", [&] { ops::where(ops::eq(good, good), bad, good); });
  expect_refused("sum", [&] { ops::sum(bad, std::nullopt, false, std::nullopt); });
  expect_refused("matmul", [&] { ops::matmul(bad, square); });
  expect_refused("matmul, second", [&] { ops::matmul(ones(Shape{3, 2}, DType::float32), bad); });
  expect_refused("transpose", [&] { ops::transpose(bad, 0, 1); });
  expect_refused("reshape", [&] { ops::reshape(bad, Shape{6}); });
  expect_refused("cast", [&] { ops::cast(bad, DType::float64); });
  expect_refused("clone", [&] { ops::clone(bad); });
  expect_refused("copy_", [&] { ops::copy_(out, bad); });
  expect_refused("copy_, target", [&] { ops::copy_(bad, out); });
  expect_refused("fill_", [&] { ops::fill_(bad, Scalar(1)); });
  expect_refused("cat", [&] { ops::cat(std::vector<Tensor>{good, bad}, 0); });
  expect_refused("cat, first", [&] { ops::cat(std::vector<Tensor>{bad, good}, 0); });
  expect_refused("nonzero", [&] { ops::nonzero(bad); });
  expect_refused("sort", [&] { ops::sort(bad, 0, false, false); });
  EXPECT_EQ(floats(out), Floats(6, 1.0f));
}

TEST(Sparse, IsRefusedByUnrecordedOpsInEveryPlace) {
  try_unrecorded_ops(small_coo());
  try_unrecorded_ops(to_sparse_csr(small_coo()));
}

TEST(Opaque, IsRefusedByUnrecordedOpsInEveryPlace) { try_unrecorded_ops(small_opaque()); }

TEST(Opaque, IsRefusedByRecordedOpsWithItsKindInTheError) {
  const Tensor bad = requires_grad_(small_opaque());
  const Tensor good = ones(Shape{2, 3}, DType::float32);
  const std::string rest = "must be strided, got one of layout opaque and shape [2, 3]";
  EXPECT_EQ(error_of<NotImplementedError>([&] { exp(bad); }), "exp: 'input' " + rest);
  EXPECT_EQ(error_of<NotImplementedError>([&] { add(good, bad); }), "add: 'other' " + rest);
  EXPECT_EQ(error_of<NotImplementedError>([&] { mul(bad, Scalar(2)); }), "mul: 'input' " + rest);
  EXPECT_EQ(error_of<NotImplementedError>([&] { to_dense(bad); }), "to_dense: 'input' " + rest);
  EXPECT_EQ(error_of<NotImplementedError>([&] { neg_(bad); }), "neg_: 'self' " + rest);
  EXPECT_EQ(error_of<NotImplementedError>([&] { neg_out(good, bad); }), "neg_out: 'out' " + rest);
}

TEST(Opaque, IsRefusedAsAGradientWithoutACrash) {
  const Tensor leaf = requires_grad_(ones(Shape{2, 3}, DType::float32));
  const Tensor doubled = mul(leaf, Scalar(2));
  const Tensor seeds[] = {small_opaque()};
  const Tensor roots[] = {doubled};
  EXPECT_NE(error_of<NotImplementedError>([&] { backward(roots, seeds); }).find("opaque"),
            std::string::npos);
}

TEST(Sparse, PassesGradientsOfItsValues) {
  const Tensor values = requires_grad_(vector_of<float>({3, 4}));
  const Tensor places = tensor_of<int64_t>({0, 1, 1, 0}, {2, 2});
  const Tensor made = sparse_coo(places, values, Shape{2, 2}, true);
  EXPECT_TRUE(made.requires_grad());
  EXPECT_EQ(made.device(), values.device());
  EXPECT_EQ(autograd::grad_fn(made)->output_meta(0).dtype, DType::float32);
  backward(sum(mul(to_dense(made), tensor_of<float>({1, 2, 3, 4}, {2, 2}))));
  EXPECT_EQ(floats(grad_of(values)), (Floats{2, 3}));
}

TEST(Sparse, IsTheGradientOfASparseEmbedding) {
  const Tensor weight = requires_grad_(ones(Shape{4, 2}, DType::float32));
  const auto run = [&] {
    backward(sum(embedding_sparse(weight, vector_of<int64_t>({1, 3, 1}), -1)));
  };
  run();
  EXPECT_EQ(grad_of(weight).layout(), Layout::selected_rows);
  EXPECT_EQ(ints(rows(grad_of(weight))), (Ints{1, 3, 1}));
  run();
  EXPECT_EQ(ints(rows(grad_of(weight))), (Ints{1, 3}));
  EXPECT_EQ(floats(values(grad_of(weight))), (Floats{4, 4, 2, 2}));
  backward(sum(weight));
  EXPECT_EQ(floats(grad_of(weight)), (Floats{1, 1, 5, 5, 1, 1, 3, 3}));
}

}  // namespace
}  // namespace ebb
