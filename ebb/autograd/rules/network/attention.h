// ebb/autograd/rules/network/attention.h -- gradient rules of attention.
#pragma once

#include <span>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

// `operands`: query, key, value, mask, and for second gradients the
// gradient of the result, in front of which the gradients are returned in the same order.
struct AttentionArguments {
  double dropout_p;
  bool is_causal;
  double scale;
  int64_t seed, offset;
};
std::vector<Tensor> attention_second_grads(std::span<const Tensor> grads,
                                           const std::vector<Tensor>& operands,
                                           const AttentionArguments& arguments);
Tensor attention_tangent(const std::vector<Tensor>& tangents, const std::vector<Tensor>& operands,
                         const AttentionArguments& arguments);
std::vector<Tensor> attention_grad_tangents(const std::vector<Tensor>& tangents,
                                            const std::vector<Tensor>& operands,
                                            const AttentionArguments& arguments);

}  // namespace ebb::autograd::rules
