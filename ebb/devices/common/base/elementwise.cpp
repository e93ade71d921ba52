// ebb/devices/common/base/elementwise.cpp -- specialises, looks up and launches element-wise
// kernels.
#include "ebb/devices/common/base/elementwise.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "ebb/core/base/error.h"
#include "ebb/devices/launch/geometry.h"
#include "ebb/devices/launch/source.h"
#include "ebb/ops/view_of.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

constexpr const char* kLetters[kMostElementwise] = {"A", "B", "D"};

template <typename To>
Number stored(To value) {
  Number number{};
  std::memcpy(number.bytes, &value, sizeof(To));
  return number;
}

template <typename From>
Number converted(From value, Compute compute) {
  switch (compute) {
    case Compute::i32: return stored(static_cast<int32_t>(value));
    case Compute::u32: return stored(static_cast<uint32_t>(value));
    case Compute::i64: return stored(static_cast<int64_t>(value));
    case Compute::u64: return stored(static_cast<uint64_t>(value));
    case Compute::f32: return stored(static_cast<float>(value));
    case Compute::f64: return stored(static_cast<double>(value));
  }
  __builtin_unreachable();
}

struct Call {
  const Elementwise& work;
  const TensorView& out;
  std::span<const TensorView* const> operands;
  const LoopNest* nest;  // null: one number is every place
  bool as_int32;
  uint32_t group_size;
  int64_t run;         // elements of an item
  uint32_t tile = 1;   // or so many by so many of them
  uint64_t kinds = 0;  // of the operands: 5 bits each, whether it is a number and its dtype

  int rank() const { return nest == nullptr ? 0 : nest->rank(); }
};

[[gnu::always_inline]] inline SpecKey key_of(const Call& call, int device) {
  // In one number: 16 bits, 4, 6, 1, 1 and 4, then those of the operands.
  uint64_t bits = call.work.number;
  bits = bits << 4 | static_cast<uint64_t>(call.work.compute);
  bits = bits << 6 | static_cast<uint64_t>(call.rank());
  bits = bits << 1 | static_cast<uint64_t>(call.tile > 1);
  bits = bits << 1 | static_cast<uint64_t>(call.as_int32);
  bits = bits << 4 | static_cast<uint64_t>(call.out.dtype);
  bits = bits << 5 * kMostElementwise | call.kinds;
  SpecKey key(call.work.family, device);
  key.put(bits, 32 + 5 * kMostElementwise);
  return key;
}

Recipe recipe_of(const Call& call) {
  Elementwise work = call.work;
  if (work.look_up != nullptr) work.look_up(work, call.operands.back()->dtype);
  const std::string entry = str("ebb_", work.op);
  std::string source = compute_defines(work.compute, static_cast<int>(call.group_size));
  source += define("NAME", entry);
  source += define("INDEX", call.as_int32 ? "i32" : "i64");
  source += define("RANK", str(call.rank()));
  source += define("RUN", str(call.run)) + define("TILE", str(call.tile));
  source += define("OPERANDS", str(call.operands.size()));
  source += define("OUT", text_of(call.out.dtype));
  for (size_t one = 0; one < call.operands.size(); ++one) {
    const TensorView& view = *call.operands[one];
    source += view.on_host ? define(str(kLetters[one], "_NUMBER"), "")
                           : define(kLetters[one], text_of(view.dtype));
  }
  source += define(str("EBB_EXPRESSION(", work.parameters, ")"), str("(", work.expression, ")"));
  source += elements_k;
  source += functions_k;
  if (work.family == Family::pointwise) source += special_k;
  source += pointwise_k;
  return {entry, source};
}

/// Throws MissingKernel, on which the op runs on the CPU, for a dtype that the device lacks: such a
/// kernel is never compiled, so that known ones need no check.
void check_dtypes(const Call& call, const Context& context) {
  const bool has_double = driver().traits(context.device.index).has_float64;
  const auto check = [&](DType dtype) {
    const bool is_there = text_of(dtype) != nullptr && (has_double || dtype != DType::float64);
    if (!is_there) ops::throw_no_kernel(call.work.op, dtype, context.device);
  };
  check(call.out.dtype);
  for (const TensorView* view : call.operands) {
    if (!view->on_host) check(view->dtype);
  }
}

/// Each takes a run of elements along the innermost dim, or a tile of the two innermost ones.
[[gnu::always_inline]] inline int64_t items_of(const Call& call) {
  const int64_t count = call.out.numel;
  if (call.tile > 1) {
    const int64_t wide = call.nest->size(call.rank() - 1), high = call.nest->size(call.rank() - 2);
    const int64_t tile = call.tile;
    return count / (wide * high) * ((wide + tile - 1) / tile) * ((high + tile - 1) / tile);
  }
  if (call.nest == nullptr) return count <= call.run ? 1 : (count + call.run - 1) / call.run;
  const int64_t inner = call.nest->size(call.rank() - 1);
  return count / inner * ((inner + call.run - 1) / call.run);
}

[[gnu::always_inline]] inline void launch(const Call& call, Kernel& kernel, const Context& context,
                                          std::span<char> packed) {
  Argument arguments[kMostElementwise + 3];
  Number numbers[kMostElementwise];
  size_t used = 0;
  const auto add = [&](const void* data, size_t bytes) { arguments[used++] = {data, bytes}; };
  const int64_t count = call.out.numel;
  const auto short_count = static_cast<int32_t>(count);
  add(call.out.data, 0);
  call.as_int32 ? add(&short_count, sizeof short_count) : add(&count, sizeof count);
  for (size_t one = 0; one < call.operands.size(); ++one) {
    const TensorView& view = *call.operands[one];
    if (!view.on_host) {
      add(view.data, 0);
      continue;
    }
    numbers[one] = number_of(view, call.work.compute);
    add(numbers[one].bytes, item_size(call.work.compute));
  }
  if (call.nest != nullptr) add(packed.data(), call.nest->pack(call.as_int32, packed));
  const int64_t items = items_of(call);
  const Grid grid{(items + call.group_size - 1) / call.group_size, call.group_size};
  driver().launch(context, call.work.op, kernel, grid, {arguments, used});
}

/// The result and the operands: numbers count as the result, whose strides they do not use.
LoopNest nest_of(const TensorView& out, std::span<const TensorView* const> operands) {
  const TensorView* all[kMostElementwise + 1] = {&out, &out, &out, &out};
  for (size_t one = 0; one < operands.size(); ++one) {
    if (!operands[one]->on_host) all[one + 1] = operands[one];
  }
  return {out.shape(), {all, operands.size() + 1}, true};
}

/// Puts the kinds of the operands into the call. Returns whether all lie as the result does,
/// row-major without gaps: nothing else has to be known of them.
[[gnu::always_inline]] inline bool look_at_operands(Call& call) {
  bool are_alike = call.out.contiguous;
  for (const TensorView* view : call.operands) {
    call.kinds = call.kinds << 5 | static_cast<uint64_t>(view->on_host) << 4 |
                 static_cast<uint64_t>(view->dtype);
    const bool is_alike = view->on_host || (view->contiguous && view->numel == call.out.numel);
    are_alike = are_alike && is_alike;
  }
  return are_alike;
}

/// Whether the result follows the innermost dim and the one operand the dim before it, as those of
/// a copy of a transposed matrix do.
bool is_crossed(const Call& call) {
  constexpr int64_t kFewest = 8;
  if (call.operands.size() != 1 || call.rank() < 2) return false;
  const int inner = call.rank() - 1;
  const LoopNest& nest = *call.nest;
  return nest.stride(0, inner) == 1 && nest.stride(1, inner) != 1 &&
         nest.stride(1, inner - 1) == 1 && nest.size(inner) >= kFewest &&
         nest.size(inner - 1) >= kFewest;
}

[[gnu::noinline]] Kernel& compile(const Call& call, const Context& context, const SpecKey& key) {
  check_dtypes(call, context);
  return new_kernel(key, call.work.op, context.device.index, recipe_of(call));
}

[[gnu::always_inline]] inline void run(const Call& call, const Context& context,
                                       std::span<char> packed) {
  const SpecKey key = key_of(call, context.device.index);
  Kernel* const known = known_kernel(key);
  launch(call, known != nullptr ? *known : compile(call, context, key), context, packed);
}

/// Where something has to be described: by its own function, whose frame is large.
[[gnu::noinline]] void run_nested(Call& call, const Context& context, const Traits& traits) {
  const LoopNest nest = nest_of(call.out, call.operands);
  if (!nest.is_dense()) call.nest = &nest;
  call.as_int32 = nest.fits_int32();
  if (traits.is_cpu && is_crossed(call)) {
    call.tile = item_size(call.work.compute) == 4 ? 64 : 32;
    call.group_size = 4;
  }
  char packed[kMostPacked];  // only what is used of it is written
  run(call, context, packed);
}

}  // namespace

void run_elementwise(const Elementwise& work, const Context& context, const TensorView& out,
                     std::span<const TensorView* const> operands) {
  if (out.numel == 0) return;
  const Traits& traits = driver().traits(context.device.index);
  Call call{work, out, operands, nullptr, out.numel <= kMostPlaces, traits.group_size, 1};
  // On a CPU a group is a few thousand elements, on one core.
  if (traits.is_cpu) call.group_size = 16, call.run = 1024;
  if (look_at_operands(call)) return run(call, context, {});
  run_nested(call, context, traits);
}

std::string compute_defines(Compute compute, int group_size) {
  std::string text = define("EBB_GROUP_SIZE", str(group_size)) + define("C", text_of(compute));
  if (is_floating(compute)) text += define("EBB_C_FLOATING", "");
  if (compute == Compute::f64) text += define("EBB_C_DOUBLE", "");
  return text;
}

Number number_of(const TensorView& view, Compute compute) {
  return visit_dtype(view.dtype, [&]<typename T>(TypeTag<T>) {
    const T value = *view.as<const T>();
    if constexpr (is_half(dtype_of<T>)) {
      return converted(static_cast<float>(value), compute);
    } else if constexpr (is_complex(dtype_of<T>)) {
      return converted(value.real(), compute);  // never called: the dialect has none
    } else {
      return converted(value, compute);
    }
  });
}
Number number_of(int64_t value, Compute compute) { return converted(value, compute); }
Number number_of(double value, Compute compute) { return converted(value, compute); }

}  // namespace ebb::devices
