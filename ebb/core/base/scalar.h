// ebb/core/base/scalar.h -- Scalar, one number from the user's program that is not a tensor.
//
// It keeps the kind it was written with, because promotion treats it as weak: a Python float never
// widens a float32 tensor. store_as() converts it to any element type.
#pragma once

#include <complex>
#include <cstdint>
#include <iosfwd>
#include <type_traits>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/export.h"

namespace ebb {

/// A bool, int64, double or complex<double> with its kind.
class EBB_API Scalar {
 public:
  Scalar() : Scalar(0) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Scalar(
      T value)  // NOLINT: numbers convert to scalars without ceremony
      : kind_(std::is_same_v<T, bool>       ? Kind::boolean
              : std::is_floating_point_v<T> ? Kind::floating
                                            : Kind::integer) {
    if constexpr (std::is_floating_point_v<T>) {
      real_ = static_cast<double>(value);
    } else if constexpr (sizeof(T) == sizeof(int64_t) && std::is_unsigned_v<T>) {
      integer_ = checked_integer(value);
    } else {
      integer_ = static_cast<int64_t>(value);
    }
  }
  Scalar(std::complex<double> value)  // NOLINT
      : kind_(Kind::complex), real_(value.real()), imag_(value.imag()) {}

  Kind kind() const { return kind_; }
  double to_double() const {
    return kind_ <= Kind::integer ? static_cast<double>(integer_) : real_;
  }
  int64_t to_int() const { return kind_ <= Kind::integer ? integer_ : static_cast<int64_t>(real_); }
  std::complex<double> to_complex() const { return {to_double(), imag_}; }

  /// The dtype a result has when a tensor of `dtype` meets this scalar.
  DType promote_with(DType dtype) const;
  /// The dtype of a tensor made of this scalar alone: bool, int64, the default dtype or the
  /// complex one of its precision.
  DType default_dtype() const;

  /// Writes this number as one element of `dtype` to `where` (16 bytes suffice for every type).
  /// Throws ValueError, naming `op`, if an integer type cannot hold it, or if a type that is
  /// neither complex nor bool would lose an imaginary part.
  void store_as(DType dtype, void* where, const char* op) const;

 private:
  /// Throws ValueError for what int64 cannot hold.
  static int64_t checked_integer(uint64_t value);

  Kind kind_;
  union {
    double real_;
    int64_t integer_;
  };
  double imag_ = 0.0;
};

EBB_API std::ostream& operator<<(std::ostream& out, const Scalar& scalar);
EBB_API bool operator==(const Scalar& lhs, const Scalar& rhs);

}  // namespace ebb
