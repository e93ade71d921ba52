// ebb/kernels/cpu/gemm/onednn.cpp -- calls of oneDNN on the calling thread only, and its matrix
// product.
#include "ebb/kernels/cpu/gemm/onednn.h"

#include <algorithm>

#include "ebb/core/base/error.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/simd/isa.h"

// From OpenMP's interface; its header is not there for every compiler.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int count);

namespace ebb::kernels::cpu {
namespace {

/// EBB_ISA caps oneDNN too; only before its first call, which may be somebody else's.
bool cap_instruction_set() {
  const Isa isa = usable_isa();
  if (isa != Isa::avx2 && isa != Isa::baseline) return true;
  const dnnl_cpu_isa_t most = isa == Isa::avx2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41;
  if (dnnl_set_max_cpu_isa(most) == dnnl_success) return true;
  const dnnl_cpu_isa_t used = dnnl_get_effective_cpu_isa();
  if (used <= most) return true;
  throw InternalError(
      str("oneDNN: EBB_ISA must be known before its first call, got instruction set ",
          static_cast<int>(used), " already chosen"));
}

}  // namespace

OneDnnScope::OneDnnScope(SignalShield::Kind shield)
    : shield_(shield), before_(omp_get_max_threads()) {
  static const bool is_capped = cap_instruction_set();
  (void)is_capped;
  if (before_ != 1) omp_set_num_threads(1);
}

OneDnnScope::~OneDnnScope() {
  if (before_ != 1) omp_set_num_threads(before_);
}

const dnnl::engine& cpu_engine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& OneDnnScope::stream() const {
  thread_local dnnl::stream stream(cpu_engine());
  return stream;
}

dnnl::memory memory_at(const dnnl::memory::desc& desc, const void* data) {
  return {desc, cpu_engine(), const_cast<void*>(data)};
}

dnnl::memory scratch_at(void* data, size_t bytes) {
  const auto size = static_cast<int64_t>(std::max<size_t>(1, bytes));
  return memory_at({{size}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::a}, data);
}

namespace {

/// Products with a vector have kernels of their own, which keep to the stack.
SignalShield::Kind shield_for(const Gemm& g) {
  return g.m == 1 || g.n == 1 ? SignalShield::Kind::none : SignalShield::Kind::all;
}

}  // namespace

void onednn_gemm(const Gemm& g) {
  const StoredOperands stored = stored_operands(g);
  const OneDnnScope scope(shield_for(g));
  const dnnl_status_t status = dnnl_sgemm(
      stored.a.is_turned ? 'T' : 'N', stored.b.is_turned ? 'T' : 'N', g.m, g.n, g.k, 1.0f,
      static_cast<const float*>(g.a.data), stored.a.ld, static_cast<const float*>(g.b.data),
      stored.b.ld, g.accumulate ? 1.0f : 0.0f, static_cast<float*>(g.c), g.m == 1 ? g.n : g.ldc);
  if (status == dnnl_out_of_memory) {
    throw OutOfMemoryError(str("matmul: oneDNN needs memory for a product of ", g.m, " x ", g.k,
                               " and ", g.k, " x ", g.n, ", got none"));
  }
  if (status != dnnl_success) {
    throw InternalError(str("matmul: oneDNN must take every product, got status ", status));
  }
}

}  // namespace ebb::kernels::cpu
