// ebb/nn/normalization.h -- LayerNorm, RMSNorm, GroupNorm and BatchNorm.
//
// Weights start as ones, biases as zeros; no random number is drawn.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"
#include "ebb/nn/module.h"

namespace ebb::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  // has a weight
  bool with_bias = true;           // and a bias beside it
  DType dtype = default_dtype();
};

/// Brings the last dims, of sizes `normalized_shape`, to mean 0 and variance 1, then times weight
/// plus bias.
class EBB_API LayerNorm final : public Module {
 public:
  /// Throws ValueError without sizes or for negative ones.
  explicit LayerNorm(IntSpan normalized_shape, LayerNormOptions options = {});
  Tensor forward(const Tensor& input) override;

  Tensor weight;  // undefined without
  Tensor bias;

 private:
  Shape shape_;
  double eps_;
};

struct RmsNormOptions {
  std::optional<double> eps{};  // none: that of the input's dtype
  bool elementwise_affine = true;
  DType dtype = default_dtype();
};

/// Divides by the root of the mean square over the last dims, then times weight.
class EBB_API RMSNorm final : public Module {
 public:
  explicit RMSNorm(IntSpan normalized_shape, RmsNormOptions options = {});
  Tensor forward(const Tensor& input) override;

  Tensor weight;

 private:
  Shape shape_;
  std::optional<double> eps_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;  // has weight and bias
  DType dtype = default_dtype();
};

/// Brings each group of channels of each sample to mean 0 and variance 1.
class EBB_API GroupNorm final : public Module {
 public:
  /// Throws ValueError unless num_groups divides num_channels.
  GroupNorm(int64_t num_groups, int64_t num_channels, GroupNormOptions options = {});
  Tensor forward(const Tensor& input) override;

  Tensor weight;
  Tensor bias;

 private:
  int64_t num_groups_;
  double eps_;
};

struct BatchNormOptions {
  double eps = 1e-5;
  /// How far each batch moves the running statistics; none averages all batches.
  std::optional<double> momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
  DType dtype = default_dtype();
};

/// Brings each channel of an input [N, C, d...] to mean 0 and variance 1 over the batch; in
/// evaluation, with the running statistics.
class EBB_API BatchNorm : public Module {
 public:
  Tensor forward(const Tensor& input) override;

  Tensor weight;  // undefined without affine
  Tensor bias;
  Tensor running_mean;  // undefined without track_running_stats
  Tensor running_var;
  Tensor num_batches_tracked;

 protected:
  /// Inputs have from `min_ndim` to `max_ndim` dims; `name` is for errors.
  BatchNorm(const char* name, int min_ndim, int max_ndim, int64_t num_features,
            const BatchNormOptions& options);

 private:
  const char* name_;
  int min_ndim_, max_ndim_;
  int64_t num_features_;
  double eps_;
  std::optional<double> momentum_;
};

/// For [N, C] and [N, C, L].
class EBB_API BatchNorm1d final : public BatchNorm {
 public:
  explicit BatchNorm1d(int64_t num_features, const BatchNormOptions& options = {})
      : BatchNorm("BatchNorm1d", 2, 3, num_features, options) {}
};
/// For [N, C, H, W].
class EBB_API BatchNorm2d final : public BatchNorm {
 public:
  explicit BatchNorm2d(int64_t num_features, const BatchNormOptions& options = {})
      : BatchNorm("BatchNorm2d", 4, 4, num_features, options) {}
};
/// For [N, C, D, H, W].
class EBB_API BatchNorm3d final : public BatchNorm {
 public:
  explicit BatchNorm3d(int64_t num_features, const BatchNormOptions& options = {})
      : BatchNorm("BatchNorm3d", 5, 5, num_features, options) {}
};

}  // namespace ebb::nn
