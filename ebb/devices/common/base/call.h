// ebb/devices/common/base/call.h -- one launch of a family's kernel: what its source is specialised
// for, and its arguments.
//
// What is set goes into the key of the kernel and, if that is new, into the head of its source, so
// that the two cannot differ. Arguments are added in the order of the kernel's parameters.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

#include "ebb/devices/common/base/elementwise.h"
#include "ebb/devices/launch/dtype_text.h"
#include "ebb/devices/launch/kernel_cache.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::devices {

class KernelCall {
 public:
  /// `op` names the kernel, too. INDEX is 32 bits wide or 64.
  KernelCall(Family family, const char* op, const kernels::Context& context, Compute compute,
             bool as_int32);

  /// Defines a number of at most `bits` bits.
  KernelCall& set(const char* name, int64_t value, int bits);
  /// Defines a storage type. Throws MissingKernel for one that the device lacks.
  KernelCall& set(const char* name, DType dtype);
  /// Defines a text, which lives as long as the process; something else that is set decides it.
  KernelCall& set_text(const char* name, const char* text);

  /// The address of device memory, which may be null where the kernel does not look.
  KernelCall& add(const void* memory);
  KernelCall& add(const kernels::TensorView& view) { return add(view.data); }
  KernelCall& add_index(int64_t value);
  /// A number of the type that is computed in.
  KernelCall& add_number(double value);
  /// Bytes that live until run() returns.
  KernelCall& add_bytes(std::span<const char> bytes);

  bool is_int32() const { return as_int32_; }
  const Traits& traits() const { return traits_; }

  /// Queues at least `items` items; `parts` are the texts of the source behind what was set.
  void run(std::initializer_list<std::string_view> parts, int64_t items, uint32_t group_size);

 private:
  static constexpr size_t kMostDefines = 24;
  static constexpr size_t kMostArguments = 20;
  struct Define {
    const char* name;
    const char* text;  // null: the number
    int64_t number;
  };
  Recipe recipe(std::initializer_list<std::string_view> parts, uint32_t group_size) const;
  Number& next_number() { return numbers_[used_numbers_++]; }

  const char* op_;
  const kernels::Context& context_;
  const Traits& traits_;
  Compute compute_;
  bool as_int32_;
  SpecKey key_;
  size_t used_defines_ = 0, used_arguments_ = 0, used_numbers_ = 0;
  std::array<Define, kMostDefines> defines_;
  std::array<Argument, kMostArguments> arguments_;
  std::array<Number, kMostArguments> numbers_;
};

/// The most lines side by side that an item of a CPU takes. It walks over rows that are far apart,
/// so that much of each should be read: a page of memory.
inline constexpr uint32_t kMostColumns = 1024;

/// The length that a kernel is compiled for, of many short dense lines on a CPU; 0 for all others,
/// whose kernels take any length.
int64_t fixed_length(const Traits& traits, int64_t lines, int64_t length);

/// How many items a group gets where `items` of them work each by itself: on a CPU, where a group
/// runs on one core, few where there are few.
uint32_t group_size_for(const Traits& traits, int64_t items);

/// How float64 sums are spelled on the device: float32 where it has none.
Compute widest_real(const Traits& traits);

}  // namespace ebb::devices
