// ebb/autograd/history/gradients/in_blocks.h -- formulas of element-wise ops, block by block.
//
// A formula is made of ops, each with a result of its own. Where an operand is large these are made
// for a block of elements at a time, so that a backward pass takes gradients and little else.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <utility>

#include "ebb/core/base/export.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Elements of a block: what is made of them on the way stays in the cache.
inline constexpr int64_t kFormulaBlock = int64_t{1} << 18;

namespace detail {
EBB_API Tensor cast_to_float(const Tensor& half);
/// in_blocks() if an operand is large.
EBB_API Tensor large_in_blocks(std::span<const Tensor> operands,
                               FunctionRef<Tensor(const Tensor*)> formula);
EBB_API Tensor widened_beside(const Tensor& operand, DType grad);
}  // namespace detail

/// An operand of a half type in float32, in which formulas of more than one op are computed: what
/// each op would round, or lose beyond the range, is rounded once at the end. Others as they are.
inline Tensor in_float(const Tensor& operand) {
  const bool is_wide = !operand.defined() || !is_half(operand.impl()->dtype);
  return is_wide ? operand : detail::cast_to_float(operand);
}
/// The same, in `wide` if it had to be cast.
inline const Tensor& in_float(const Tensor& operand, Tensor& wide) {
  if (!operand.defined() || !is_half(operand.impl()->dtype)) [[likely]]
    return operand;
  return wide = detail::cast_to_float(operand);
}

namespace detail {
/// The half type that all floating operands have; float32 if there is none such.
EBB_API DType common_half(std::initializer_list<const Tensor*> operands);
EBB_API Tensor cast_to_half(const Tensor& result, DType half);
}  // namespace detail

/// `compute(operands...)`, in float32 where all floating operands are of one half type: for what is
/// made of several ops, whose results would be rounded, or lost beyond the range.
template <typename Compute, typename... Operands>
Tensor through_float(const Compute& compute, const Operands&... operands) {
  const DType half = detail::common_half({&operands...});
  if (!is_half(half)) return compute(operands...);
  return detail::cast_to_half(compute(in_float(operands)...), half);
}

/// A half gradient in float32 if what a formula makes of it has other sizes than its operand has,
/// so is summed: terms may leave the range of a half type where their sum does not.
EBB_API Tensor to_be_summed(const Tensor& grad, IntSpan operand_sizes);

/// An operand as an element-wise formula takes it: at least as wide as the gradient, whose dtype
/// the op computed in, since what is worked out from the operand alone would have fewer digits.
/// Recorded if grad mode is on.
inline Tensor beside(const Tensor& operand, const Tensor& grad) {
  const bool is_alike = !operand.defined() || operand.impl()->dtype == grad.impl()->dtype;
  return is_alike ? operand : detail::widened_beside(operand, grad.impl()->dtype);
}

/// `formula(operands...)`, which must be element-wise, and have the shape that all operands
/// broadcast to. It is called once, unless an operand is large and nothing is recorded or watched.
/// Where the first operand, the gradient, is of a half type the result may be float32.
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
