// ebb/autograd/watch/finite_check.h -- NaN and infinities in tensors: whether, and a text that
// shows where.
//
// What is a fault: NaN, and an infinity where it arises, that is, if nothing it was computed from
// is infinite. So a mask of -inf passes, and what divides by zero is named. What is given to an op
// as a number is none either.
#pragma once

#include <span>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// An operand of an op: what it is called, and its value.
struct NamedTensor {
  const char* name;
  const Tensor* tensor;
};
/// Throws NonFiniteError if the result of an op at `location` has a fault. `scalars_are_finite`:
/// numbers that were given to the op beside the operands.
void check_result(const char* op, const Tensor& result, std::span<const NamedTensor> operands,
                  bool scalars_are_finite, uint32_t bits, LocationId location);

/// Throws NonFiniteError if a gradient that `node` computed from `grads` has a fault.
void check_gradients(const Node& node, std::span<const Tensor> grads,
                     std::span<const Tensor> grad_inputs, uint32_t bits);
/// Throws NonFiniteError if `value` is not finite: "`call`: `noun` `position` must be finite".
void check_start(const char* call, const char* noun, size_t position, const Tensor& value,
                 uint32_t bits);

}  // namespace ebb::autograd
