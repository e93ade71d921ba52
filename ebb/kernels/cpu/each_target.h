// ebb/kernels/cpu/each_target.h -- compiles the file that includes it for several CPUs.
//
// Highway includes that file again once per target, by the path in HWY_TARGET_INCLUDE (set in
// kernels/CMakeLists.txt), each time with another HWY_NAMESPACE; the last pass (HWY_ONCE) compiles
// the code that is there only once. `-inl.h` parts have to follow, hence a name before the rooms'.
// Three targets are enough: AVX-512, AVX2, and SSSE3 for all else. EBB_ONE_ISA leaves AVX2 alone.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSE4 | HWY_AVX3_DL)

#include "ebb/kernels/cpu/simd/isa.h"
#ifdef HWY_TARGET_INCLUDE  // unless this header is compiled alone
#include "hwy/foreach_target.h"
#endif

/// `call` in the target namespace that belongs to `isa`; for use in the HWY_ONCE part.
#if defined(__x86_64__) && !defined(HWY_COMPILE_ONLY_STATIC)
#define EBB_CALL_FOR_ISA(isa, call) \
  ((isa) == Isa::avx512 ? N_AVX3::call : (isa) == Isa::avx2 ? N_AVX2::call : HWY_NAMESPACE::call)
#else
#define EBB_CALL_FOR_ISA(isa, call) ((void)(isa), HWY_NAMESPACE::call)
#endif
