// ebb/autograd/rules/compare.cpp -- isclose, nan_to_num and rounding to decimals, made of
// other ops.
#include <cmath>
#include <limits>

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/math.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/bitwise_and.h"
#include "ebb/autograd/ops/bitwise_or.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/isclose.h"
#include "ebb/autograd/ops/isfinite.h"
#include "ebb/autograd/ops/isnan.h"
#include "ebb/autograd/ops/le.h"
#include "ebb/autograd/ops/masked_fill.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/nan_to_num.h"
#include "ebb/autograd/ops/round.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/view_as_complex.h"
#include "ebb/autograd/ops/view_as_real.h"
#include "ebb/autograd/watch/composite_call.h"

namespace ebb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::float16: return 65504.0;
    case DType::bfloat16: return 0x1.fep127;
    case DType::float32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

void check_tolerance(const char* name, double value) {
  if (!(value >= 0)) throw ValueError(str("isclose: ", name, " must be at least 0, got ", value));
}

/// Integers are compared as float64; half types as float32, which does not round their distance.
Tensor as_wide(const Tensor& tensor) {
  if (!is_differentiable(tensor.dtype())) return cast(tensor, DType::float64);
  return item_size(tensor.dtype()) == 2 ? cast(tensor, DType::float32) : tensor;
}

}  // namespace

Tensor isclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const autograd::CompositeCall call("isclose", __builtin_return_address(0));
  const NoGradGuard guard;
  check_tolerance("rtol", rtol);
  check_tolerance("atol", atol);
  const auto compare = [&](const Tensor& x, const Tensor& y) {
    Tensor close = eq(x, y);
    if (equal_nan) close = bitwise_or(close, bitwise_and(isnan(x), isnan(y)));
    const Tensor lhs = as_wide(x);
    const Tensor rhs = as_wide(y);
    const Tensor distance = abs(sub(lhs, rhs));
    const Tensor allowed = add(mul(abs(rhs), rtol), atol);
    return bitwise_or(close, bitwise_and(isfinite(distance), le(distance, allowed)));
  };
  return autograd::in_blocks(compare, input, other);
}

Tensor nan_to_num(const Tensor& input, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  const autograd::CompositeCall call("nan_to_num", __builtin_return_address(0));
  if (is_complex(input.dtype())) {
    return view_as_complex(nan_to_num(view_as_real(input), nan, posinf, neginf));
  }
  if (!is_floating(input.dtype())) return clone(input);
  const double largest = largest_of(input.dtype());
  const auto replace = [&](const Tensor& x) {
    const Tensor numbers = masked_fill(x, isnan(x), nan);
    const Tensor below = masked_fill(numbers, eq(x, kInfinity), posinf.value_or(largest));
    return masked_fill(below, eq(x, -kInfinity), neginf.value_or(-largest));
  };
  return autograd::in_blocks(replace, input);
}

const Tensor& nan_to_num_(const Tensor& self, double nan, std::optional<double> posinf,
                          std::optional<double> neginf) {
  const autograd::CompositeCall call("nan_to_num_", __builtin_return_address(0));
  if (is_complex(self.dtype())) {
    nan_to_num_(view_as_real(self), nan, posinf, neginf);
    return self;
  }
  if (!is_floating(self.dtype())) return bitwise_or_(self, self);  // a write that changes nothing
  const double largest = largest_of(self.dtype());
  const Tensor is_infinite = eq(self, kInfinity);
  const Tensor is_negative = eq(self, -kInfinity);
  masked_fill_(self, isnan(self), nan);
  masked_fill_(self, is_infinite, posinf.value_or(largest));
  return masked_fill_(self, is_negative, neginf.value_or(-largest));
}

namespace {

double power_of_ten(int64_t decimals) {
  return std::pow(10.0, std::abs(static_cast<double>(decimals)));
}

/// Whether a dtype rounds a number times a power of ten to a half, or has no such number.
bool is_too_narrow(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

}  // namespace

Tensor round(const Tensor& input, int64_t decimals) {
  const autograd::operands::round_decimals call(input);
  const double unit = power_of_ten(decimals);
  const DType dtype = input.dtype();
  const Tensor wide = is_too_narrow(dtype) ? cast(input, DType::float32) : input;
  const Tensor out = decimals < 0 ? mul(round(div(wide, unit)), unit)  //
                                  : div(round(mul(wide, unit)), unit);
  return is_too_narrow(dtype) ? cast(out, dtype) : out;
}

const Tensor& round_(const Tensor& self, int64_t decimals) {
  const autograd::operands::round_decimals_inplace call(self);
  if (is_too_narrow(self.dtype())) return copy_(self, round(self, decimals));
  const double unit = power_of_ten(decimals);
  if (decimals < 0) return mul_(round_(div_(self, unit)), unit);
  return div_(round_(mul_(self, unit)), unit);
}

}  // namespace ebb
