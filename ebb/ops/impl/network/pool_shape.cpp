// ebb/ops/impl/network/pool_shape.cpp -- the windows of a pool, worked out and checked.
//
// Options and pooled sizes are at most kMost, so that no sum or product of two overflows.
#include "ebb/ops/impl/network/pool_shape.h"

#include <algorithm>

#include "ebb/core/base/error.h"

namespace ebb::ops {
namespace {

using kernels::PoolWindow;

constexpr int64_t kMost = INT32_MAX;

void check_list(const std::string& op, const char* name, IntSpan values, size_t pooled,
                int64_t least) {
  if (values.size() != pooled) {
    throw ValueError(
        str(op, ": ", name, " needs one number or ", pooled, ", got ", PrintShape{values}));
  }
  if (std::all_of(values.begin(), values.end(),
                  [&](int64_t value) { return value >= least && value <= kMost; })) {
    return;
  }
  throw ValueError(
      str(op, ": ", name, " must be from ", least, " to ", kMost, ", got ", PrintShape{values}));
}

void check_pooled(const std::string& op, const SizesOf& input, size_t pooled) {
  if (pooled < 1 || pooled > kMaxPooled || input.size() < pooled) {
    throw ShapeError(str(op, ": needs 1 to ", kMaxPooled, " pooled dims that input has, got ",
                         pooled, " for input ", input));
  }
  for (const int64_t size : IntSpan(input).last(pooled)) {
    if (size <= kMost) continue;
    throw ShapeError(str(op, ": pooled sizes must be at most ", kMost, ", got input ", input));
  }
}

int64_t reach_of(const PoolOptions& options, size_t dim) {
  return options.dilation[dim] * (options.kernel_size[dim] - 1) + 1;
}

void check_options(const std::string& op, const PoolOptions& options) {
  const size_t pooled = options.kernel_size.size();
  check_list(op, "kernel_size", options.kernel_size, pooled, 1);
  check_list(op, "stride", options.stride, pooled, 1);
  check_list(op, "padding", options.padding, pooled, 0);
  check_list(op, "dilation", options.dilation, pooled, 1);
  for (size_t dim = 0; dim < pooled; ++dim) {
    if (options.padding[dim] <= reach_of(options, dim) / 2) continue;
    throw ValueError(str(op, ": padding must be from 0 to half of the kernel, got padding ",
                         PrintShape{options.padding}, " for kernel_size ",
                         PrintShape{options.kernel_size}, " and dilation ",
                         PrintShape{options.dilation}));
  }
}

/// How many windows there are, 0 if none fits.
int64_t count_of(const PoolOptions& options, size_t dim, int64_t size) {
  const int64_t padding = options.padding[dim], stride = options.stride[dim];
  const int64_t room = size + 2 * padding - reach_of(options, dim);
  if (size < 1 || room < 0) return 0;
  const int64_t count = (options.ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
  // A window that would begin behind the input and its padding in front does not count.
  return (count - 1) * stride >= size + padding ? count - 1 : count;
}

}  // namespace

std::string pool_name(const char* kind, size_t pooled) { return str(kind, pooled, "d"); }

Shape pool_list(const char* op, const char* name, IntSpan values, int pooled) {
  if (values.size() != 1 && values.size() != static_cast<size_t>(pooled)) {
    throw ValueError(
        str(op, ": ", name, " needs one number or ", pooled, ", got ", PrintShape{values}));
  }
  Shape list(values);
  while (list.ndim() < pooled) list.push_back(list[0]);
  return list;
}

Shape pool_sizes(const std::string& op, const SizesOf& input, const PoolOptions& options) {
  const size_t pooled = options.kernel_size.size();
  check_pooled(op, input, pooled);
  check_options(op, options);
  Shape sizes(input);
  for (size_t dim = 0; dim < pooled; ++dim) {
    int64_t& size = sizes[static_cast<int>(input.size() - pooled + dim)];
    size = count_of(options, dim, size);
    if (size >= 1) continue;
    throw ShapeError(str(op, ": the kernel must fit into the padded input, got kernel_size ",
                         PrintShape{options.kernel_size}, ", padding ", PrintShape{options.padding},
                         " and dilation ", PrintShape{options.dilation}, " for input ", input));
  }
  return sizes;
}

Shape adaptive_pool_sizes(const std::string& op, const SizesOf& input, IntSpan output_size) {
  const size_t pooled = output_size.size();
  check_pooled(op, input, pooled);
  check_list(op, "output_size", output_size, pooled, 0);
  Shape sizes(input);
  for (size_t dim = 0; dim < pooled; ++dim) {
    int64_t& size = sizes[static_cast<int>(input.size() - pooled + dim)];
    if (size < 1) {
      throw ShapeError(
          str(op, ": input needs at least one element along each pooled dim, got ", input));
    }
    size = output_size[dim];
  }
  return sizes;
}

PoolWindows windows_of(const PoolOptions& options, size_t dim, int64_t size, int64_t count,
                       const PoolDivisor& divisor) {
  const int64_t padding = options.padding[dim], step = options.dilation[dim];
  PoolWindows made{CountedVector<PoolWindow>(static_cast<size_t>(count)), options.stride[dim],
                   padding, options.kernel_size[dim]};
  int64_t begin = -padding;
  for (PoolWindow& window : made.windows) {
    const int64_t cut = begin < 0 ? (-begin + step - 1) / step : 0;
    window.begin = begin + cut * step;
    const int64_t room = size > window.begin ? (size - 1 - window.begin) / step + 1 : 0;
    window.size = std::clamp<int64_t>(made.kernel - cut, 0, room);
    window.step = step;
    const int64_t with_padding = std::min(begin + made.kernel, size + padding) - begin;
    const int64_t counted = divisor.count_include_pad ? with_padding : window.size;
    window.count = static_cast<double>(std::max<int64_t>(1, counted));
    if (divisor.override_value)
      window.count = dim == 0 ? static_cast<double>(*divisor.override_value) : 1.0;
    begin += made.stride;
  }
  return made;
}

PoolWindows adaptive_windows(int64_t size, int64_t count) {
  PoolWindows made{CountedVector<PoolWindow>(static_cast<size_t>(count))};
  for (int64_t i = 0; i < count; ++i) {
    PoolWindow& window = made.windows[static_cast<size_t>(i)];
    window.begin = i * size / count;
    window.size = ((i + 1) * size + count - 1) / count - window.begin;
    window.count = static_cast<double>(window.size);
  }
  return made;
}

PoolWindows single_windows(int64_t size) {
  const Shape one = {1}, none = {0};
  return windows_of({one, one, none, one, false}, 0, size, size, {});
}

}  // namespace ebb::ops
