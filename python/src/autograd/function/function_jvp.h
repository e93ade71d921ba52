// python/src/autograd/function/function_jvp.h -- forward mode through a Python Function: its jvp().
#pragma once

#include "ebb/autograd/custom/custom_jvp.h"
#include "python/src/autograd/function/function_context.h"

namespace ebb::python {

/// Throws NotImplementedError if the class of `context` has no jvp().
void check_has_jvp(const ContextObject* context);

/// Calls jvp(ctx, *tangents) for each level, lowest first, and gives the outputs what it returns.
/// The marks of forward() must still be on ctx. Throws what jvp() raises, DTypeError if it returns
/// what is no tensor, and what CustomJvp::propagate() throws.
void propagate_tangents(ContextObject* context, const Positions& tensor_arguments,
                        const autograd::CustomJvp& jvp, const autograd::CustomCall& call);

}  // namespace ebb::python
