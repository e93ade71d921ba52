// ebb/ops/impl/network/norm.h -- bodies of layer_norm, rms_norm, group_norm, batch_norm and their
// gradients.
//
// Weights and biases have the dtype of the input, or float32 beside a half type. Gradients that are
// not wanted come back empty, of shape [0].
#pragma once

#include <optional>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

using NormGrads = std::tuple<Tensor, Tensor, Tensor>;  // of input, weight and bias

EBB_API Tensor layer_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight,
                          const Tensor& bias, double eps);
EBB_API NormGrads layer_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                      IntSpan normalized_shape, double eps, int64_t parts);

EBB_API Tensor rms_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight,
                        std::optional<double> eps);
EBB_API std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& input,
                                                     const Tensor& weight, IntSpan normalized_shape,
                                                     std::optional<double> eps, int64_t parts);

/// Slices along the first dim, with one weight each and no eps.
EBB_API Tensor row_rms_norm(const Tensor& input, const Tensor& weight);
EBB_API std::tuple<Tensor, Tensor> row_rms_norm_backward(const Tensor& grad, const Tensor& input,
                                                         const Tensor& weight, int64_t parts);

EBB_API Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight,
                          const Tensor& bias, double eps);
EBB_API NormGrads group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                      int64_t num_groups, double eps, int64_t parts);

/// The result, and the statistics that it was made with.
EBB_API std::tuple<Tensor, Tensor, Tensor> native_batch_norm(
    const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
    const Tensor& weight, const Tensor& bias, bool training, double eps);
EBB_API NormGrads native_batch_norm_backward(const Tensor& grad, const Tensor& input,
                                             const Tensor& weight, const Tensor& mean,
                                             const Tensor& var, bool training, double eps,
                                             int64_t parts);

/// What rms_norm adds to the mean square if no eps is given: that of the dtype computed in, float32
/// for half types.
EBB_API double default_eps(DType dtype);

}  // namespace ebb::ops::impl
