// ebb/autograd/history/region.h -- gradients between a tensor and a region of its memory.
//
// A region is what as_strided() shows of a tensor, the base: any view of it can be put like this.
// Both have sizes, strides and a first element; places are counted in the window, all memory from
// the lowest to the highest element that either of them touches. A gradient of the base, whatever
// its own strides, is laid out in the window as the base lies in memory, and read back from there.
// Where one of them is complex and the other real, a complex number counts as a pair of real ones.
// Everything is made of recorded ops.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// The one that is complex while the other is real, whose numbers count as pairs.
enum class Pairs : int64_t { none, base, region };

/// A base and a region of it in one row of numbers, which a node keeps in one piece.
struct PackedRegion {
  // Whose numbers are pairs, the dims of both, their first places, the window's length.
  static constexpr size_t kHeader = 6;
  int64_t values[kHeader + 4 * (kMaxDims + 1)];
  size_t count = 0;

  operator IntSpan() const { return {values, count}; }  // NOLINT: it is its values
};
PackedRegion packed_region(const Tensor& base, IntSpan sizes, IntSpan strides,
                           std::optional<int64_t> storage_offset);
/// The region that a view shows.
PackedRegion packed_region(const TensorImpl& base, const TensorImpl& view);

/// What packed_region() wrote, which must outlive it.
class Region {
 public:
  explicit Region(IntSpan packed);

  /// The gradient of the base from that of the region: zeros elsewhere; where the region overlaps
  /// itself, the sum.
  Tensor scattered(const Tensor& grad) const;
  /// The region's part of a gradient of the base.
  Tensor read(const Tensor& grad) const;
  /// The region's part of a tangent of the base, in which elements at one place have one value;
  /// zeros where the base has no element.
  Tensor read_tangent(const Tensor& tangent) const;
  /// The tangent of the base once the region was written, from that of what was written: zeros
  /// elsewhere. The region does not overlap itself.
  Tensor written_tangent(const Tensor& tangent) const;
  /// A gradient of the base with zeros in the region.
  Tensor cleared(const Tensor& grad) const;
  /// The same in the memory of `grad` itself. Only where is_plain(), and not recorded.
  void clear_in_place(const Tensor& grad) const;
  /// Whether the window is the base's elements in row-major order.
  bool is_plain() const { return is_plain_; }

 private:
  Tensor spread(const Tensor& grad) const;
  Tensor gathered(const Tensor& window) const;
  Tensor in_pairs(const Tensor& tensor, Pairs whose) const;
  Tensor out_of_pairs(const Tensor& tensor, Pairs whose) const;
  bool base_overlaps() const;

  Pairs pairs_;
  IntSpan base_sizes_, base_strides_, sizes_, strides_;
  int64_t base_offset_, offset_, length_;
  bool is_plain_;
};

/// The elements of `input`, in row-major order, at the places of a region.
Tensor strided_read(const Tensor& input, IntSpan sizes, IntSpan strides, int64_t offset);

/// Pairs of real numbers as complex ones, copied if they do not lie as such.
Tensor as_complex(const Tensor& pairs);

}  // namespace ebb::autograd
