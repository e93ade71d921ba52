// ebb/devices/common/network/pool.cpp -- launches of kernels/network/pool.k.
//
// Windows come as a list for each axis; kernels work them out again from a few numbers, so that no
// list goes to the device.
#include "ebb/devices/common/network/pool.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "ebb/devices/common/base/call.h"
#include "ebb/devices/common/base/copy.h"
#include "ebb/devices/launch/source.h"
#include "ebb/ops/view_of.h"

namespace ebb::devices {

using kernels::Context;
using kernels::PoolAxis;
using kernels::PoolWindow;
using kernels::TensorView;

namespace {

constexpr int64_t kMostShort = int64_t{1} << 29;

enum class Kind { means, means_gradient, maxima, maxima_gradient, places };
enum class Divisor { elements, padded, fixed };

/// The element count of window `number` if what lies in the padding counts.
double padded_count(const PoolAxis& axis, int64_t size, int64_t number) {
  const int64_t first = number * axis.stride - axis.padding;
  const int64_t last = std::min(first + axis.kernel, size + axis.padding);
  return static_cast<double>(std::max<int64_t>(1, last - first));
}

/// By which rule all windows got their counts; nothing if by none.
std::optional<Divisor> divisor_of(const PoolAxis& axis, int64_t size) {
  bool is_elements = true, is_padded = axis.stride > 0, is_fixed = true;
  int64_t number = 0;
  for (const PoolWindow& window : axis.windows) {
    const double elements = static_cast<double>(std::max<int64_t>(1, window.size));
    is_elements = is_elements && window.count == elements;
    is_padded = is_padded && window.count == padded_count(axis, size, number++);
    is_fixed = is_fixed && window.count == axis.windows[0].count;
  }
  if (is_elements) return Divisor::elements;
  if (is_padded) return Divisor::padded;
  if (is_fixed) return Divisor::fixed;
  return std::nullopt;
}

/// The struct Axis of the kernels.
class Axis {
 public:
  Axis(const PoolAxis& axis, int64_t size, Divisor divisor)
      : values_{size,
                static_cast<int64_t>(axis.windows.size()),
                axis.stride,
                axis.padding,
                axis.kernel,
                axis.windows[0].step,
                static_cast<int64_t>(divisor)} {
    std::copy(std::begin(values_), std::end(values_), short_);
  }
  bool fits_int32() const {
    const int64_t reach = values_[1] * values_[2] + values_[4] * values_[5];
    return reach < kMostShort && std::all_of(std::begin(values_), std::end(values_),
                                             [](int64_t value) { return value < kMostShort; });
  }
  void add_to(KernelCall& call) const {
    const void* data = call.is_int32() ? static_cast<const void*>(short_) : values_;
    call.add_bytes(
        {static_cast<const char*>(data), call.is_int32() ? sizeof short_ : sizeof values_});
  }

 private:
  int64_t values_[7];
  int32_t short_[7];
};

KernelCall begin(Kind kind, const char* op, const Context& context, DType dtype, bool as_int32) {
  KernelCall call(Family::pool, op, context, compute_of(dtype), as_int32);
  call.set("KIND", static_cast<int64_t>(kind), 3).set("T", dtype);
  return call;
}

bool is_short(const Axis& rows, const Axis& columns, const TensorView& one,
              const TensorView& other) {
  return rows.fits_int32() && columns.fits_int32() && one.numel < kMostShort &&
         other.numel < kMostShort;
}

/// `plane`: the view with the sizes of the input.
void run_means(Kind kind, const char* op, const Context& context, const PoolAxis& rows,
               const PoolAxis& columns, const TensorView& plane, const TensorView& in,
               const TensorView& out) {
  if (out.numel == 0) return;
  const auto row_divisor = divisor_of(rows, plane.sizes[1]);
  const auto column_divisor = divisor_of(columns, plane.sizes[2]);
  if (!row_divisor || !column_divisor) ops::throw_no_kernel(op, out.dtype, context.device);
  const Axis down(rows, plane.sizes[1], *row_divisor);
  const Axis along(columns, plane.sizes[2], *column_divisor);
  KernelCall call = begin(kind, op, context, out.dtype, is_short(down, along, in, out));
  call.add(out).add(in).add_index(out.numel);
  down.add_to(call);
  along.add_to(call);
  call.add_number(rows.windows[0].count).add_number(columns.windows[0].count);
  call.run({pool_k}, out.numel, call.traits().group_size);
}

}  // namespace

void run_avg_pool(const Context& context, const PoolAxis& rows, const PoolAxis& columns,
                  const TensorView& input, const TensorView& out) {
  run_means(Kind::means, "avg_pool", context, rows, columns, input, input, out);
}

void run_avg_pool_backward(const Context& context, const PoolAxis& rows, const PoolAxis& columns,
                           const TensorView& grad, const TensorView& grad_input) {
  run_means(Kind::means_gradient, "avg_pool_backward", context, rows, columns, grad_input, grad,
            grad_input);
}

void run_max_pool(const Context& context, const PoolAxis& rows, const PoolAxis& columns,
                  const TensorView& input, const TensorView& values, const TensorView& indices) {
  if (values.numel == 0) return;
  const Axis down(rows, input.sizes[1], Divisor::elements);
  const Axis along(columns, input.sizes[2], Divisor::elements);
  KernelCall call =
      begin(Kind::maxima, "max_pool", context, input.dtype, is_short(down, along, input, values));
  call.add(values).add(indices).add(input).add_index(values.numel);
  down.add_to(call);
  along.add_to(call);
  call.run({pool_k}, values.numel, call.traits().group_size);
}

bool run_max_pool_backward(const Context& context, const TensorView& grad,
                           const TensorView& indices, const TensorView& grad_input) {
  if (grad_input.numel == 0) return true;
  const int64_t size = grad_input.sizes[1] * grad_input.sizes[2];
  const bool as_int32 = grad_input.numel < kMostShort && grad.numel < kMostShort;
  KernelCall call =
      begin(Kind::maxima_gradient, "max_pool_backward", context, grad.dtype, as_int32);
  // Half types are added up in float32.
  std::optional<Scratch> wide;
  TensorView sums = grad_input;
  if (is_half(grad_input.dtype)) {
    wide.emplace(context, static_cast<size_t>(grad_input.numel) * sizeof(float));
    sums.data = wide->data();
    sums.dtype = DType::float32;
  }
  const int64_t strip = call.traits().is_cpu ? size : std::max<int64_t>(64, (size + 31) / 32);
  const int64_t strips = (size + strip - 1) / strip;
  const int64_t items = grad_input.sizes[0] * strips;
  call.add(sums).add(grad).add(indices);
  call.add_index(items).add_index(strips).add_index(strip).add_index(size);
  call.add_index(grad.sizes[1] * grad.sizes[2]);
  call.run({pool_k}, items, group_size_for(call.traits(), items));
  if (wide) run_cast(context, sums, grad_input);
  return true;
}

void run_max_pool_places(const Context& context, int64_t slice, const TensorView& in_slice,
                         const TensorView& found) {
  if (found.numel == 0) return;
  KernelCall call = begin(Kind::places, "max_pool_places", context, DType::int32,
                          found.numel < kMostShort && in_slice.numel < kMostShort);
  call.add(found).add(in_slice).add_index(found.numel);
  call.add_index(found.sizes[1] * found.sizes[2]);
  call.add_index(in_slice.sizes[1]).add_index(in_slice.sizes[2]).add_index(slice);
  call.run({pool_k}, found.numel, call.traits().group_size);
}

}  // namespace ebb::devices
