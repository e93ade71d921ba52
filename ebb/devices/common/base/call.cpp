// ebb/devices/common/base/call.cpp -- key, source and arguments of a launch.
#include "ebb/devices/common/base/call.h"

#include "ebb/core/base/error.h"
#include "ebb/devices/launch/source.h"
#include "ebb/ops/view_of.h"

namespace ebb::devices {

KernelCall::KernelCall(Family family, const char* op, const kernels::Context& context,
                       Compute compute, bool as_int32)
    : op_(op),
      context_(context),
      traits_(driver().traits(context.device.index)),
      compute_(compute),
      as_int32_(as_int32),
      key_(family, context.device.index) {
  if (compute == Compute::f64 && !traits_.has_float64) {
    ops::throw_no_kernel(op, DType::float64, context.device);
  }
  key_.put(static_cast<uint64_t>(compute), 4).put(as_int32, 1);
}

KernelCall& KernelCall::set(const char* name, int64_t value, int bits) {
  key_.put(static_cast<uint64_t>(value), bits);
  defines_[used_defines_++] = {name, nullptr, value};
  return *this;
}

KernelCall& KernelCall::set(const char* name, DType dtype) {
  const bool is_there =
      text_of(dtype) != nullptr && (dtype != DType::float64 || traits_.has_float64);
  if (!is_there) ops::throw_no_kernel(op_, dtype, context_.device);
  key_.put(static_cast<uint64_t>(dtype), 4);
  return set_text(name, text_of(dtype));
}

KernelCall& KernelCall::set_text(const char* name, const char* text) {
  defines_[used_defines_++] = {name, text, 0};
  return *this;
}

KernelCall& KernelCall::add(const void* memory) {
  arguments_[used_arguments_++] = {memory, 0};
  return *this;
}

KernelCall& KernelCall::add_index(int64_t value) {
  Number& number = next_number();
  number = number_of(value, as_int32_ ? Compute::i32 : Compute::i64);
  return add_bytes({number.bytes, as_int32_ ? sizeof(int32_t) : sizeof(int64_t)});
}

KernelCall& KernelCall::add_number(double value) {
  Number& number = next_number();
  number = number_of(value, compute_);
  return add_bytes({number.bytes, item_size(compute_)});
}

KernelCall& KernelCall::add_bytes(std::span<const char> bytes) {
  arguments_[used_arguments_++] = {bytes.data(), bytes.size()};
  return *this;
}

Recipe KernelCall::recipe(std::initializer_list<std::string_view> parts,
                          uint32_t group_size) const {
  const std::string entry = str("ebb_", op_);
  std::string source = compute_defines(compute_, static_cast<int>(group_size));
  source += define("NAME", entry);
  source += define("INDEX", as_int32_ ? "i32" : "i64");
  for (const Define& one : std::span(defines_).first(used_defines_)) {
    source += define(one.name, one.text != nullptr ? one.text : str(one.number));
  }
  source += elements_k;
  source += functions_k;
  for (const std::string_view part : parts) source += part;
  return {entry, source};
}

void KernelCall::run(std::initializer_list<std::string_view> parts, int64_t items,
                     uint32_t group_size) {
  key_.put(group_size, 12);
  Kernel& kernel =
      kernel_of(key_, op_, context_.device.index, [&] { return recipe(parts, group_size); });
  driver().launch(context_, op_, kernel, {(items + group_size - 1) / group_size, group_size},
                  std::span(arguments_).first(used_arguments_));
}

uint32_t group_size_for(const Traits& traits, int64_t items) {
  if (!traits.is_cpu) return traits.group_size;
  const int64_t wanted = int64_t{traits.units} * 4;  // groups
  return items >= wanted * 64 ? 64 : items >= wanted * 8 ? 8 : 1;
}

int64_t fixed_length(const Traits& traits, int64_t lines, int64_t length) {
  constexpr int64_t kLongest = 128, kFewest = 4096, kStep = 8;  // 16 kernels at most
  return traits.is_cpu && lines >= kFewest && length <= kLongest && length % kStep == 0 ? length
                                                                                        : 0;
}

Compute widest_real(const Traits& traits) {
  return traits.has_float64 ? Compute::f64 : Compute::f32;
}

}  // namespace ebb::devices
