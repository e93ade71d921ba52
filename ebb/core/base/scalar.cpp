// ebb/core/base/scalar.cpp -- conversions of Scalar.
#include "ebb/core/base/scalar.h"

#include <cmath>
#include <limits>
#include <ostream>
#include <utility>

#include "ebb/core/base/error.h"

namespace ebb {
namespace {

[[noreturn]] void throw_unfit(DType dtype, const Scalar& scalar, const char* op) {
  throw ValueError(str(op, ": the number must fit into ", dtype, ", got ", scalar));
}

template <typename T>
T to_integer(const Scalar& scalar, const char* op) {
  const bool is_whole = scalar.kind() <= Kind::integer;
  const double wide = scalar.to_double();
  // 2^digits is exact in double; every value below it fits, NaN compares false.
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const double lowest = std::is_signed_v<T> ? -limit : 0.0;
  const bool fits = is_whole ? std::in_range<T>(scalar.to_int()) : wide >= lowest && wide < limit;
  if (!fits) throw_unfit(dtype_of<T>, scalar, op);
  return is_whole ? static_cast<T>(scalar.to_int()) : static_cast<T>(wide);
}

}  // namespace

int64_t Scalar::checked_integer(uint64_t value) {
  if (value > static_cast<uint64_t>(INT64_MAX)) {
    throw ValueError(str("scalar: needs an integer of at most ", INT64_MAX, ", got ", value));
  }
  return static_cast<int64_t>(value);
}

DType Scalar::promote_with(DType dtype) const {
  if (kind_ <= kind_of(dtype)) return dtype;
  const bool keeps_width = kind_ == Kind::complex && is_floating(dtype);
  return keeps_width ? complex_type_of(dtype) : default_dtype();
}

DType Scalar::default_dtype() const {
  switch (kind_) {
    case Kind::boolean: return DType::boolean;
    case Kind::integer: return DType::int64;
    case Kind::floating: return ebb::default_dtype();
    case Kind::complex: break;
  }
  return complex_type_of(ebb::default_dtype());
}

void Scalar::store_as(DType dtype, void* where, const char* op) const {
  if (imag_ != 0.0 && !is_complex(dtype) && dtype != DType::boolean) throw_unfit(dtype, *this, op);
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    auto* out = static_cast<T*>(where);
    if constexpr (std::is_same_v<T, bool>) {
      *out = to_complex() != std::complex<double>(0.0);
    } else if constexpr (std::is_integral_v<T>) {
      *out = to_integer<T>(*this, op);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      *out = T(static_cast<float>(to_double()));
    } else if constexpr (std::is_floating_point_v<T>) {
      *out = static_cast<T>(to_double());
    } else {
      *out = static_cast<T>(to_complex());
    }
  });
}

std::ostream& operator<<(std::ostream& out, const Scalar& scalar) {
  switch (scalar.kind()) {
    case Kind::boolean: return out << (scalar.to_int() != 0 ? "True" : "False");
    case Kind::integer: return out << scalar.to_int();
    case Kind::floating: return out << scalar.to_double();
    case Kind::complex: break;
  }
  return out << scalar.to_complex();
}

bool operator==(const Scalar& lhs, const Scalar& rhs) {
  return lhs.kind() == rhs.kind() && lhs.to_complex() == rhs.to_complex() &&
         (lhs.kind() > Kind::integer || lhs.to_int() == rhs.to_int());
}

}  // namespace ebb
