// ebb/devices/common/base/copy.h -- kernels that move, convert and make elements: arange, cast,
// cat, fill.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::CastKernel, which also copies strided views.
void run_cast(const kernels::Context& context, const kernels::TensorView& input,
              const kernels::TensorView& out);
/// kernels::FillKernel.
void run_fill(const kernels::Context& context, const Scalar& value, const kernels::TensorView& out);
/// kernels::ArangeKernel.
void run_arange(const kernels::Context& context, const Scalar& start, const Scalar& step,
                const kernels::TensorView& out);
/// kernels::CatKernel: a launch for each input.
void run_cat(const kernels::Context& context, std::span<const kernels::TensorView> inputs, int dim,
             const kernels::TensorView& out);

}  // namespace ebb::devices
