// ebb/autograd/history/operators.h -- arithmetic operators of Tensor, recorded like the ops they
// stand for.
//
// They are inline: the location of a recorded op is that of the expression.
#pragma once

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/bitwise_and.h"
#include "ebb/autograd/ops/bitwise_not.h"
#include "ebb/autograd/ops/bitwise_or.h"
#include "ebb/autograd/ops/bitwise_xor.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/ge.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/le.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/rdiv.h"
#include "ebb/autograd/ops/remainder.h"
#include "ebb/autograd/ops/rsub.h"
#include "ebb/autograd/ops/sub.h"

namespace ebb {

inline Tensor operator+(const Tensor& input, const Tensor& other) { return add(input, other); }
inline Tensor operator+(const Tensor& input, const Scalar& other) { return add(input, other); }
inline Tensor operator+(const Scalar& input, const Tensor& other) { return add(other, input); }
inline Tensor operator-(const Tensor& input, const Tensor& other) { return sub(input, other); }
inline Tensor operator-(const Tensor& input, const Scalar& other) { return sub(input, other); }
inline Tensor operator-(const Scalar& input, const Tensor& other) { return rsub(other, input); }
inline Tensor operator*(const Tensor& input, const Tensor& other) { return mul(input, other); }
inline Tensor operator*(const Tensor& input, const Scalar& other) { return mul(input, other); }
inline Tensor operator*(const Scalar& input, const Tensor& other) { return mul(other, input); }
inline Tensor operator/(const Tensor& input, const Tensor& other) { return div(input, other); }
inline Tensor operator/(const Tensor& input, const Scalar& other) { return div(input, other); }
inline Tensor operator/(const Scalar& input, const Tensor& other) { return rdiv(other, input); }
inline Tensor operator%(const Tensor& input, const Tensor& other) {
  return remainder(input, other);
}
inline Tensor operator%(const Tensor& input, const Scalar& other) {
  return remainder(input, other);
}
inline Tensor operator-(const Tensor& input) { return neg(input); }

inline const Tensor& operator+=(const Tensor& self, const Tensor& other) {
  return add_(self, other);
}
inline const Tensor& operator+=(const Tensor& self, const Scalar& other) {
  return add_(self, other);
}
inline const Tensor& operator-=(const Tensor& self, const Tensor& other) {
  return sub_(self, other);
}
inline const Tensor& operator-=(const Tensor& self, const Scalar& other) {
  return sub_(self, other);
}
inline const Tensor& operator*=(const Tensor& self, const Tensor& other) {
  return mul_(self, other);
}
inline const Tensor& operator*=(const Tensor& self, const Scalar& other) {
  return mul_(self, other);
}
inline const Tensor& operator/=(const Tensor& self, const Tensor& other) {
  return div_(self, other);
}
inline const Tensor& operator/=(const Tensor& self, const Scalar& other) {
  return div_(self, other);
}

inline Tensor operator>(const Tensor& input, const Tensor& other) { return greater(input, other); }
inline Tensor operator>(const Tensor& input, const Scalar& other) { return greater(input, other); }
inline Tensor operator<(const Tensor& input, const Tensor& other) { return less(input, other); }
inline Tensor operator<(const Tensor& input, const Scalar& other) { return less(input, other); }

inline Tensor operator>=(const Tensor& input, const Tensor& other) { return ge(input, other); }
inline Tensor operator>=(const Tensor& input, const Scalar& other) { return ge(input, other); }
inline Tensor operator<=(const Tensor& input, const Tensor& other) { return le(input, other); }
inline Tensor operator<=(const Tensor& input, const Scalar& other) { return le(input, other); }

inline Tensor operator&(const Tensor& input, const Tensor& other) {
  return bitwise_and(input, other);
}
inline Tensor operator|(const Tensor& input, const Tensor& other) {
  return bitwise_or(input, other);
}
inline Tensor operator^(const Tensor& input, const Tensor& other) {
  return bitwise_xor(input, other);
}
inline Tensor operator~(const Tensor& input) { return bitwise_not(input); }

}  // namespace ebb
