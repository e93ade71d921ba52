// ebb/autograd/forward/jvp_support.h -- the small parts of generated forward-mode rules.
#pragma once

#include <optional>

#include "ebb/autograd/forward/jvp_table.h"
#include "ebb/autograd/history/gradient_math.h"
#include "ebb/autograd/ops/add.h"

namespace ebb::autograd {

/// `lhs + rhs`, where an undefined tensor stands for zero.
inline Tensor sum_tangents(const Tensor& lhs, const Tensor& rhs) {
  return lhs.defined() ? add(lhs, rhs) : rhs;
}

/// Zeros of the shape and dtype of `like`.
EBB_API Tensor zero_tangent(const Tensor& like);
inline Tensor tangent_or_zero(const Tensor& tangent, const Tensor& primal) {
  return tangent.defined() ? tangent : zero_tangent(primal);
}
inline std::vector<Tensor> tangents_or_zero(std::span<const Tensor> tangents,
                                            std::span<const Tensor> primals) {
  std::vector<Tensor> all(primals.size());
  for (size_t index = 0; index < all.size(); ++index) {
    const Tensor given = index < tangents.size() ? tangents[index] : Tensor();
    all[index] = tangent_or_zero(given, primals[index]);
  }
  return all;
}

/// A tangent in the dtype and shape of the result that it belongs to.
EBB_API Tensor conform_tangent(const Tensor& tangent, const Tensor& out);
/// The same for several results; zeros where a tangent is undefined.
EBB_API std::vector<Tensor> conform_tangents(std::vector<Tensor> tangents,
                                             std::span<const Tensor> outs);

// Arguments by position, with their types checked.
[[noreturn]] EBB_API void throw_wrong_argument(const char* op, size_t position);

template <typename T>
const T& argument(const char* op, std::span<const Argument> arguments, size_t position) {
  const bool is_there = position < arguments.size();
  const T* const value = is_there ? std::get_if<T>(&arguments[position]) : nullptr;
  if (value == nullptr) throw_wrong_argument(op, position);
  return *value;
}
template <typename T>
std::optional<T> optional_argument(const char* op, std::span<const Argument> arguments,
                                   size_t position) {
  const bool is_none = position >= arguments.size() || arguments[position].index() == 0;
  if (is_none) return std::nullopt;
  return argument<T>(op, arguments, position);
}
/// A tensor, or an undefined one for None.
inline Tensor tensor_argument(const char* op, std::span<const Argument> arguments,
                              size_t position) {
  return optional_argument<Tensor>(op, arguments, position).value_or(Tensor());
}

/// A span over values that live until the end of the call.
inline std::optional<IntSpan> as_span(const std::optional<std::vector<int64_t>>& values) {
  return values ? std::optional<IntSpan>(*values) : std::nullopt;
}

inline std::vector<Tensor> as_vector(Tensor tangent) { return {std::move(tangent)}; }
inline std::vector<Tensor> as_vector(std::vector<Tensor> tangents) { return tangents; }

}  // namespace ebb::autograd
