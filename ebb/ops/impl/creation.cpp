// ebb/ops/impl/creation.cpp -- empty, full and their like, arange, linspace, eye, randn, rand.
#include "ebb/ops/impl/creation.h"

#include <algorithm>
#include <cmath>

#include "ebb/core/base/number_range.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/arange.h"
#include "ebb/kernels/tables/fill.h"
#include "ebb/kernels/tables/linspace.h"
#include "ebb/kernels/tables/rand.h"
#include "ebb/kernels/tables/randn.h"
#include "ebb/ops/fallback.h"
#include "ebb/ops/random_part.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

DType floating_or(std::optional<DType> dtype) {
  return dtype.has_value() ? *dtype : default_dtype();
}

/// Memory for `size` elements, with errors in the name of `op`.
Tensor allocate_for(const char* op, IntSpan size, DType dtype, std::optional<Device> device) {
  const Device where = device.has_value() ? *device : default_device();
  if (where != Device{}) plugin_of(op, where);  // throws unless it is there
  const Shape sizes(size);
  checked_numel(op, sizes, item_size(dtype));
  return ebb::empty(sizes, dtype, where);
}

/// Whether `count` bytes are all the same.
bool is_one_byte(const char* bytes, size_t count) {
  return std::all_of(bytes, bytes + count, [&](char byte) { return byte == bytes[0]; });
}

Tensor filled(const char* op, Tensor out, const Scalar& value) {
  alignas(16) char converted[16];
  value.store_as(out.dtype(), converted, op);  // refuses what the dtype cannot hold
  warn_of_range(op, value, out.dtype());
  const bool is_simple = is_elsewhere(out) && is_one_byte(converted, item_size(out.dtype()));
  if (is_simple && !has_kernel(kernels::fill_kernels, out)) {
    fill_bytes(out, static_cast<unsigned char>(converted[0]));
    return out;
  }
  return written(op, out, kernels::fill_kernels, [&](const Tensor& target, auto fill) {
    fill(context_of(target), value, view_of(target));
  });
}

/// The number of steps from start to end. Throws ValueError.
int64_t count_steps(const Scalar& start, const Scalar& end, const Scalar& step) {
  const auto refuse = [&](const char* needs) {
    throw ValueError(
        str("arange: needs ", needs, ", got start ", start, ", end ", end, ", step ", step));
  };
  const bool is_exact = std::max({start.kind(), end.kind(), step.kind()}) <= Kind::integer;
  if (is_exact) {
    const __int128 distance = static_cast<__int128>(end.to_int()) - start.to_int();
    const __int128 stride = step.to_int();
    if (stride == 0) refuse("a step that is not 0");
    if ((distance > 0) != (stride > 0) && distance != 0) refuse("a step that leads to end");
    const __int128 count = (distance + stride - (stride > 0 ? 1 : -1)) / stride;
    if (count > INT64_MAX) refuse("at most 2^63 - 1 elements");
    return static_cast<int64_t>(count);
  }
  const double distance = end.to_double() - start.to_double();
  const double stride = step.to_double();
  if (stride == 0.0) refuse("a step that is not 0");
  if (!std::isfinite(distance) || !std::isfinite(stride)) refuse("finite numbers");
  if ((distance > 0) != (stride > 0) && distance != 0) refuse("a step that leads to end");
  const double count = std::ceil(distance / stride);
  if (!(count < 9.2e18)) refuse("at most 2^63 - 1 elements");
  return static_cast<int64_t>(count);
}

using RandomTable = kernels::KernelTable<kernels::RandomKernel>;

Tensor random(const char* op, const RandomTable& table, IntSpan size, std::optional<DType> dtype,
              std::optional<Device> device) {
  Tensor out = allocate_for(op, size, floating_or(dtype), device);
  return written(op, out, table, [](const Tensor& target, auto fill) {
    // One counter an element is more than any kernel uses, and the same for every dtype.
    fill(context_of(target), random_part(target), 0.0, 1.0, view_of(target));
  });
}

}  // namespace

Tensor empty(IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return allocate_for("empty", size, floating_or(dtype), device);
}

Tensor zeros(IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return filled("zeros", allocate_for("zeros", size, floating_or(dtype), device), 0);
}

Tensor ones(IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return filled("ones", allocate_for("ones", size, floating_or(dtype), device), 1);
}

Tensor full(IntSpan size, const Scalar& fill_value, std::optional<DType> dtype,
            std::optional<Device> device) {
  const DType wanted = dtype.value_or(fill_value.default_dtype());
  return filled("full", allocate_for("full", size, wanted, device), fill_value);
}

Tensor empty_like(const Tensor& input, std::optional<DType> dtype, std::optional<Device> device) {
  const DType wanted = dtype.value_or(input.dtype());
  const Device where = device.value_or(input.device());
  if (where != input.device()) return allocate_for("empty_like", input.sizes(), wanted, where);
  checked_numel("empty_like", input.sizes(), item_size(wanted));
  return ebb::empty_like(input, wanted);
}

Tensor zeros_like(const Tensor& input, std::optional<DType> dtype, std::optional<Device> device) {
  return filled("zeros_like", empty_like(input, dtype, device), 0);
}

Tensor ones_like(const Tensor& input, std::optional<DType> dtype, std::optional<Device> device) {
  return filled("ones_like", empty_like(input, dtype, device), 1);
}

Tensor full_like(const Tensor& input, const Scalar& fill_value, std::optional<DType> dtype,
                 std::optional<Device> device) {
  return filled("full_like", empty_like(input, dtype, device), fill_value);
}

namespace {

/// A number that integers are counted from, or by: without its fraction, as in PyTorch and NumPy.
Scalar cut_for(const Tensor& out, const Scalar& number) {
  const bool has_fraction = number.kind() == Kind::floating && is_integer(out.dtype());
  return has_fraction && std::abs(number.to_double()) < 0x1p63 ? Scalar(number.to_int()) : number;
}

}  // namespace

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              std::optional<DType> dtype, std::optional<Device> device) {
  const Kind kind = std::max({start.kind(), end.kind(), step.kind()});
  if (kind == Kind::complex) {
    throw DTypeError(
        str("arange: needs real numbers, got start ", start, ", end ", end, ", step ", step));
  }
  const DType by_kind = kind == Kind::floating ? floating_or({}) : DType::int64;
  const int64_t size[] = {count_steps(start, end, step)};
  Tensor out = allocate_for("arange", size, dtype.value_or(by_kind), device);
  const Scalar first = cut_for(out, start), stride = cut_for(out, step);
  return written("arange", out, kernels::arange_kernels, [&](const Tensor& target, auto fill) {
    fill(context_of(target), first, stride, view_of(target));
  });
}

Tensor arange(const Scalar& end, std::optional<DType> dtype, std::optional<Device> device) {
  return arange(0, end, 1, dtype, device);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, std::optional<DType> dtype,
                std::optional<Device> device) {
  if (steps < 0) throw ValueError(str("linspace: steps must be at least 0, got ", steps));
  const bool has_complex = std::max(start.kind(), end.kind()) == Kind::complex;
  if (has_complex && !is_complex(dtype.value_or(DType::complex64))) {
    throw DTypeError(
        str("linspace: start ", start, " and end ", end, " need a complex dtype, got ", *dtype));
  }
  const DType by_kind = has_complex ? complex_type_of(floating_or({})) : floating_or({});
  const int64_t size[] = {steps};
  Tensor out = allocate_for("linspace", size, dtype.value_or(by_kind), device);
  const Scalar first = cut_for(out, start), last = cut_for(out, end);
  return written("linspace", out, kernels::linspace_kernels, [&](const Tensor& target, auto fill) {
    if (steps > 0) fill(context_of(target), first, last, view_of(target));
  });
}

Tensor eye(int64_t n, std::optional<int64_t> m, std::optional<DType> dtype,
           std::optional<Device> device) {
  const int64_t size[] = {n, m.value_or(n)};
  Tensor out = allocate_for("eye", size, floating_or(dtype), device);
  const auto fill_diagonal = [&](const Tensor& target, auto fill) {
    filled("eye", target, 0);
    if (target.numel() == 0) return;  // a size may be too large to count on from
    Geometry diagonal;
    diagonal.append(std::min(size[0], size[1]), size[1] + 1);
    fill(context_of(target), 1, diagonal.over(target));
  };
  return written("eye", out, kernels::fill_kernels, fill_diagonal);
}

Tensor randn(IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return random("randn", kernels::randn_kernels, size, dtype, device);
}

Tensor rand(IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return random("rand", kernels::rand_kernels, size, dtype, device);
}

}  // namespace ebb::ops::impl
