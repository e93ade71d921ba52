// ebb/nn/init.h -- fills tensors with starting values, under PyTorch's names.
//
// Random ones draw from default_generator(). All write in place without being recorded and return
// their argument.
#pragma once

#include <cstdint>
#include <string_view>

#include "ebb/core/tensor/tensor.h"

namespace ebb::nn::init {

/// Which number of connections the variance is kept for: those into a unit or those out of it.
enum class FanMode : uint8_t { fan_in, fan_out };
/// What follows the layer; it decides calculate_gain().
enum class Nonlinearity : uint8_t { linear, sigmoid, tanh, relu, leaky_relu, selu };

/// Uniform in [low, high).
EBB_API const Tensor& uniform_(const Tensor& tensor, double low = 0.0, double high = 1.0);
EBB_API const Tensor& normal_(const Tensor& tensor, double mean = 0.0, double std = 1.0);
/// Normal, but only values in [low, high]. Throws ValueError unless std > 0 and low < high.
EBB_API const Tensor& trunc_normal_(const Tensor& tensor, double mean = 0.0, double std = 1.0,
                                    double low = -2.0, double high = 2.0);
EBB_API const Tensor& constant_(const Tensor& tensor, double value);
EBB_API const Tensor& ones_(const Tensor& tensor);
EBB_API const Tensor& zeros_(const Tensor& tensor);
/// The identity matrix, cut or filled up with zeros. Throws ShapeError unless there are 2 dims.
EBB_API const Tensor& eye_(const Tensor& tensor);
/// A convolution's weight that passes as many channels as possible unchanged, in each group its
/// own. Throws ShapeError unless there are 3 to 5 dims, ValueError unless groups divide the first.
EBB_API const Tensor& dirac_(const Tensor& tensor, int64_t groups = 1);
/// Normal numbers, and zeros in a share of each column. Throws ShapeError unless there are 2 dims,
/// ValueError unless 0 <= sparsity <= 1.
EBB_API const Tensor& sparse_(const Tensor& tensor, double sparsity, double std = 0.01);

/// What a nonlinearity multiplies the standard deviation with to keep the variance; `slope` is that
/// of the leaky ReLU.
EBB_API double calculate_gain(Nonlinearity nonlinearity, double slope = 0.01);
/// The nonlinearity of that name, convolutions among them, which are linear; and the mode. Throw
/// ValueError, in the name of `op`, for others.
EBB_API Nonlinearity nonlinearity_of(const char* op, std::string_view name);
EBB_API FanMode fan_mode_of(const char* op, std::string_view name);

/// Uniform in +-gain * sqrt(6 / (fan_in + fan_out)). Throws ShapeError for fewer than 2 dims.
EBB_API const Tensor& xavier_uniform_(const Tensor& tensor, double gain = 1.0);
/// Normal with deviation gain * sqrt(2 / (fan_in + fan_out)).
EBB_API const Tensor& xavier_normal_(const Tensor& tensor, double gain = 1.0);
/// Uniform in +-gain * sqrt(3 / fan), the gain being that of the nonlinearity with slope `a`.
EBB_API const Tensor& kaiming_uniform_(const Tensor& tensor, double a = 0.0,
                                       FanMode mode = FanMode::fan_in,
                                       Nonlinearity nonlinearity = Nonlinearity::leaky_relu);
/// Normal with deviation gain / sqrt(fan).
EBB_API const Tensor& kaiming_normal_(const Tensor& tensor, double a = 0.0,
                                      FanMode mode = FanMode::fan_in,
                                      Nonlinearity nonlinearity = Nonlinearity::leaky_relu);
/// Rows that are orthogonal and of length `gain`, or columns if there are more rows; dims after the
/// first are taken together. Throws ShapeError for fewer than 2 dims.
EBB_API const Tensor& orthogonal_(const Tensor& tensor, double gain = 1.0);

/// Inputs that feed one output: the sizes of all dims but the first, multiplied.
EBB_API int64_t fan_in(const Tensor& tensor);
/// Outputs that one input feeds: the sizes of all dims but the second, multiplied.
EBB_API int64_t fan_out(const Tensor& tensor);

}  // namespace ebb::nn::init
