// ebb/core/base/shape.h -- sizes and strides: Shape, a short vector of int64 on the stack, and
// IntSpan.
//
// Shape holds up to kMaxDims values without the heap and copies only those in use. checked_numel()
// is the only place where sizes become a count: everything that allocates goes through it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>

#include "ebb/core/base/export.h"

namespace ebb {

/// The most dimensions that a tensor may have (NumPy's limit before version 2).
inline constexpr int kMaxDims = 32;

/// Read-only view of sizes, strides or dims. As a parameter it also takes a list in braces, whose
/// values end with the call.
class IntSpan : public std::span<const int64_t> {
 public:
  using std::span<const int64_t>::span;
  IntSpan(std::span<const int64_t> values) : span(values) {}  // NOLINT: the same values
  IntSpan(std::initializer_list<int64_t> values)              // NOLINT: the same values
      : span(values.begin(), values.size()) {}
};

/// Sizes, strides or a list of dims: at most kMaxDims values, stored inline.
class EBB_API Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> values) : Shape(IntSpan(values.begin(), values.size())) {}
  /// Throws ShapeError if there are more than kMaxDims values.
  explicit Shape(IntSpan values) : ndim_(checked_ndim(values.size())) {
    std::copy(values.begin(), values.end(), values_);
  }
  Shape(const Shape& other) : ndim_(other.ndim_) { std::copy_n(other.values_, ndim_, values_); }
  Shape& operator=(const Shape& other) {
    ndim_ = other.ndim_;
    std::copy_n(other.values_, ndim_, values_);
    return *this;
  }

  int ndim() const { return ndim_; }
  int64_t operator[](int dim) const { return values_[dim]; }
  int64_t& operator[](int dim) { return values_[dim]; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + ndim_; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + ndim_; }
  const int64_t* data() const { return values_; }
  size_t size() const { return static_cast<size_t>(ndim_); }
  bool empty() const { return ndim_ == 0; }

  operator IntSpan() const { return {values_, size()}; }  // NOLINT: a shape is its values

  /// Throws ShapeError when full.
  void push_back(int64_t value) {
    checked_ndim(static_cast<size_t>(ndim_) + 1);
    values_[ndim_++] = value;
  }
  void resize(int ndim) { ndim_ = checked_ndim(static_cast<size_t>(ndim)); }
  void erase(int dim) {
    std::copy(values_ + dim + 1, values_ + ndim_, values_ + dim);
    --ndim_;
  }

 private:
  static int checked_ndim(size_t ndim) {
    if (ndim > kMaxDims) throw_too_many_dims(ndim);
    return static_cast<int>(ndim);
  }
  [[noreturn]] static void throw_too_many_dims(size_t ndim);

  int ndim_ = 0;
  int64_t values_[kMaxDims];  // only the first ndim_ are initialised
};

inline bool equal(IntSpan lhs, IntSpan rhs) {
  return lhs.size() == rhs.size() && std::equal(lhs.begin(), lhs.end(), rhs.begin());
}
inline bool operator==(const Shape& lhs, const Shape& rhs) { return equal(lhs, rhs); }

/// Number of elements of a tensor that there is: nothing is checked, and nothing overflows.
inline int64_t numel_of(IntSpan sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

/// A shape as it is printed: [2, 3].
struct PrintShape {
  IntSpan sizes;
};
EBB_API std::ostream& operator<<(std::ostream& out, const PrintShape& shape);
EBB_API std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// Number of elements. Throws ShapeError, naming `op`, if a size is negative or if
/// count * item_size does not fit into 63 bits.
EBB_API int64_t checked_numel(const char* op, IntSpan sizes, size_t item_size);

/// Fills `strides` (of sizes.size() values) for row-major order.
EBB_API void contiguous_strides(IntSpan sizes, int64_t* strides);

/// Whether these strides enumerate elements in row-major order without gaps.
EBB_API bool is_contiguous(IntSpan sizes, IntSpan strides);

/// Whether two elements of such a tensor may lie at one place. May say yes where they do not, but
/// only of strides that no slicing of a tensor without overlap gives.
EBB_API bool may_overlap_itself(IntSpan sizes, IntSpan strides);

/// The shape that both broadcast to. Throws ShapeError, naming `op`, if there is none.
EBB_API Shape broadcast_shapes(const char* op, IntSpan lhs, IntSpan rhs);

/// `dim` counted from the front. Throws IndexError, naming `op`, unless -ndim <= dim < ndim
/// (a 0-d tensor counts as one dimension, as in PyTorch).
EBB_API int normalize_dim(const char* op, int64_t dim, int ndim);

/// The size (or stride) of `dim` in `values`. Throws IndexError, naming `op`, if there is no such
/// dim; a 0-d tensor has none.
EBB_API int64_t at_dim(const char* op, IntSpan values, int64_t dim);

}  // namespace ebb
