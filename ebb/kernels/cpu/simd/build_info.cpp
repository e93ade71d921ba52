// ebb/kernels/cpu/simd/build_info.cpp -- see build_info.h.
#include "ebb/kernels/cpu/simd/build_info.h"

#include <cblas.h>
#include <oneapi/dnnl/dnnl.h>

#include "ebb/core/base/error.h"
#include "ebb/kernels/cpu/simd/isa.h"
#include "hwy/highway.h"

namespace ebb::kernels::cpu {
namespace {

std::string compiler() {
#ifdef __clang__
  return str("Clang ", __clang_major__, ".", __clang_minor__, ".", __clang_patchlevel__);
#else
  return str("GCC ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#endif
}

const char* build_type() {
#ifdef EBB_SANITIZE
  return "sanitize";
#elif defined(NDEBUG)
  return "release";
#else
  return "debug";
#endif
}

const char* compiled_isas() {
#if defined(HWY_COMPILE_ONLY_STATIC) && defined(__AVX2__)
  return "avx2";  // EBB_ONE_ISA
#elif defined(__x86_64__)
  return "baseline, avx2, avx512";
#else
  return "baseline";
#endif
}

/// What ebb's own kernels run as, whatever the processor has beside.
std::string_view isa_in_use() {
#if defined(HWY_COMPILE_ONLY_STATIC) && defined(__AVX2__)
  return name_of(Isa::avx2);
#else
  return name_of(usable_isa());
#endif
}

std::string onednn_version() {
  const dnnl_version_t& version = *dnnl_version();
  return str(version.major, ".", version.minor, ".", version.patch);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> build_info() {
  return {
      {"compiler", compiler()},
      {"build type", build_type()},
      {"instruction sets compiled", compiled_isas()},
      {"instruction set in use", std::string(isa_in_use())},
      {"instruction set of libraries", std::string(name_of(usable_isa()))},
      {"Highway", str(HWY_MAJOR, ".", HWY_MINOR, ".", HWY_PATCH)},
      {"OpenBLAS", openblas_get_config()},
      {"oneDNN", onednn_version()},
  };
}

}  // namespace ebb::kernels::cpu
