// ebb/autograd/rules/network/norm.h -- derivatives of the normalisations, of their results and
// gradients.
//
// The backward ops give (grad_input, grad_weight, grad_bias). Their own gradients get the three
// that arrive, some undefined, as `grads`, and are given for (grad, input, weight).
#pragma once

#include <optional>
#include <span>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

using NormGrads = std::tuple<Tensor, Tensor, Tensor>;

/// How the operands of a backward op move; undefined for those that do not.
struct NormTangents {
  Tensor grad, input, weight;
};

/// A tensor of one element per channel in a shape that broadcasts over [N, C, d...].
Tensor along_channels(const Tensor& per_channel, int64_t ndim);
/// A tensor of one element per slice along the first dim in a shape that broadcasts over them.
Tensor along_rows(const Tensor& per_row, int64_t ndim);

Tensor layer_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight,
                      IntSpan normalized_shape, double eps);
NormGrads layer_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                    const Tensor& input, const Tensor& weight,
                                    IntSpan normalized_shape, double eps, int64_t wanted);

Tensor rms_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight,
                    IntSpan normalized_shape, std::optional<double> eps);
NormGrads rms_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                  const Tensor& input, const Tensor& weight,
                                  IntSpan normalized_shape, std::optional<double> eps,
                                  int64_t wanted);

Tensor row_rms_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight);
NormGrads row_rms_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                      const Tensor& input, const Tensor& weight, int64_t wanted);

Tensor group_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight,
                      int64_t num_groups, double eps);
NormGrads group_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                    const Tensor& input, const Tensor& weight, int64_t num_groups,
                                    double eps, int64_t wanted);

Tensor batch_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight,
                      const Tensor& mean, const Tensor& var, bool training, double eps);
NormGrads batch_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                    const Tensor& input, const Tensor& weight, const Tensor& mean,
                                    const Tensor& var, bool training, double eps, int64_t wanted);

/// The tangents of the three gradients; undefined for those that are not in `parts`.
NormGrads layer_norm_backward_jvp(const NormTangents& along, const Tensor& grad,
                                  const Tensor& input, const Tensor& weight,
                                  IntSpan normalized_shape, double eps, int64_t parts);
NormGrads rms_norm_backward_jvp(const NormTangents& along, const Tensor& grad, const Tensor& input,
                                const Tensor& weight, IntSpan normalized_shape,
                                std::optional<double> eps, int64_t parts);
NormGrads row_rms_norm_backward_jvp(const NormTangents& along, const Tensor& grad,
                                    const Tensor& input, const Tensor& weight, int64_t parts);
NormGrads group_norm_backward_jvp(const NormTangents& along, const Tensor& grad,
                                  const Tensor& input, const Tensor& weight, int64_t num_groups,
                                  double eps, int64_t parts);
NormGrads batch_norm_backward_jvp(const NormTangents& along, const Tensor& grad,
                                  const Tensor& input, const Tensor& weight, const Tensor& mean,
                                  const Tensor& var, bool training, double eps, int64_t parts);

}  // namespace ebb::autograd::rules
