// ebb/nn/layers.cpp -- layers: parameters are drawn here, the arithmetic is in the ops.
#include "ebb/nn/layers.h"

#include <cmath>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/cross_entropy.h"
#include "ebb/autograd/ops/dropout.h"
#include "ebb/autograd/ops/embedding.h"
#include "ebb/autograd/ops/embedding_sparse.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/flatten.h"
#include "ebb/autograd/ops/linear.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/zero_.h"
#include "ebb/core/base/error.h"
#include "ebb/nn/init.h"

namespace ebb::nn {
namespace {

void check_row(int64_t rows, int64_t padding_idx) {
  if (padding_idx < -1 || padding_idx >= rows) {
    throw IndexError(str("Embedding: needs padding_idx below ", rows, " or -1, got ", padding_idx));
  }
}

}  // namespace

Linear::Linear(int64_t in_features, int64_t out_features, bool with_bias, DType dtype) {
  if (in_features < 0 || out_features < 0) {
    throw ValueError(str("Linear: needs sizes >= 0, got ", in_features, " and ", out_features));
  }
  weight = ebb::empty(Shape{out_features, in_features}, dtype);
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  weight = register_parameter("weight", weight);
  if (!with_bias) return;
  bias = ebb::empty(Shape{out_features}, dtype);
  const double bound = in_features > 0 ? 1.0 / std::sqrt(static_cast<double>(in_features)) : 0.0;
  init::uniform_(bias, -bound, bound);
  bias = register_parameter("bias", bias);
}

Tensor Linear::forward(const Tensor& input) { return linear(input, weight, bias); }

Tensor Flatten::forward(const Tensor& input) { return flatten(input, start_dim_, end_dim_); }

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options)
    : padding_idx_(options.padding_idx), is_sparse_(options.sparse) {
  if (num_embeddings < 0 || embedding_dim < 0) {
    throw ValueError(
        str("Embedding: needs sizes >= 0, got ", num_embeddings, " and ", embedding_dim));
  }
  check_row(num_embeddings, padding_idx_);
  weight = ebb::empty(Shape{num_embeddings, embedding_dim}, options.dtype);
  init::normal_(weight);
  if (padding_idx_ >= 0) zero_(select(weight, 0, padding_idx_));
  weight = register_parameter("weight", weight);
}

Embedding Embedding::from_pretrained(const Tensor& matrix, bool freeze, int64_t padding_idx) {
  if (matrix.ndim() != 2) {
    throw ShapeError(str("from_pretrained: needs a matrix, got shape ", matrix.shape()));
  }
  check_row(matrix.size(0), padding_idx);
  Embedding layer(detached(matrix));
  layer.padding_idx_ = padding_idx;
  if (freeze) layer.requires_grad_(false);
  return layer;
}

Tensor Embedding::forward(const Tensor& input) {
  if (is_sparse_) return embedding_sparse(weight, input, padding_idx_);
  return embedding(weight, input, padding_idx_);
}

}  // namespace ebb::nn
