// ebb/autograd/engine/grad.h -- grad() and backward() for single tensors and lists in braces.
//
//     const Tensor slope = ebb::grad(y, x, {.create_graph = true});
//     const std::vector<Tensor> slopes = ebb::grad({y1, y2}, {x1, x2});
//
// One tensor asked for gives one gradient, a list gives as many. engine.h says what they do.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "ebb/autograd/engine/engine.h"

namespace ebb {
namespace detail {

inline std::span<const Tensor> as_span(const Tensor& tensor) { return {&tensor, 1}; }
inline std::span<const Tensor> as_span(std::initializer_list<Tensor> tensors) {
  return {tensors.begin(), tensors.size()};
}

}  // namespace detail

inline Tensor grad(const Tensor& output, const Tensor& input, const GradOptions& options = {}) {
  return grad(detail::as_span(output), detail::as_span(input), {}, options).front();
}
/// `seed` is the gradient of `output`.
inline Tensor grad(const Tensor& output, const Tensor& input, const Tensor& seed,
                   const GradOptions& options = {}) {
  const auto seeds = detail::as_span(seed);
  return grad(detail::as_span(output), detail::as_span(input), seeds, options).front();
}
inline std::vector<Tensor> grad(const Tensor& output, std::initializer_list<Tensor> inputs,
                                const GradOptions& options = {}) {
  return grad(detail::as_span(output), detail::as_span(inputs), {}, options);
}
inline std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& inputs,
                                const GradOptions& options = {}) {
  return grad(detail::as_span(output), std::span(inputs), {}, options);
}
inline Tensor grad(std::initializer_list<Tensor> outputs, const Tensor& input,
                   const GradOptions& options = {}) {
  return grad(detail::as_span(outputs), detail::as_span(input), {}, options).front();
}
inline std::vector<Tensor> grad(std::initializer_list<Tensor> outputs,
                                std::initializer_list<Tensor> inputs,
                                const GradOptions& options = {}) {
  return grad(detail::as_span(outputs), detail::as_span(inputs), {}, options);
}

inline void backward(const Tensor& root, const BackwardOptions& options) {
  backward(root, {}, options);
}
inline void backward(std::initializer_list<Tensor> roots, const BackwardOptions& options = {}) {
  backward(detail::as_span(roots), {}, options);
}

}  // namespace ebb
