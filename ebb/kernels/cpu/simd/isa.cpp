// ebb/kernels/cpu/simd/isa.cpp -- detection of the instruction set and the EBB_ISA cap.
#include "ebb/kernels/cpu/simd/isa.h"

#include <algorithm>
#include <string>

#include "ebb/core/base/error.h"
#include "ebb/core/base/flags.h"
#include "hwy/targets.h"

namespace ebb::kernels {
namespace {

constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512"};

struct Choice {
  Isa isa = Isa::baseline;
  std::string wrong_value;  // of EBB_ISA; empty if it is fine
};

Isa detect() {
  const int64_t targets = hwy::SupportedTargets();
  if ((targets & HWY_AVX3) != 0) return Isa::avx512;
  return (targets & HWY_AVX2) != 0 ? Isa::avx2 : Isa::baseline;
}

Choice choose() {
  Choice choice{detect(), {}};
  const std::string_view cap = flag_in_environment("isa");
  if (cap.empty()) return choice;
  const auto* found = std::find(std::begin(kNames), std::end(kNames), cap);
  if (found == std::end(kNames)) {
    choice.wrong_value = cap;
  } else {
    choice.isa = std::min(choice.isa, static_cast<Isa>(found - std::begin(kNames)));
  }
  return choice;
}

const Choice& choice() {
  static const Choice made = choose();
  return made;
}

const FlagEntry entry({
    .name = "isa",
    .type = FlagType::text,
    .fallback = std::string(kNames[static_cast<int>(detect())]),
    .doc = "The most that kernels may use of the processor: baseline, avx2 or avx512.",
    .get = [] { return std::string(name_of(choice().isa)); },
});

}  // namespace

std::string_view name_of(Isa isa) { return kNames[static_cast<int>(isa)]; }

Isa selected_isa() {
  const Choice& made = choice();
  if (!made.wrong_value.empty()) {
    throw ValueError(str("EBB_ISA: needs baseline, avx2 or avx512, got ", made.wrong_value));
  }
  return made.isa;
}

namespace cpu {
Isa usable_isa() noexcept { return choice().isa; }
}  // namespace cpu
}  // namespace ebb::kernels
