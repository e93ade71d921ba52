// ebb/kernels/cpu/onednn.cpp -- calls of oneDNN on the calling thread only, and its matrix product.
#include "ebb/kernels/cpu/onednn.h"

#include <oneapi/dnnl/dnnl.h>

#include "ebb/core/error.h"
#include "ebb/kernels/cpu/gemm.h"
#include "ebb/kernels/cpu/isa.h"

// From OpenMP's interface; its header is not there for every compiler.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int count);

namespace ebb::kernels::cpu {
namespace {

/// EBB_ISA caps oneDNN too; only before its first call.
bool cap_instruction_set() {
  if (usable_isa() == Isa::avx2) dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
  if (usable_isa() == Isa::baseline) dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
  return true;
}

}  // namespace

OneDnnScope::OneDnnScope() : before_(omp_get_max_threads()) {
  static const bool is_capped = cap_instruction_set();
  (void)is_capped;
  if (before_ != 1) omp_set_num_threads(1);
}

OneDnnScope::~OneDnnScope() {
  if (before_ != 1) omp_set_num_threads(before_);
}

void onednn_gemm(const Gemm& g) {
  const OneDnnScope scope;
  const bool a_is_plain = g.a.column_stride == 1, b_is_plain = g.b.column_stride == 1;
  const dnnl_status_t status = dnnl_sgemm(
      a_is_plain ? 'N' : 'T', b_is_plain ? 'N' : 'T', g.m, g.n, g.k, 1.0f,
      static_cast<const float*>(g.a.data), a_is_plain ? g.a.row_stride : g.a.column_stride,
      static_cast<const float*>(g.b.data), b_is_plain ? g.b.row_stride : g.b.column_stride,
      g.accumulate ? 1.0f : 0.0f, static_cast<float*>(g.c), g.ldc);
  if (status == dnnl_out_of_memory) {
    throw OutOfMemoryError(str("matmul: oneDNN needs memory for a product of ", g.m, " x ", g.k,
                               " and ", g.k, " x ", g.n, ", got none"));
  }
  if (status != dnnl_success) {
    throw InternalError(str("matmul: oneDNN must take every product, got status ", status));
  }
}

}  // namespace ebb::kernels::cpu
