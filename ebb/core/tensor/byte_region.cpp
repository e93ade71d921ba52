// ebb/core/tensor/byte_region.cpp -- puts strides in order, and searches for a byte two regions
// share.
#include "ebb/core/tensor/byte_region.h"

#include <algorithm>
#include <numeric>

namespace ebb {
namespace {

/// The axes of more than one place, by rising stride. Lowers `start` to the lowest element.
class SortedAxes {
 public:
  SortedAxes(int64_t& start, int64_t item, IntSpan sizes, IntSpan strides) {
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      const int64_t stride = strides[dim] * item;
      if (sizes[dim] == 1 || stride == 0) continue;
      if (stride < 0) start += stride * (sizes[dim] - 1);
      insert({stride < 0 ? -stride : stride, sizes[dim]});
    }
  }
  const ByteAxis* begin() const { return axes_; }
  const ByteAxis* end() const { return axes_ + count_; }

 private:
  void insert(ByteAxis axis) {
    int at = count_++;
    for (; at > 0 && axes_[at - 1].stride > axis.stride; --at) axes_[at] = axes_[at - 1];
    axes_[at] = axis;
  }
  ByteAxis axes_[kMaxDims];
  int count_ = 0;
};

/// Fills the gaps along the innermost axis.
void swallow_first(ByteRegion& region) {
  region.run += region.axes[0].stride * (region.axes[0].count - 1);
  std::copy(region.axes + 1, region.axes + region.ndim, region.axes);
  --region.ndim;
}

/// Adds an axis whose stride is at least that of those there are.
void append(ByteRegion& region, const ByteAxis& axis) {
  if (region.ndim == 0 && axis.stride <= region.run) {
    region.run += axis.stride * (axis.count - 1);
    return;
  }
  if (region.ndim > 0) {
    ByteAxis& last = region.axes[region.ndim - 1];
    if (axis.stride == last.stride * last.count) {  // one axis, split in two
      last.count *= axis.count;
      return;
    }
  }
  if (region.ndim == ByteRegion::kMaxAxes) {
    swallow_first(region);
    while (region.ndim > 0 && region.axes[0].stride <= region.run) swallow_first(region);
    return append(region, axis);
  }
  region.axes[region.ndim++] = axis;
}

/// A sum of terms stride * x, each x from 0 to a most of its own: which numbers can it be?
class BoundedSum {
 public:
  /// A term; one of negative stride counts as its mirror image, which shifts the sum.
  void add(int64_t stride, int64_t most) {
    if (stride < 0) {
      shift_ -= stride * most;
      stride = -stride;
    }
    if (stride == 0 || most == 0) return;
    int at = 0;
    while (at < count_ && terms_[at].stride > stride) ++at;
    if (at < count_ && terms_[at].stride == stride) {
      terms_[at].most += most;
      return;
    }
    std::copy_backward(terms_ + at, terms_ + count_, terms_ + count_ + 1);
    terms_[at] = {stride, most};
    ++count_;
  }

  /// Whether the sum can lie in [low, high]. True if that takes too long to tell.
  bool can_hit(int64_t low, int64_t high) {
    reach_[count_] = divisor_[count_] = 0;
    for (int index = count_; index-- > 0;) {
      reach_[index] = reach_[index + 1] + terms_[index].stride * terms_[index].most;
      divisor_[index] = std::gcd(divisor_[index + 1], terms_[index].stride);
    }
    return hits(0, low + shift_, high + shift_);
  }

 private:
  static constexpr int kMaxTerms = 2 * ByteRegion::kMaxAxes + 2;

  /// Whether the terms from `index` on can make a sum in [low, high]. Nests kMaxTerms deep.
  bool hits(int index, int64_t low, int64_t high) {
    if (low <= 0 && high >= 0) return true;
    if (high < 0 || low > reach_[index]) return false;
    if (high / divisor_[index] * divisor_[index] < low) return false;
    const auto [stride, most] = terms_[index];
    const int64_t missing = std::max(low - reach_[index + 1], int64_t{0});
    const int64_t last = std::min(most, high / stride);
    for (int64_t x = (missing + stride - 1) / stride; x <= last; ++x) {
      if (--steps_left_ < 0) return true;
      if (hits(index + 1, low - x * stride, high - x * stride)) return true;
    }
    return false;
  }

  struct Term {
    int64_t stride;
    int64_t most;
  };
  Term terms_[kMaxTerms];           // by falling stride
  int64_t reach_[kMaxTerms + 1];    // the largest sum of the terms from here on
  int64_t divisor_[kMaxTerms + 1];  // what divides each of them
  int count_ = 0;
  int64_t shift_ = 0;
  int steps_left_ = 1000;
};

}  // namespace

ByteRegion ByteRegion::strided(int64_t start, int64_t item, IntSpan sizes, IntSpan strides) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return dense(start, 0);
  const SortedAxes sorted(start, item, sizes, strides);
  ByteRegion region = dense(start, item);
  for (const ByteAxis& axis : sorted) append(region, axis);
  return region;
}

bool may_meet(const ByteRegion& lhs, std::span<const ByteAxis> repeats, const ByteRegion& rhs) {
  if (lhs.run == 0 || rhs.run == 0) return false;
  BoundedSum offset;  // of an element of `lhs` to one of `rhs`, but for their starts
  for (int axis = 0; axis < lhs.ndim; ++axis) {
    offset.add(lhs.axes[axis].stride, lhs.axes[axis].count - 1);
  }
  for (const ByteAxis& axis : repeats) offset.add(axis.stride, axis.count - 1);
  for (int axis = 0; axis < rhs.ndim; ++axis) {
    offset.add(-rhs.axes[axis].stride, rhs.axes[axis].count - 1);
  }
  const int64_t apart = rhs.start - lhs.start;
  return offset.can_hit(apart - (lhs.run - 1), apart + rhs.run - 1);
}

}  // namespace ebb
