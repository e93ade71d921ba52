// ebb/devices/common/index/index.h -- reads and writes where an index points:
// kernels/index/gather.k, scatter.k.
//
// Writes come in the order of the index, bit by bit as on the CPU, without atomics. Half types add
// up in float32 beside the result and are rounded once.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::GatherKernel
void run_gather(const kernels::Context&, const kernels::TensorView& input, int dim,
                const kernels::TensorView& index, const kernels::TensorView& out);
/// kernels::IndexSelectKernel
void run_index_select(const kernels::Context&, const kernels::TensorView& input, int dim,
                      const kernels::TensorView& index, const kernels::TensorView& out);

// kernels::ScatterAddKernel
void run_scatter(const kernels::Context&, const kernels::TensorView& index,
                 const kernels::TensorView& src, int dim, const kernels::TensorView& out);
void run_scatter_add(const kernels::Context&, const kernels::TensorView& index,
                     const kernels::TensorView& src, int dim, const kernels::TensorView& out);
void run_scatter_prod(const kernels::Context&, const kernels::TensorView& index,
                      const kernels::TensorView& src, int dim, const kernels::TensorView& out);
void run_scatter_amax(const kernels::Context&, const kernels::TensorView& index,
                      const kernels::TensorView& src, int dim, const kernels::TensorView& out);
void run_scatter_amin(const kernels::Context&, const kernels::TensorView& index,
                      const kernels::TensorView& src, int dim, const kernels::TensorView& out);
/// kernels::IndexAddKernel
void run_index_add(const kernels::Context&, const kernels::TensorView& index,
                   const kernels::TensorView& src, int dim, const Scalar& alpha,
                   const kernels::TensorView& out);
/// kernels::IndexCopyKernel
void run_index_copy(const kernels::Context&, const kernels::TensorView& index,
                    const kernels::TensorView& src, int dim, const kernels::TensorView& out);

}  // namespace ebb::devices
