// ebb/devices/common/pointwise/arrange.cpp -- launches of kernels/pointwise/arrange.k.
#include "ebb/devices/common/pointwise/arrange.h"

#include <algorithm>

#include "ebb/devices/common/base/call.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

constexpr int64_t kMostShort = int64_t{1} << 30;

}  // namespace

void run_linspace(const Context& context, const Scalar& start, const Scalar& end,
                  const TensorView& out) {
  if (out.numel == 0) return;
  const double first = start.to_double();
  const double last = end.to_double();
  const double step = out.numel > 1 ? (last - first) / static_cast<double>(out.numel - 1) : 0;
  const Compute compute = widest_real(driver().traits(context.device.index));
  KernelCall call(Family::arrange, "linspace", context, compute, out.numel < kMostShort);
  call.set("IS_TRIANGLE", 0, 1).set("T", out.dtype);
  call.add(out).add_index(out.numel).add_number(first).add_number(last).add_number(step);
  call.run({arrange_k}, out.numel, call.traits().group_size);
}

void run_triangle(const Context& context, const TensorView& input, int64_t diagonal, bool is_upper,
                  const TensorView& out) {
  if (out.numel == 0) return;
  const int64_t height = out.sizes[out.ndim - 2];
  const int64_t width = out.sizes[out.ndim - 1];
  KernelCall call(Family::arrange, "triangle", context, Compute::i32, out.numel < kMostShort);
  call.set("IS_TRIANGLE", 1, 1).set("IS_UPPER", is_upper, 1).set("T", out.dtype);
  call.add(out).add(input).add_index(out.numel).add_index(height).add_index(width);
  // Nothing lies beyond a diagonal outside of the matrix; so much of it is enough.
  call.add_index(std::clamp(diagonal, -height - 1, width + 1));
  call.run({arrange_k}, out.numel, call.traits().group_size);
}

}  // namespace ebb::devices
