// ebb/core/base/dtype.cpp -- names and the promotion table.
//
// The table is PyTorch's: a higher kind wins over any lower one; within a kind the wider type wins;
// an unsigned with a signed integer goes to the next signed type that holds both; float16 with
// bfloat16 goes to float32. Pairs that need more than int64 have no safe integer: they give
// the default dtype.
#include "ebb/core/base/dtype.h"

#include <algorithm>
#include <atomic>
#include <ostream>

#include "ebb/core/base/error.h"

namespace ebb {
namespace {

std::atomic<DType> floating_default{DType::float32};

DType promote_integers(DType lhs, DType rhs) {
  if (is_unsigned(lhs) == is_unsigned(rhs)) return std::max(lhs, rhs);
  const DType wide_unsigned = is_unsigned(lhs) ? lhs : rhs;
  const DType wide_signed = is_unsigned(lhs) ? rhs : lhs;
  if (item_size(wide_signed) > item_size(wide_unsigned)) return wide_signed;
  switch (wide_unsigned) {
    case DType::uint8: return DType::int16;
    case DType::uint16: return DType::int32;
    case DType::uint32: return DType::int64;
    default: return default_dtype();
  }
}

DType promote_floats(DType lhs, DType rhs) {
  if (lhs != rhs && is_half(lhs) && is_half(rhs)) return DType::float32;
  return std::max(lhs, rhs);
}

DType promote_complex(DType lhs, DType rhs) {
  const DType wider = promote_floats(real_type_of(lhs), real_type_of(rhs));
  return complex_type_of(wider);
}

}  // namespace

std::string_view name_of(DType dtype) {
  constexpr std::string_view names[kDTypeCount] = {
      "bool",  "uint8",   "uint16",   "uint32",  "uint64",  "int8",      "int16",     "int32",
      "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
  return names[static_cast<int>(dtype)];
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

DType promote(DType lhs, DType rhs) {
  if (lhs == rhs) return lhs;
  const Kind kind = std::max(kind_of(lhs), kind_of(rhs));
  if (kind == Kind::complex) {
    // An integer or bool operand has no say in the width.
    if (!is_differentiable(lhs)) return rhs;
    return is_differentiable(rhs) ? promote_complex(lhs, rhs) : lhs;
  }
  if (kind_of(lhs) != kind) return rhs;
  if (kind_of(rhs) != kind) return lhs;
  return kind == Kind::floating ? promote_floats(lhs, rhs) : promote_integers(lhs, rhs);
}

DType default_dtype() { return floating_default.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  if (!is_floating(dtype)) {
    throw DTypeError(str("set_default_dtype: needs a floating dtype, got ", dtype));
  }
  floating_default.store(dtype, std::memory_order_relaxed);
}

DType real_type_of(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  return dtype == DType::complex128 ? DType::float64 : dtype;
}

DType complex_type_of(DType dtype) {
  const bool needs_double = dtype == DType::float64 || dtype == DType::complex128;
  return needs_double ? DType::complex128 : DType::complex64;
}

}  // namespace ebb
