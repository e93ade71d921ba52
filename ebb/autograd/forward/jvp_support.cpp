// ebb/autograd/forward/jvp_support.cpp -- tangents in the shape and dtype of results.
#include "ebb/autograd/forward/jvp_support.h"

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/ops/creation.h"

namespace ebb::autograd {

Tensor zero_tangent(const Tensor& like) {
  return ops::zeros(like.sizes(), like.dtype(), like.device());
}

Tensor conform_tangent(const Tensor& tangent, const Tensor& out) {
  if (!tangent.defined()) return zero_tangent(out);
  const Tensor same_dtype = tangent.dtype() == out.dtype() ? tangent : cast(tangent, out.dtype());
  if (equal(same_dtype.sizes(), out.sizes())) return same_dtype;
  return expand(same_dtype, out.sizes());
}

std::vector<Tensor> conform_tangents(std::vector<Tensor> tangents, std::span<const Tensor> outs) {
  tangents.resize(outs.size());
  for (size_t i = 0; i < outs.size(); ++i) tangents[i] = conform_tangent(tangents[i], outs[i]);
  return tangents;
}

}  // namespace ebb::autograd
