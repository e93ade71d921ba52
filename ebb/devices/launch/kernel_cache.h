// ebb/devices/launch/kernel_cache.h -- compiled kernels, by what they were specialised for.
//
// A family makes a SpecKey of everything that changes its source; the source itself is only put
// together when the key is new. What was asked for lately takes no lock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "ebb/devices/launch/driver.h"

namespace ebb::devices {

/// Who asks, numbered so that keys of two families never meet.
enum class Family : uint8_t {
  pointwise,
  arange,
  arrange,
  attention,
  batch_norm,
  cast,
  combine_index,
  difference_loss,
  extremum,
  fill,
  gather,
  gemm,
  index_watch,
  join_sums,
  masked_scale,
  multinomial,
  nll_loss,
  optim,
  places,
  pool,
  random,
  recurrent,
  reduce,
  row_norm,
  scan,
  scatter,
  search,
  softmax,
  sort,
  unscale,
};

/// What a kernel is specialised for, as bits: family and device, then whatever the family puts.
class SpecKey {
 public:
  SpecKey(Family family, int device) {
    put(static_cast<uint64_t>(family), 8);
    put(static_cast<uint64_t>(device), 8);
  }
  /// Appends a value of `bits` bits; there is room for 112 beside family and device. Throws
  /// InternalError where there is none left, or the value has more bits.
  SpecKey& put(uint64_t value, int bits) {
    if (used_ + bits > 64 && used_ < 64) used_ = 64;
    if (used_ + bits > kBits || (value >> (bits - 1)) > 1) [[unlikely]]
      throw_no_room(value, bits);
    words_[static_cast<size_t>(used_ / 64)] |= value << (used_ % 64);
    used_ += bits;
    return *this;
  }

  friend bool operator==(const SpecKey& lhs, const SpecKey& rhs) {
    return lhs.words_[0] == rhs.words_[0] && lhs.words_[1] == rhs.words_[1];
  }
  size_t hash() const {
    return static_cast<size_t>((words_[0] * 0x9e3779b97f4a7c15u) ^ (words_[1] + (words_[0] >> 7)));
  }

 private:
  static constexpr int kBits = 128;
  [[noreturn]] void throw_no_room(uint64_t value, int bits) const;

  std::array<uint64_t, 2> words_{};
  int used_ = 0;
};

/// What a kernel is made of, once: its entry and its whole source, without the prelude.
struct Recipe {
  std::string entry;
  std::string source;
};

/// The kernel that was compiled for the key; null if it is new.
Kernel* known_kernel(const SpecKey& key);
/// Compiles one. Throws DeviceError if it does not compile.
Kernel& new_kernel(const SpecKey& key, const char* op, int device, const Recipe& recipe);

/// The kernel for the key, compiled from what `recipe()` returns if it is new.
template <typename MakeRecipe>
Kernel& kernel_of(const SpecKey& key, const char* op, int device, const MakeRecipe& recipe) {
  if (Kernel* const known = known_kernel(key)) return *known;
  return new_kernel(key, op, device, recipe());
}

/// `#define name value`, a line.
std::string define(const std::string& name, const std::string& value);

}  // namespace ebb::devices
