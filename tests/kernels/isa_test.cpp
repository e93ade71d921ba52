// tests/kernels/isa_test.cpp -- the instruction set is what EBB_ISA allows.
#include "ebb/kernels/cpu/isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ebb/core/error.h"

namespace ebb::kernels {
namespace {

TEST(Isa, EnvironmentCapsTheLevel) {
  const char* cap = std::getenv("EBB_ISA");
  if (cap == nullptr) GTEST_SKIP() << "EBB_ISA is not set";
  const std::string wanted = cap;
  const auto got = std::string(name_of(selected_isa()));
  if (wanted == "baseline") {
    EXPECT_EQ(got, "baseline");
  } else if (wanted == "avx2") {
    EXPECT_NE(got, "avx512");
  }
}

TEST(IsaDeathTest, AnUnknownValueIsAnError) {
  // In a child process: the level is decided once.
  EXPECT_EXIT(
      {
        setenv("EBB_ISA", "sse9", 1);
        try {
          selected_isa();
        } catch (const ValueError& error) {
          const std::string want = "EBB_ISA: needs baseline, avx2 or avx512, got sse9";
          std::exit(error.what() == want ? 7 : 1);
        }
        std::exit(2);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace ebb::kernels
