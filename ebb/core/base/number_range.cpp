// ebb/core/base/number_range.cpp -- numbers that become infinite where they are stored.
#include "ebb/core/base/number_range.h"

#include <cmath>

#include "ebb/core/base/error.h"
#include "ebb/core/base/half.h"
#include "ebb/core/base/log.h"

namespace ebb {
namespace {

bool becomes_infinite(double number, DType dtype) {
  if (!std::isfinite(number)) return false;
  const auto narrow = static_cast<float>(number);
  switch (dtype) {
    case DType::float16: return std::isinf(static_cast<float>(Half(narrow)));
    case DType::bfloat16: return std::isinf(static_cast<float>(BFloat16(narrow)));
    case DType::float32:
    case DType::complex64: return std::isinf(narrow);
    default: return false;
  }
}

}  // namespace

bool leaves_range(const Scalar& number, DType dtype) {
  return becomes_infinite(number.to_double(), dtype) ||
         (number.kind() == Kind::complex && becomes_infinite(number.to_complex().imag(), dtype));
}

void warn_of_range(const char* op, const Scalar& number, DType dtype) {
  if (!leaves_range(number, dtype)) return;
  warn(str(op, ": the number ", number, " leaves the range of ", dtype,
           " and is stored as an infinity"));
}

}  // namespace ebb
