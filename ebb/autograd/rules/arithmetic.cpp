// ebb/autograd/rules/arithmetic.cpp -- gradients of powers, maximum and hypot; clamp, addcmul,
// addcdiv and rounded division, which are made of other ops.
#include "ebb/autograd/rules/arithmetic.h"

#include <algorithm>
#include <complex>

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/op_support.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/arithmetic.h"
#include "ebb/autograd/operands/pointwise.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/add_scaled.h"
#include "ebb/autograd/ops/addcdiv.h"
#include "ebb/autograd/ops/addcmul.h"
#include "ebb/autograd/ops/bitwise_and.h"
#include "ebb/autograd/ops/bitwise_or.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/clamp_between.h"
#include "ebb/autograd/ops/clamp_max.h"
#include "ebb/autograd/ops/clamp_min.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/floor_divide.h"
#include "ebb/autograd/ops/fmod.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/ge.h"
#include "ebb/autograd/ops/hypot.h"
#include "ebb/autograd/ops/isinf.h"
#include "ebb/autograd/ops/isnan.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/pow.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/trunc.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/autograd/rules/pointwise.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/broadcast.h"
#include "ebb/ops/check.h"
#include "ebb/ops/prepare.h"

namespace ebb::autograd::rules {
namespace {

Scalar less_one(const Scalar& value) {
  if (value.kind() == Kind::complex) return Scalar(value.to_complex() - 1.0);
  if (value.kind() == Kind::floating) return Scalar(value.to_double() - 1);
  return Scalar(value.to_int() - 1);
}

bool is_zero(const Scalar& value) { return value.to_complex() == std::complex<double>(0); }

/// Where 0 to this power is 0 or 1, whatever small change the power sees.
Tensor is_not_negative(const Tensor& exponent) {
  return is_complex(exponent.dtype()) ? eq(exponent, exponent) : ge(exponent, 0);
}

}  // namespace

Tensor pow_grad_input(const Tensor& grad, const Tensor& input, const Tensor& exponent) {
  // An exponent of 0 masks the power, which may be infinite, but not how the slope changes with it.
  return mul0(grad, conj(mul0(exponent, pow(input, sub(exponent, 1)))));
}

Tensor pow_grad_number(const Tensor& grad, const Tensor& input, const Scalar& exponent) {
  if (is_zero(exponent)) return zeros_like(grad);
  if (exponent == Scalar(2) || exponent == Scalar(2.0)) return mul(mul0(grad, conj(input)), 2);
  return mul0(grad, conj(mul(pow(input, less_one(exponent)), exponent)));
}

Tensor pow_grad_exponent(const Tensor& grad, const Tensor& input, const Tensor& exponent,
                         const Tensor& out) {
  const Tensor is_flat = bitwise_and(eq(input, 0), is_not_negative(exponent));
  // A negative base has a logarithm among the complex numbers, if the power is one.
  const Tensor base = is_complex(out.dtype()) ? cast(input, out.dtype()) : input;
  return mul0(grad, conj(mul0(log(where(is_flat, 1, base)), out)));
}

Tensor pow_grad_number_exponent(const Tensor& grad, const Scalar& input, const Tensor& exponent,
                                const Tensor& out) {
  if (is_zero(input)) {
    // The power is infinite where it is not flat, and so is its product with log(0), which is
    // negative.
    return mul0(grad, conj(where(is_not_negative(exponent), 0, neg(out))));
  }
  const bool is_real = !is_complex(out.dtype());
  const Scalar factor =
      is_real ? Scalar(std::log(input.to_double())) : Scalar(std::log(input.to_complex()));
  return mul0(grad, conj(mul(out, factor)));
}

Tensor larger_share(const Tensor& grad, const Tensor& input, const Tensor& other) {
  const Tensor shared = where(eq(input, other), mul(grad, 0.5), grad);
  return where(less(input, other), 0, shared);
}

Tensor number_share(const Tensor& share, const Tensor& grad, const Tensor& input,
                    const Tensor& other) {
  const Tensor has_none = isnan(input), is_alone = isnan(other);
  const Tensor of_pair = where(has_none, 0, share);
  return where(is_alone, where(has_none, mul(grad, 0.5), grad), of_pair);
}

Tensor hypot_grad(const Tensor& grad, const Tensor& input, const Tensor& out) {
  return mul0(grad, where(eq(out, 0), 0, div(input, out)));
}

Tensor atan2_grad(const Tensor& grad, const Tensor& along, const Tensor& across) {
  const DType dtype = grad.dtype();
  const Tensor x = cast(along, dtype);
  // By lengths: a square would leave the range of the dtype long before. Far out nothing turns.
  const Tensor length = hypot(x, cast(across, dtype));
  const Tensor is_flat = bitwise_or(eq(length, 0), isinf(length));
  const Tensor divisor = where(is_flat, 1, length);
  return mul0(grad, where(is_flat, 0, div(div(x, divisor), divisor)));
}

Scalar product(const Scalar& lhs, const Scalar& rhs) {
  const Kind kind = std::max(lhs.kind(), rhs.kind());
  if (kind == Kind::complex) return Scalar(lhs.to_complex() * rhs.to_complex());
  if (kind == Kind::floating) return Scalar(lhs.to_double() * rhs.to_double());
  int64_t value = 0;
  if (__builtin_mul_overflow(lhs.to_int(), rhs.to_int(), &value)) {
    throw ValueError(
        str("alpha: alpha times the number must fit into 64 bits, got ", lhs, " and ", rhs));
  }
  return Scalar(value);
}

Tensor scaled(const Tensor& term, const Scalar& number, const Tensor& sum) {
  if (number == Scalar(1)) return term;
  if (kind_of(term.dtype()) >= number.kind()) return mul(term, number);
  ops::Promotion together;
  together.add(*term.impl());
  together.add(*sum.impl());
  const DType dtype = together.result();
  return mul(kind_of(dtype) >= number.kind() ? cast(term, dtype) : term, number);
}

Tensor div_grad_number(const Tensor& grad, const Scalar& other) {
  const Scalar divisor = conj_of(other);
  if (!is_zero(divisor)) return div(grad, divisor);
  return where(eq(grad, 0), grad, div(grad, divisor));
}

}  // namespace ebb::autograd::rules

namespace ebb {
namespace {

void check_bounds(bool has_min, bool has_max) {
  if (!has_min && !has_max) throw ValueError("clamp: needs min or max, got neither");
}

/// Refuses now what clamp_max_() would refuse after clamp_min_() has written.
void check_upper_bound(const Tensor& self, const Tensor& max) {
  if (!self.defined()) return;
  ops::check::holds("clamp_", "self", self, "max", max);
  const Shape joined = ops::broadcast_operands("clamp_", {"self", self}, {"max", max});
  if (equal(joined, self.sizes())) return;
  throw ShapeError(
      str("clamp_: 'self' must have the broadcast shape ", joined, ", got ", describe_shape(self)));
}

}  // namespace

Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max) {
  const autograd::CompositeCall call("clamp", __builtin_return_address(0));
  check_bounds(min.defined(), max.defined());
  const Tensor above = min.defined() ? clamp_min(input, min) : input;
  return max.defined() ? clamp_max(above, max) : above;
}

const Tensor& clamp_(const Tensor& self, const Tensor& min, const Tensor& max) {
  const autograd::CompositeCall call("clamp_", __builtin_return_address(0));
  check_bounds(min.defined(), max.defined());
  if (min.defined() && max.defined()) check_upper_bound(self, max);
  if (min.defined()) clamp_min_(self, min);
  return max.defined() ? clamp_max_(self, max) : self;
}

Tensor clamp(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max) {
  const autograd::CompositeCall call("clamp", __builtin_return_address(0));
  check_bounds(min.has_value(), max.has_value());
  if (min && max) return clamp_between(input, *min, *max);
  return min ? clamp_min(input, *min) : clamp_max(input, *max);
}

const Tensor& clamp_(const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max) {
  const autograd::CompositeCall call("clamp_", __builtin_return_address(0));
  check_bounds(min.has_value(), max.has_value());
  if (min && max) return clamp_between_(self, *min, *max);
  return min ? clamp_min_(self, *min) : clamp_max_(self, *max);
}

namespace {

DType joined(const Tensor& lhs, const Tensor& rhs) {
  ops::Promotion together;
  together.add(*lhs.impl());
  together.add(*rhs.impl());
  return together.result();
}

/// Whether the sum of `input` and a number times `other` is one op: a half type would round the
/// product, or not reach it.
bool is_rounded_once(const Tensor& input, const Tensor& other, const Scalar& number) {
  return is_half(joined(input, other)) && is_floating(input.dtype()) &&
         is_floating(other.dtype()) && number.kind() <= Kind::floating && is_strided(input) &&
         is_strided(other) && !(number == Scalar(1));
}

Scalar negative(const Scalar& number) {
  return autograd::rules::product(number, Scalar(int64_t{-1}));
}

}  // namespace

Tensor add(const Tensor& input, const Tensor& other, const Scalar& alpha) {
  const autograd::operands::add_alpha call(input, other);
  if (is_rounded_once(input, other, alpha)) return add_scaled(input, other, alpha);
  return add(input, autograd::rules::scaled(other, alpha, input));
}

const Tensor& add_(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const autograd::operands::add_alpha_inplace call(self, other);
  if (is_rounded_once(self, other, alpha)) return add_scaled_(self, other, alpha);
  return add_(self, autograd::rules::scaled(other, alpha, self));
}

Tensor sub(const Tensor& input, const Tensor& other, const Scalar& alpha) {
  const autograd::operands::sub_alpha call(input, other);
  if (is_rounded_once(input, other, alpha)) return add_scaled(input, other, negative(alpha));
  return sub(input, autograd::rules::scaled(other, alpha, input));
}

const Tensor& sub_(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const autograd::operands::sub_alpha_inplace call(self, other);
  if (is_rounded_once(self, other, alpha)) return add_scaled_(self, other, negative(alpha));
  return sub_(self, autograd::rules::scaled(other, alpha, self));
}

namespace {

/// input + value * term(tensor1, tensor2); half types in float32, so that it is rounded once.
template <typename Term>
Tensor plus_term(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
                 const Scalar& value, const Term& term) {
  const auto sum = [&](const Tensor& x, const Tensor& a, const Tensor& b) {
    return add(x, autograd::rules::scaled(term(a, b), value, x));
  };
  const bool is_alike = input.dtype() == tensor1.dtype() && input.dtype() == tensor2.dtype();
  if (!is_alike || !is_half(input.dtype())) return sum(input, tensor1, tensor2);
  const auto rounded = [&](const Tensor& x, const Tensor& a, const Tensor& b) {
    using autograd::widened;
    return cast(sum(widened(x), widened(a), widened(b)), x.dtype());
  };
  return autograd::in_blocks(rounded, input, tensor1, tensor2);
}

/// The same into `self`.
template <typename Term>
const Tensor& add_term(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value, const Term& term) {
  const bool is_narrow = is_half(self.dtype());
  const auto wide = [&](const Tensor& operand) {
    return is_narrow ? autograd::widened(operand) : operand;
  };
  const Tensor found = term(wide(tensor1), wide(tensor2));
  return add_(self, autograd::rules::scaled(found, value, self));
}

Tensor product_of(const Tensor& lhs, const Tensor& rhs) { return mul(lhs, rhs); }
Tensor quotient_of(const Tensor& lhs, const Tensor& rhs) { return div(lhs, rhs); }

}  // namespace

Tensor addcmul(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  const autograd::operands::addcmul call(input, tensor1, tensor2);
  return plus_term(input, tensor1, tensor2, value, product_of);
}

const Tensor& addcmul_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value) {
  const autograd::operands::addcmul_inplace call(self, tensor1, tensor2);
  return add_term(self, tensor1, tensor2, value, product_of);
}

Tensor addcdiv(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  const autograd::operands::addcdiv call(input, tensor1, tensor2);
  return plus_term(input, tensor1, tensor2, value, quotient_of);
}

const Tensor& addcdiv_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value) {
  const autograd::operands::addcdiv_inplace call(self, tensor1, tensor2);
  return add_term(self, tensor1, tensor2, value, quotient_of);
}

namespace {

void check_rounding(const char* op, std::string_view mode) {
  if (mode == "floor" || mode == "trunc") return;
  throw ValueError(
      str(op, ": rounding_mode must be None, 'floor' or 'trunc', got ", in_quotes(mode)));
}

/// The quotient as rounding_mode says; `other` is a tensor or a number.
template <typename Other>
Tensor rounded_quotient(const Tensor& input, const Other& other,
                        std::optional<std::string_view> mode) {
  if (!mode) return div(input, other);
  check_rounding("div", *mode);
  if (*mode == "floor") return floor_divide(input, other);
  const Tensor rest = fmod(input, other);
  // Without the rest, integers divide exactly.
  if (!is_differentiable(rest.dtype())) return floor_divide(sub(input, rest), other);
  // A quotient rounded to a half type first may have become the next whole number.
  if constexpr (std::is_same_v<Other, Tensor>) {
    const Tensor quotient = div(autograd::widened(input), autograd::widened(other));
    return autograd::narrowed(trunc(quotient), rest.dtype());
  } else {
    return autograd::narrowed(trunc(div(autograd::widened(input), other)), rest.dtype());
  }
}

/// The same over `self`.
template <typename Other>
const Tensor& divide_rounded(const Tensor& self, const Other& other,
                             std::optional<std::string_view> mode) {
  if (!mode) return div_(self, other);
  check_rounding("div_", *mode);
  if (*mode == "floor") return floor_divide_(self, other);
  const bool is_rounded = is_half(self.dtype());
  if (is_differentiable(self.dtype()) && !is_rounded) return trunc_(div_(self, other));
  const Tensor quotient = rounded_quotient(self, other, mode);
  if (is_rounded && !equal(quotient.sizes(), self.sizes())) return div_(self, other);  // an error
  if (is_rounded) return copy_(self, autograd::narrowed(quotient, self.dtype()));
  if (is_differentiable(quotient.dtype())) {
    throw DTypeError(str("div_: result type ", quotient.dtype(),
                         " can't be cast to the type of 'self', ", self.dtype()));
  }
  return copy_(self, quotient);
}

}  // namespace

Tensor div(const Tensor& input, const Tensor& other,
           std::optional<std::string_view> rounding_mode) {
  const autograd::CompositeCall call("div", __builtin_return_address(0));
  return rounded_quotient(input, other, rounding_mode);
}

Tensor div(const Tensor& input, const Scalar& other,
           std::optional<std::string_view> rounding_mode) {
  const autograd::CompositeCall call("div", __builtin_return_address(0));
  return rounded_quotient(input, other, rounding_mode);
}

Tensor div(const Scalar& input, const Tensor& other,
           std::optional<std::string_view> rounding_mode) {
  const autograd::operands::div_ScalarInputMode call(other);
  if (!rounding_mode) return div(input, other);
  // As wide as numbers are: beside a tensor with dims that widens nothing.
  const DType dtype = input.promote_with(other.dtype());
  const DType kept = other.ndim() > 0 ? autograd::widened(dtype) : dtype;
  return rounded_quotient(full(Shape{}, input, kept, other.device()), other, rounding_mode);
}

const Tensor& div_(const Tensor& self, const Tensor& other,
                   std::optional<std::string_view> rounding_mode) {
  const autograd::CompositeCall call("div_", __builtin_return_address(0));
  return divide_rounded(self, other, rounding_mode);
}

const Tensor& div_(const Tensor& self, const Scalar& other,
                   std::optional<std::string_view> rounding_mode) {
  const autograd::CompositeCall call("div_", __builtin_return_address(0));
  return divide_rounded(self, other, rounding_mode);
}

}  // namespace ebb
