// ebb/nn/pooling.h -- MaxPool2d, AvgPool2d and AdaptiveAvgPool2d.
#pragma once

#include <optional>

#include "ebb/nn/convolution.h"
#include "ebb/nn/module.h"

namespace ebb::nn {

struct MaxPool2dOptions {
  std::optional<Pair> stride{};  // the kernel_size unless given
  Pair padding = 0;
  Pair dilation = 1;
  bool ceil_mode = false;
};

/// The largest element of each window of the last two dims.
class EBB_API MaxPool2d final : public Module {
 public:
  explicit MaxPool2d(Pair kernel_size, MaxPool2dOptions options = {})
      : kernel_size_(kernel_size), options_(options) {}
  Tensor forward(const Tensor& input) override;

 private:
  Pair kernel_size_;
  MaxPool2dOptions options_;
};

struct AvgPool2dOptions {
  std::optional<Pair> stride{};  // the kernel_size unless given
  Pair padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override{};
};

/// Means over windows of the last two dims.
class EBB_API AvgPool2d final : public Module {
 public:
  explicit AvgPool2d(Pair kernel_size, AvgPool2dOptions options = {})
      : kernel_size_(kernel_size), options_(options) {}
  Tensor forward(const Tensor& input) override;

 private:
  Pair kernel_size_;
  AvgPool2dOptions options_;
};

/// Means over the last two dims cut into so many parts.
class EBB_API AdaptiveAvgPool2d final : public Module {
 public:
  explicit AdaptiveAvgPool2d(Pair output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& input) override;

 private:
  Pair output_size_;
};

}  // namespace ebb::nn
