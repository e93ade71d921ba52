// ebb/kernels/cpu/simd/simd.h -- how a file of vectorised kernels is compiled for several CPUs.
//
// Such a file defines HWY_TARGET_INCLUDE as its own path, includes this header and then
// "hwy/foreach_target.h" and "hwy/highway.h": Highway includes it again once per target, each time
// with another HWY_NAMESPACE. The last pass (HWY_ONCE) compiles the code that is there only once.
// Three targets are enough: AVX-512, AVX2, and SSSE3 for all that is older.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSE4 | HWY_AVX3_DL)

#include "ebb/kernels/cpu/simd/isa.h"

/// `call` in the target namespace that belongs to `isa`; for use in the HWY_ONCE part.
#ifdef __x86_64__
#define EBB_CALL_FOR_ISA(isa, call) \
  ((isa) == Isa::avx512 ? N_AVX3::call : (isa) == Isa::avx2 ? N_AVX2::call : HWY_NAMESPACE::call)
#else
#define EBB_CALL_FOR_ISA(isa, call) ((void)(isa), HWY_NAMESPACE::call)
#endif
