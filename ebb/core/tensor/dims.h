// ebb/core/tensor/dims.h -- how the methods of Tensor, and options, take dims and sizes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "ebb/core/base/shape.h"

namespace ebb {

/// A list of dims, sizes or steps; one number is a list of one.
class Dims {
 public:
  Dims(int64_t value) : values_{value} {}                           // NOLINT: is a list
  Dims(std::initializer_list<int64_t> values) : values_(values) {}  // NOLINT: is a list
  Dims(IntSpan values) : values_(values) {}                         // NOLINT: is a list
  Dims(const Shape& values) : values_(values) {}                    // NOLINT: is a list
  operator IntSpan() const { return values_; }                      // NOLINT: is a list

 private:
  Shape values_;
};

/// The same, or nothing, which stands for Python's None.
class MaybeDims {
 public:
  MaybeDims(std::nullopt_t) {}                                           // NOLINT: is a list
  MaybeDims(int64_t value) : values_(Shape{value}) {}                    // NOLINT: is a list
  MaybeDims(std::initializer_list<int64_t> values) : values_(values) {}  // NOLINT: is a list
  MaybeDims(const Shape& values) : values_(values) {}                    // NOLINT: is a list
  operator std::optional<IntSpan>() const {                              // NOLINT: is a list
    return values_ ? std::optional<IntSpan>(*values_) : std::nullopt;
  }

 private:
  std::optional<Shape> values_;
};

}  // namespace ebb
