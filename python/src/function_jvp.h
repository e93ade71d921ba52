// python/src/function_jvp.h -- forward mode through a Python Function: its jvp().
#pragma once

#include <span>

#include "ebb/core/tensor.h"
#include "python/src/function_context.h"

namespace ebb::python {

/// Whether an input carries a tangent, so that propagate_tangents() has something to do.
bool carries_tangent(std::span<const Tensor> inputs);
/// Throws NotImplementedError if the class of `context` has no jvp().
void check_has_jvp(const ContextObject* context);

/// Calls jvp(ctx, *tangents) for each level, lowest first, and gives the outputs what it returns.
/// `inputs` are the tensors at `tensor_arguments`; an output is undefined where it is no tensor.
/// The marks of forward() must still be on ctx. Throws what jvp() raises, ValueError for a wrong
/// number of tangents, DTypeError or ShapeError for a wrong one.
void propagate_tangents(ContextObject* context, const Positions& tensor_arguments,
                        std::span<const Tensor> inputs, std::span<const Tensor> outputs);

}  // namespace ebb::python
