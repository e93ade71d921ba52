// ebb/kernels/cpu/simd/strided.h -- one operand of a loop, seen through the loop's sizes.
//
// The loop counts elements 0 .. numel-1 in row-major order of its sizes. A StridedRange finds the
// operand's element for such a number, and copies runs of them to and from a contiguous tile on the
// stack, so that the arithmetic itself is only ever compiled for contiguous memory. Dims that lie
// behind each other in memory are merged first: most operands end up with one or two.
#pragma once

#include <cstdint>

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::cpu {

/// Elements in a tile; the widest element has 16 bytes, so a tile takes 8 KiB of stack.
inline constexpr int64_t kTile = 512;
inline constexpr int64_t kTileBytes = kTile * 16;

/// Stands for complex128, the one element of 16 bytes, where elements are only moved.
struct Word16 {
  uint64_t parts[2];
};

/// Calls body with a null pointer to a type of `item` bytes.
template <typename Body>
void visit_word(int64_t item, Body body) {
  switch (item) {
    case 1: return body(static_cast<uint8_t*>(nullptr));
    case 2: return body(static_cast<uint16_t*>(nullptr));
    case 4: return body(static_cast<uint32_t*>(nullptr));
    case 8: return body(static_cast<uint64_t*>(nullptr));
    default: return body(static_cast<Word16*>(nullptr));
  }
}

/// The order in which a loop visits dims, and its sizes in that order.
struct LoopShape {
  int ndim = 0;
  int64_t sizes[kMaxDims];
  uint8_t dims[kMaxDims];  // the dim of the tensor behind each dim of the loop

  /// Visits `out` in the order of its memory: the dim with the smallest stride is innermost.
  explicit LoopShape(const TensorView& out);
};

/// The memory of one operand in loop order. Owns nothing.
class StridedRange {
 public:
  /// `view` broadcasts to the tensor that `shape` was made of.
  StridedRange(const TensorView& view, const LoopShape& shape);

  /// Looks at other memory with the same geometry.
  void move_to(const void* data) { data_ = static_cast<char*>(const_cast<void*>(data)); }

  bool is_contiguous() const { return ndim_ == 0 || (ndim_ == 1 && strides_[0] == 1); }
  /// Whether every number of the loop means the same element.
  bool is_single() const { return ndim_ == 0 || (ndim_ == 1 && strides_[0] == 0); }
  int64_t inner_size() const { return ndim_ == 0 ? 1 : sizes_[ndim_ - 1]; }
  int64_t inner_stride() const { return ndim_ == 0 ? 0 : strides_[ndim_ - 1]; }

  char* at(int64_t index) const;
  /// How many elements from `index` on lie in the same innermost run.
  int64_t run_left(int64_t index) const {
    return ndim_ == 0 ? INT64_MAX : inner_size() - index % inner_size();
  }
  /// Copies elements [begin, begin + count) to or from `tile`.
  void gather(int64_t begin, int64_t count, void* tile) const;
  void scatter(int64_t begin, int64_t count, const void* tile) const;

 private:
  template <typename Body>
  void for_each_run(int64_t begin, int64_t count, Body body) const;

  char* data_;
  int64_t item_;
  int ndim_ = 0;
  int64_t sizes_[kMaxDims];
  int64_t strides_[kMaxDims];  // in elements
};

/// Copies `count` elements of `item` bytes between memory with a stride (in elements) and a tile.
void gather_run(const void* data, int64_t stride, int64_t count, int64_t item, void* tile);
void scatter_run(const void* tile, int64_t count, int64_t item, void* data, int64_t stride);

}  // namespace ebb::kernels::cpu
