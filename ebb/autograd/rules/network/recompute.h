// ebb/autograd/rules/network/recompute.h -- derivatives of a fused op from the same function in
// plain ops.
//
// A fused backward op (of attention, say) is an op of its own and needs a derivative for gradients
// of gradients. Instead of a formula by hand, its rule gives the function that the fused op
// computes as a composite of differentiable ops. It is run again on the saved inputs and
// differentiated by a run inside the run, which records if the outer one does: so derivatives of
// any order follow.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ebb/core/base/export.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// Outputs from inputs, by differentiable ops only. Inputs may be undefined.
using Composite = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// Bit i: the gradient of input i.
inline constexpr uint32_t kAllInputs = ~uint32_t{0};

/// The gradients with respect to `inputs` of the sum of `composite(inputs)` weighted by `grad_outs`
/// (undefined: weighs 0), for those of which `wanted` has the bit; undefined for the others and for
/// inputs that no output depends on. In a mode that records, the result depends on `inputs` and
/// `grad_outs` as tensors with history.
EBB_API std::vector<Tensor> recomputed_grads(const Composite& composite,
                                             std::span<const Tensor> inputs,
                                             std::span<const Tensor> grad_outs,
                                             uint32_t wanted = kAllInputs);

/// The gradient of a fused backward op. Let backward(inputs, grad_outs) give the gradients of
/// `composite` for its first `grads_of.size()` inputs: returns the gradients of the sum of those,
/// weighted by `grads_of` (undefined: weighs 0), first for `inputs`, then for `grad_outs`. `wanted`
/// counts through both.
EBB_API std::vector<Tensor> recomputed_second_grads(const Composite& composite,
                                                    std::span<const Tensor> inputs,
                                                    std::span<const Tensor> grad_outs,
                                                    std::span<const Tensor> grads_of,
                                                    uint32_t wanted = kAllInputs);

/// The tangents of the outputs if the inputs move along `tangents` (undefined: stays).
EBB_API std::vector<Tensor> recomputed_tangents(const Composite& composite,
                                                std::span<const Tensor> inputs,
                                                std::span<const Tensor> tangents);

/// The tangents of a fused backward op, whose results are the gradients of `composite` for its
/// first `count` inputs. `tangents`: first of `inputs`, then of `grad_outs`.
EBB_API std::vector<Tensor> recomputed_grad_tangents(const Composite& composite,
                                                     std::span<const Tensor> inputs,
                                                     std::span<const Tensor> grad_outs,
                                                     std::span<const Tensor> tangents,
                                                     size_t count);

}  // namespace ebb::autograd::rules
