// ebb/core/runtime/float_mode.cpp -- see float_mode.h: MXCSR of x86-64, with the control word for
// long doubles, in which some special functions are computed; FPCR of AArch64.
#include "ebb/core/runtime/float_mode.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ebb {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kNotes = 0x3f;
constexpr uint64_t kFlush = 0x8040;  // results (FTZ) and operands (DAZ)

uint64_t read() {
  uint16_t of_long_doubles = 0;
  asm volatile("fnstcw %0" : "=m"(of_long_doubles));
  return (_mm_getcsr() & ~kNotes) | uint64_t{of_long_doubles} << 32;
}
void write(uint64_t bits) {
  const auto of_long_doubles = static_cast<uint16_t>(bits >> 32);
  asm volatile("fldcw %0" : : "m"(of_long_doubles));
  _mm_setcsr(static_cast<unsigned>(bits));
}
#elif defined(__aarch64__)
constexpr uint64_t kFlush = uint64_t{1} << 24;

uint64_t read() {
  uint64_t bits = 0;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
void write(uint64_t bits) { asm volatile("msr fpcr, %0" : : "r"(bits)); }
#else
constexpr uint64_t kFlush = 0;

uint64_t read() { return 0; }
void write(uint64_t) {}
#endif

}  // namespace

FloatMode FloatMode::current() noexcept { return FloatMode(read()); }

void FloatMode::install() const noexcept {
  if (read() != bits_) write(bits_);
}

bool set_flush_denormal(bool flush) noexcept {
  write(flush ? read() | kFlush : read() & ~kFlush);
  return kFlush != 0;
}

}  // namespace ebb
