// ebb/devices/launch/geometry.h -- several tensors as one loop nest with as few dims as possible.
//
// Start reading at LoopNest. Dims that all operands walk through as if they were one are joined;
// operands that lack a dim, or have size 1 there, get the stride 0. How a kernel receives it:
// pack().
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "ebb/core/base/shape.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::devices {

inline constexpr int kMaxOperands = 8;
/// The most elements, and the furthest place, for 32-bit numbers. Half of their range: places of
/// items beyond the last one are calculated too, before they are found to be.
inline constexpr int64_t kMostPlaces = int64_t{1} << 30;

/// The dims of `shape`, outermost first, and the strides of each operand there, in elements.
class LoopNest {
 public:
  /// Operands broadcast to `shape`. With `may_reorder` dims go in the order of the first operand's
  /// strides, which is faster where it is transposed; else they stay in order.
  LoopNest(IntSpan shape, std::span<const kernels::TensorView* const> operands, bool may_reorder);

  int rank() const { return rank_; }
  int operands() const { return operands_; }
  int64_t size(int dim) const { return sizes_[index(dim)]; }
  int64_t stride(int operand, int dim) const { return strides_[index(operand)][index(dim)]; }
  /// Whether all operands are dense in the same order, so that one number is every place.
  bool is_dense() const;
  /// Whether every place fits in a signed 32-bit number.
  bool fits_int32() const;
  int64_t numel() const { return numel_; }

  /// Writes sizes[rank] and strides[operands][rank] as int32 or int64; returns the bytes written.
  size_t pack(bool as_int32, std::span<char> bytes) const;

 private:
  static constexpr size_t index(int number) { return static_cast<size_t>(number); }
  void add_dim(int64_t size, const std::array<int64_t, kMaxOperands>& steps);
  void reorder();
  void join();
  bool joins(int outer, int inner) const;

  int rank_ = 0;
  int operands_ = 0;
  int64_t numel_ = 1;
  int64_t sizes_[kMaxDims];
  int64_t strides_[kMaxOperands][kMaxDims];
};

/// Writes numbers as int32 or int64; returns the bytes written.
size_t pack_integers(std::span<const int64_t> values, bool as_int32, std::span<char> bytes);

/// The most bytes that pack() writes.
inline constexpr size_t kMostPacked = sizeof(int64_t) * kMaxDims * (kMaxOperands + 1);

}  // namespace ebb::devices
