// ebb/autograd/forward/jvp_support.h -- the small parts of generated forward-mode rules.
#pragma once

#include <span>
#include <vector>

#include "ebb/autograd/history/gradients/gradient_math.h"
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

}  // namespace ebb::autograd
