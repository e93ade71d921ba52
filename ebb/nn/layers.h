// ebb/nn/layers.h -- Linear, Embedding and Flatten; and the layers of ops/modules without windows.
#pragma once

#include "ebb/core/tensor/tensor.h"
#include "ebb/nn/activations.h"  // IWYU pragma: export
#include "ebb/nn/dropout.h"      // IWYU pragma: export
#include "ebb/nn/losses.h"       // IWYU pragma: export
#include "ebb/nn/module.h"

namespace ebb::nn {

/// y = x W^T + b, with W [out_features, in_features] and b [out_features], both drawn uniformly
/// from +-1/sqrt(in_features).
class EBB_API Linear final : public Module {
 public:
  /// Throws ValueError for negative sizes.
  Linear(int64_t in_features, int64_t out_features, bool with_bias = true,
         DType dtype = default_dtype());
  Tensor forward(const Tensor& input) override;

  Tensor weight;
  Tensor bias;  // undefined without bias
};

/// Returns its input.
class EBB_API Identity final : public Module {
 public:
  Tensor forward(const Tensor& input) override { return input; }
};

/// Joins the dims from start_dim to end_dim into one.
class EBB_API Flatten final : public Module {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1)
      : start_dim_(start_dim), end_dim_(end_dim) {}
  Tensor forward(const Tensor& input) override;

 private:
  int64_t start_dim_;
  int64_t end_dim_;
};

struct EmbeddingOptions {
  int64_t padding_idx = -1;  // a row that stays zero and is not trained; -1: none
  DType dtype = default_dtype();
  bool sparse = false;  // the gradient of the weight stores the rows that were looked up
};

/// The rows of a weight [num_embeddings, embedding_dim] that the input names. The weight is drawn
/// from the normal distribution.
class EBB_API Embedding final : public Module {
 public:
  /// Throws ValueError for negative sizes, IndexError for a padding_idx that is no row.
  Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options = {});
  /// A layer over the memory of a matrix, frozen unless told otherwise. Throws ShapeError.
  static Embedding from_pretrained(const Tensor& matrix, bool freeze = true,
                                   int64_t padding_idx = -1);
  Tensor forward(const Tensor& input) override;

  Tensor weight;

 private:
  explicit Embedding(const Tensor& matrix) : weight(register_parameter("weight", matrix)) {}
  int64_t padding_idx_ = -1;
  bool is_sparse_ = false;
};

}  // namespace ebb::nn
