// ebb/ops/impl/network/pool_shape.h -- the windows of a pool, worked out and checked.
#pragma once

#include <optional>
#include <string>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures_conv.h"
#include "ebb/ops/broadcast.h"

namespace ebb::ops {

/// The most pooled dims.
inline constexpr int kMaxPooled = 3;

struct PoolOptions {
  IntSpan kernel_size, stride, padding, dilation;
  bool ceil_mode;
};

/// What a mean is divided by.
struct PoolDivisor {
  bool count_include_pad = true;
  std::optional<int64_t> override_value{};
};

/// The windows along one dim, and what they were made of.
struct PoolWindows {
  CountedVector<kernels::PoolWindow> windows;
  int64_t stride = 0, padding = 0, kernel = 0;

  kernels::PoolAxis axis() const { return {windows, stride, padding, kernel}; }
};

/// The sizes that a pool of `input` gives: `op` pools the last dims, one per number of the options.
/// Both throw ShapeError or ValueError where they do not fit.
Shape pool_sizes(const std::string& op, const SizesOf& input, const PoolOptions& options);
Shape adaptive_pool_sizes(const std::string& op, const SizesOf& input, IntSpan output_size);

/// The windows along the pooled dim number `dim`, of which one may be empty if it is in the
/// padding.
PoolWindows windows_of(const PoolOptions& options, size_t dim, int64_t size, int64_t count,
                       const PoolDivisor& divisor);
PoolWindows adaptive_windows(int64_t size, int64_t count);
/// A window around each of `size` elements.
PoolWindows single_windows(int64_t size);

/// "max_pool2d", for two pooled dims.
std::string pool_name(const char* kind, size_t pooled);

/// `values`, or one value for each of `pooled` dims. Throws ValueError for another count.
Shape pool_list(const char* op, const char* name, IntSpan values, int pooled);

}  // namespace ebb::ops
