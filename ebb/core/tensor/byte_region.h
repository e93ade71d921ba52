// ebb/core/tensor/byte_region.h -- which bytes of a memory a tensor touches, and whether two
// regions meet.
//
// A region is a run of bytes, repeated along up to three axes: a column of a matrix is one element
// repeated with the length of a row. What has more axes than that is taken for more than it is,
// never for less. Two regions meet if a bounded sum of strides hits a range of numbers; the search
// for it is exact for slices of one array and gives up, saying yes, after a number of steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ebb/core/base/export.h"
#include "ebb/core/base/shape.h"

namespace ebb {

/// `count` places, `stride` bytes apart.
struct ByteAxis {
  int64_t stride;
  int64_t count;
};

/// See the top of the file.
struct EBB_API ByteRegion {
  static constexpr int kMaxAxes = 3;

  int64_t start = 0;  // the lowest byte
  int64_t run = 0;    // bytes in one piece; 0 if nothing is touched
  int ndim = 0;
  ByteAxis axes[kMaxAxes];  // the first ndim: counts above 1, strides above `run`, rising

  /// Bytes without a gap.
  static ByteRegion dense(int64_t start, int64_t bytes) {
    ByteRegion region;
    region.start = start;
    region.run = bytes;
    return region;
  }
  /// Elements of `item` bytes, the first of them at byte `start`; strides count elements.
  static ByteRegion strided(int64_t start, int64_t item, IntSpan sizes, IntSpan strides);

  /// Bytes from the first to the last, gaps included.
  int64_t span() const {
    int64_t bytes = run;
    for (int axis = 0; axis < ndim; ++axis) bytes += axes[axis].stride * (axes[axis].count - 1);
    return bytes;
  }
  /// Whether both are the same but for their start.
  bool has_form_of(const ByteRegion& other) const {
    if (run != other.run || ndim != other.ndim) return false;
    for (int axis = 0; axis < ndim; ++axis) {
      if (axes[axis].stride != other.axes[axis].stride) return false;
      if (axes[axis].count != other.axes[axis].count) return false;
    }
    return true;
  }
};

/// Whether `rhs` may have a byte in common with `lhs` or one of its repetitions along `repeats`,
/// whose strides may have either sign. True if in doubt.
EBB_API bool may_meet(const ByteRegion& lhs, std::span<const ByteAxis> repeats,
                      const ByteRegion& rhs);

}  // namespace ebb
