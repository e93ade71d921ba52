// ebb/autograd/history/gradients/in_blocks.h -- formulas of element-wise ops, block by block.
//
// A formula is made of ops, each with a result of its own. Where an operand is large these are made
// for a block of elements at a time, so that a backward pass takes gradients and little else.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "ebb/core/base/export.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Elements of a block: what is made of them on the way stays in the cache.
inline constexpr int64_t kFormulaBlock = int64_t{1} << 18;

namespace detail {
/// in_blocks() if an operand is large.
EBB_API Tensor large_in_blocks(std::span<const Tensor> operands,
                               FunctionRef<Tensor(const Tensor*)> formula);
EBB_API Tensor widened_beside(const Tensor& operand, DType grad);
}  // namespace detail

/// An operand as an element-wise formula takes it: at least as wide as the gradient, whose dtype
/// the op computed in, since what is worked out from the operand alone would have fewer digits.
/// Recorded if grad mode is on.
inline Tensor beside(const Tensor& operand, const Tensor& grad) {
  const bool is_alike = !operand.defined() || operand.impl()->dtype == grad.impl()->dtype;
  return is_alike ? operand : detail::widened_beside(operand, grad.impl()->dtype);
}

/// `formula(operands...)`, which must be element-wise, and have the shape that all operands
/// broadcast to. It is called once, unless an operand is large and nothing is recorded or watched.
template <typename Formula, typename... Operands>
Tensor in_blocks(const Formula& formula, const Operands&... operands) {
  const auto is_small = [](const Tensor& operand) {
    return !operand.defined() || operand.impl()->numel < 2 * kFormulaBlock;
  };
  if ((is_small(operands) && ...)) [[likely]]
    return formula(operands...);
  const std::array<Tensor, sizeof...(Operands)> all = {operands...};
  return detail::large_in_blocks(all, [&](const Tensor* parts) {
    return [&]<size_t... index>(std::index_sequence<index...>) { return formula(parts[index]...); }
    (std::make_index_sequence<sizeof...(Operands)>());
  });
}

}  // namespace ebb::autograd
