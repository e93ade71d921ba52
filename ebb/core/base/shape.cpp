// ebb/core/base/shape.cpp -- shape arithmetic with overflow checks.
#include "ebb/core/base/shape.h"

#include <cstdlib>
#include <ostream>

#include "ebb/core/base/error.h"

namespace ebb {

void Shape::throw_too_many_dims(size_t ndim) {
  throw ShapeError(str("tensor: needs at most ", kMaxDims, " dimensions, got ", ndim));
}

std::ostream& operator<<(std::ostream& out, const PrintShape& shape) {
  out << '[';
  for (size_t dim = 0; dim < shape.sizes.size(); ++dim) {
    out << (dim == 0 ? "" : ", ") << shape.sizes[dim];
  }
  return out << ']';
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << PrintShape{shape}; }

int64_t checked_numel(const char* op, IntSpan sizes, size_t item_size) {
  int64_t numel = 1;
  bool overflows = false;
  bool is_empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) {
      throw ShapeError(str(op, ": sizes must not be negative, got ", PrintShape{sizes}));
    }
    is_empty |= size == 0;
    // The product over the non-zero sizes must fit even if one size is zero: strides are made of
    // it.
    if (size > 0) overflows |= __builtin_mul_overflow(numel, size, &numel);
  }
  int64_t bytes = 0;
  overflows |= __builtin_mul_overflow(numel, static_cast<int64_t>(item_size), &bytes);
  if (overflows) {
    throw ShapeError(str(op, ": the number of bytes must fit into 63 bits, got sizes ",
                         PrintShape{sizes}, " of ", item_size, " bytes an element"));
  }
  return is_empty ? 0 : numel;
}

void contiguous_strides(IntSpan sizes, int64_t* strides) {
  int64_t stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
  }
}

bool is_contiguous(IntSpan sizes, IntSpan strides) {
  int64_t expected = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (sizes[dim] != 1 && strides[dim] != expected) {
      return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();  // no elements, no order
    }
    expected *= std::max<int64_t>(sizes[dim], 1);
  }
  return true;
}

bool may_overlap_itself(IntSpan sizes, IntSpan strides) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  // From the smallest stride up, each must step over all that the smaller ones reach.
  int order[kMaxDims];
  int count = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] > 1) order[count++] = static_cast<int>(dim);
  }
  const auto stride_of = [&](int dim) { return std::abs(strides[static_cast<size_t>(dim)]); };
  std::sort(order, order + count, [&](int a, int b) { return stride_of(a) < stride_of(b); });
  int64_t reach = 0;
  for (int i = 0; i < count; ++i) {
    if (stride_of(order[i]) <= reach) return true;
    reach += (sizes[static_cast<size_t>(order[i])] - 1) * stride_of(order[i]);
  }
  return false;
}

Shape broadcast_shapes(const char* op, IntSpan lhs, IntSpan rhs) {
  const size_t ndim = std::max(lhs.size(), rhs.size());
  Shape out;
  out.resize(static_cast<int>(ndim));
  for (size_t back = 1; back <= ndim; ++back) {
    const int64_t left = back <= lhs.size() ? lhs[lhs.size() - back] : 1;
    const int64_t right = back <= rhs.size() ? rhs[rhs.size() - back] : 1;
    if (left != right && left != 1 && right != 1) {
      throw ShapeError(str(op, ": shapes must broadcast together, got ", PrintShape{lhs}, " and ",
                           PrintShape{rhs}, " (sizes ", left, " and ", right, " differ in dim ",
                           -static_cast<int64_t>(back), ")"));
    }
    out[static_cast<int>(ndim - back)] = left == 1 ? right : left;
  }
  return out;
}

int normalize_dim(const char* op, int64_t dim, int ndim) {
  const int64_t bound = std::max(ndim, 1);
  if (dim < -bound || dim >= bound) {
    throw IndexError(str(op, ": dim must be from ", -bound, " to ", bound - 1, ", got ", dim));
  }
  return static_cast<int>(dim < 0 ? dim + bound : dim);
}

int64_t at_dim(const char* op, IntSpan values, int64_t dim) {
  if (values.empty()) {
    throw IndexError(str(op, ": needs a dim, got ", dim, " for a tensor without dims"));
  }
  return values[static_cast<size_t>(normalize_dim(op, dim, static_cast<int>(values.size())))];
}

}  // namespace ebb
