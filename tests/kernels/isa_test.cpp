// tests/kernels/isa_test.cpp -- the instruction set is what EBB_ISA allows, and no table has holes.
//
// The level is decided once in a process, so CMakeLists.txt runs this file with several values.
#include "ebb/kernels/cpu/simd/isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ebb/core/base/error.h"
#include "ebb/kernels/cpu/simd/register.h"
#include "ebb/kernels/kernel_info.h"

namespace ebb::kernels {
namespace {

std::string error_of_selection() {
  try {
    selected_isa();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "none";
}

TEST(Isa, EnvironmentCapsTheLevel) {
  const char* given = std::getenv("EBB_ISA");
  const std::string cap = given == nullptr ? "avx512" : given;
  if (cap == "sse9") {
    EXPECT_EQ(error_of_selection(), "EBB_ISA: needs baseline, avx2 or avx512, got sse9");
  } else if (cap == "baseline") {
    EXPECT_EQ(selected_isa(), Isa::baseline);
  } else {
    EXPECT_LE(selected_isa(), cap == "avx2" ? Isa::avx2 : Isa::avx512);
  }
}

TEST(Register, EveryKernelHasEveryDTypeThatTheOpTableAsksFor) {
  register_cpu_kernels();
  for (const KernelInfo& kernel : all_kernels()) {
    for (int i = 0; i < kDTypeCount; ++i) {
      const bool is_wanted = (kernel.dtypes >> i & 1u) != 0;
      EXPECT_TRUE(!is_wanted || kernel.has({.dtype = static_cast<DType>(i)}))
          << kernel.name << " of " << name_of(static_cast<DType>(i));
    }
  }
}

}  // namespace
}  // namespace ebb::kernels
