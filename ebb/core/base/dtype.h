// ebb/core/base/dtype.h -- element types, their properties, and the one promotion table.
//
// Start reading at DType. visit_dtype() runs a generic lambda with the C++ type of a DType.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "ebb/core/base/export.h"
#include "ebb/core/base/half.h"

namespace ebb {

/// Element type of a tensor. The order groups kinds: bool, unsigned, signed, floating, complex.
enum class DType : uint8_t {
  boolean,
  uint8,
  uint16,
  uint32,
  uint64,
  int8,
  int16,
  int32,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};

inline constexpr int kDTypeCount = 15;

/// What promotion ranks first: the kind of number.
enum class Kind : uint8_t { boolean, integer, floating, complex };

constexpr bool is_floating(DType dtype) {
  return dtype >= DType::float16 && dtype <= DType::float64;
}
constexpr bool is_complex(DType dtype) { return dtype >= DType::complex64; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::uint8 && dtype <= DType::int64; }
constexpr bool is_unsigned(DType dtype) { return dtype >= DType::uint8 && dtype <= DType::uint64; }
constexpr bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }
/// Whether tensors of this type can require a gradient.
constexpr bool is_differentiable(DType dtype) { return dtype >= DType::float16; }

constexpr Kind kind_of(DType dtype) {
  if (is_complex(dtype)) return Kind::complex;
  if (is_floating(dtype)) return Kind::floating;
  return is_integer(dtype) ? Kind::integer : Kind::boolean;
}

namespace detail {
// Out here, because inside the function GCC would build the table on the stack at every call.
inline constexpr uint8_t kItemSizes[kDTypeCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
}  // namespace detail

/// Bytes of one element.
constexpr size_t item_size(DType dtype) { return detail::kItemSizes[static_cast<int>(dtype)]; }

/// The public name, such as "float32" or "bool".
EBB_API std::string_view name_of(DType dtype);
EBB_API std::ostream& operator<<(std::ostream& out, DType dtype);

/// The type that two operands of equal rank of weakness are computed in (PyTorch's table).
EBB_API DType promote(DType lhs, DType rhs);

/// float16 .. float64 for complex64/128 and themselves: the type of a complex number's parts.
EBB_API DType real_type_of(DType dtype);
/// complex64 or complex128, the complex type that holds `dtype` without loss of kind.
EBB_API DType complex_type_of(DType dtype);

/// The floating dtype of new tensors whose dtype nobody gave and of what floating results ops make
/// of integers; float32 until set_default_dtype(), which holds for the whole process and throws
/// DTypeError unless `dtype` is a floating one.
EBB_API DType default_dtype();
EBB_API void set_default_dtype(DType dtype);

/// The C++ type of a DType, and back.
template <typename T>
struct DTypeOf;
#define EBB_DTYPE_OF(Type, name)                \
  template <>                                   \
  struct DTypeOf<Type> {                        \
    static constexpr DType value = DType::name; \
  }
EBB_DTYPE_OF(bool, boolean);
EBB_DTYPE_OF(uint8_t, uint8);
EBB_DTYPE_OF(uint16_t, uint16);
EBB_DTYPE_OF(uint32_t, uint32);
EBB_DTYPE_OF(uint64_t, uint64);
EBB_DTYPE_OF(int8_t, int8);
EBB_DTYPE_OF(int16_t, int16);
EBB_DTYPE_OF(int32_t, int32);
EBB_DTYPE_OF(int64_t, int64);
EBB_DTYPE_OF(Half, float16);
EBB_DTYPE_OF(BFloat16, bfloat16);
EBB_DTYPE_OF(float, float32);
EBB_DTYPE_OF(double, float64);
EBB_DTYPE_OF(std::complex<float>, complex64);
EBB_DTYPE_OF(std::complex<double>, complex128);
#undef EBB_DTYPE_OF
template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

/// A C++ type as a value, to hand to a generic lambda.
template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls `body(TypeTag<T>{})` with the C++ type T of `dtype` and returns its result.
template <typename Body>
decltype(auto) visit_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::boolean: return body(TypeTag<bool>{});
    case DType::uint8: return body(TypeTag<uint8_t>{});
    case DType::uint16: return body(TypeTag<uint16_t>{});
    case DType::uint32: return body(TypeTag<uint32_t>{});
    case DType::uint64: return body(TypeTag<uint64_t>{});
    case DType::int8: return body(TypeTag<int8_t>{});
    case DType::int16: return body(TypeTag<int16_t>{});
    case DType::int32: return body(TypeTag<int32_t>{});
    case DType::int64: return body(TypeTag<int64_t>{});
    case DType::float16: return body(TypeTag<Half>{});
    case DType::bfloat16: return body(TypeTag<BFloat16>{});
    case DType::float32: return body(TypeTag<float>{});
    case DType::float64: return body(TypeTag<double>{});
    case DType::complex64: return body(TypeTag<std::complex<float>>{});
    case DType::complex128: return body(TypeTag<std::complex<double>>{});
  }
  __builtin_unreachable();
}

}  // namespace ebb
