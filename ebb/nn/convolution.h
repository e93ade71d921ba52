// ebb/nn/convolution.h -- Conv2d and ConvTranspose2d.
#pragma once

#include "ebb/core/tensor/tensor.h"
#include "ebb/nn/module.h"
#include "ebb/nn/pair.h"

namespace ebb::nn {

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  DType dtype = default_dtype();
};

/// Input [batch, in_channels, height, width], or without batch. Weight [out_channels, in_channels /
/// groups, kernel] and bias are drawn uniformly from +-1/sqrt(fan_in).
class EBB_API Conv2d final : public Module {
 public:
  /// Throws ValueError for sizes below 1, or channels that groups does not divide.
  Conv2d(int64_t in_channels, int64_t out_channels, Pair kernel_size, Conv2dOptions options = {});
  Tensor forward(const Tensor& input) override;

  Tensor weight;
  Tensor bias;  // undefined without bias

 private:
  Conv2dOptions options_;
};

struct ConvTranspose2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Pair dilation = 1;
  DType dtype = default_dtype();
};

/// The transposed convolution, which undoes the sizes of Conv2d. Weight [in_channels, out_channels
/// / groups, kernel].
class EBB_API ConvTranspose2d final : public Module {
 public:
  /// Throws ValueError for sizes below 1, or channels that groups does not divide.
  ConvTranspose2d(int64_t in_channels, int64_t out_channels, Pair kernel_size,
                  ConvTranspose2dOptions options = {});
  Tensor forward(const Tensor& input) override;

  Tensor weight;
  Tensor bias;  // undefined without bias

 private:
  ConvTranspose2dOptions options_;
};

}  // namespace ebb::nn
