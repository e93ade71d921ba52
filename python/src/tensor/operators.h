// python/src/tensor/operators.h -- what an operator of Tensor does with the operands that Python
// hands it; which op it stands for is generated (python/operators.cpp).
//
// The straight path is two tensors, or a tensor and a Python float or int. Other operands (NumPy's
// numbers and arrays, bool, complex) take the slow path; what is no number gives NotImplemented, so
// that Python asks the other operand's class.
//
// `Operator` has the op of two tensors (both), of a tensor and a number (right), of a number and a
// tensor (left), or of one tensor (alone); write_both and write_right for `x += y`; is_slow.
#pragma once

#include "ebb/core/runtime/profile.h"
#include "python/src/base/errors.h"
#include "python/src/base/numpy_types.h"
#include "python/src/calls/op_call.h"
#include "python/src/tensor/data.h"

namespace ebb::python {

/// The methods of Tensor that an operator stands for.
struct OperatorNames {
  const char* plain;
  const char* reflected;
  const char* in_place;
};

/// A tensor whose class has the protocol.
inline bool is_overriding(PyObject* object) {
  return detail::overrides_exist && is_tensor(object) && has_override(object);
}

/// What an operator does whose other operand is no tensor, array or number: asks its class.
inline PyObject* ask_class(const char* name, PyObject* self, PyObject* other) {
  if (!has_override(other)) Py_RETURN_NOTIMPLEMENTED;
  return call_override(name, {self, &other, 1, nullptr});
}
inline PyObject* ask_class(const OperatorNames& names, PyObject* lhs, PyObject* rhs) {
  if (is_overriding(lhs)) return call_override(names.plain, {lhs, &rhs, 1, nullptr});
  return is_tensor(lhs) ? ask_class(names.plain, lhs, rhs) : ask_class(names.reflected, rhs, lhs);
}

/// Python's exact float and small int without a detour. True if `value` was set.
inline bool read_plain_number(PyObject* object, Scalar& value) {
  if (PyFloat_CheckExact(object)) {
    value = Scalar(PyFloat_AS_DOUBLE(object));
    return true;
  }
  if (!PyLong_CheckExact(object)) return false;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) throw ValueError("number: needs at most 64 bits, got a larger int");
  value = Scalar(static_cast<int64_t>(number));
  return true;
}
inline bool read_number(PyObject* object, Scalar& value) {
  if (read_plain_number(object, value)) return true;
  const std::optional<Scalar> number = to_scalar(object);
  if (number) value = *number;
  return number.has_value();
}

template <typename Operator>
PyObject* apply_both(const Tensor& lhs, const Tensor& rhs) {
  return result(run(
      Operator::is_slow(lhs, rhs),
      [](const Tensor& left, const Tensor& right) { return Operator::both(left, right); }, lhs,
      rhs));
}
template <typename Operator>
PyObject* apply_right(const Tensor& lhs, const Scalar& rhs) {
  return result(run(
      is_heavy(lhs), [&](const Tensor& left) { return Operator::right(left, rhs); }, lhs));
}

/// An array beside a tensor counts as a tensor.
inline Tensor operand(PyObject* object) {
  return is_tensor(object) ? tensor_of(object) : tensor_from_array(object);
}
inline bool is_operand(PyObject* object) { return is_tensor(object) || is_numpy_array(object); }

template <typename Operator>
PyObject* binary_slowly(PyObject* lhs, PyObject* rhs) {
  if (is_plain_tensor(lhs) && is_plain_tensor(rhs))
    return apply_both<Operator>(tensor_of(lhs), tensor_of(rhs));
  if (is_overriding(lhs) || is_overriding(rhs)) return ask_class(Operator::names, lhs, rhs);
  Scalar number;
  if (is_operand(lhs) && is_operand(rhs)) return apply_both<Operator>(operand(lhs), operand(rhs));
  if constexpr (requires { &Operator::right; }) {
    if (is_operand(lhs) && read_number(rhs, number)) {
      return apply_right<Operator>(operand(lhs), number);
    }
  }
  if constexpr (requires { &Operator::left; }) {
    if (is_operand(rhs) && read_number(lhs, number)) {
      const Tensor& right = tensor_of(rhs);
      return result(run(
          is_heavy(right), [&](const Tensor& held) { return Operator::left(number, held); },
          right));
    }
  }
  return ask_class(Operator::names, lhs, rhs);
}

template <typename Operator>
[[gnu::noinline, gnu::cold]] PyObject* binary_in_profile(PyObject* lhs, PyObject* rhs) {
  const BindingRange range(Operator::names.plain);
  return guarded([&] { return binary_slowly<Operator>(lhs, rhs); });
}

template <typename Operator>
PyObject* binary(PyObject* lhs, PyObject* rhs) {
  if (is_profiling()) [[unlikely]]
    return binary_in_profile<Operator>(lhs, rhs);
  return guarded([&]() -> PyObject* {
    if (is_exact_tensor(lhs)) {
      if (is_exact_tensor(rhs)) return apply_both<Operator>(tensor_of(lhs), tensor_of(rhs));
      if constexpr (requires { &Operator::right; }) {
        Scalar number;
        if (read_plain_number(rhs, number)) return apply_right<Operator>(tensor_of(lhs), number);
      }
    }
    return binary_slowly<Operator>(lhs, rhs);
  });
}

/// x ** y; with a third operand, pow(x, y, z), there is nothing to do.
template <typename Operator>
PyObject* power(PyObject* lhs, PyObject* rhs, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<Operator>(lhs, rhs);
}

template <typename Operator>
PyObject* compared(PyObject* self, PyObject* other) {
  const BindingRange range(Operator::names.plain);
  if (is_exact_tensor(other)) return apply_both<Operator>(tensor_of(self), tensor_of(other));
  if (is_overriding(other)) return ask_class(Operator::names.plain, self, other);
  if (is_operand(other)) return apply_both<Operator>(tensor_of(self), operand(other));
  Scalar number;
  if (read_number(other, number)) return apply_right<Operator>(tensor_of(self), number);
  return ask_class(Operator::names.plain, self, other);
}

template <typename Operator>
PyObject* unary(PyObject* self) {
  const BindingRange range(Operator::names.plain);
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    return result(run(
        is_heavy(tensor), [](const Tensor& held) { return Operator::alone(held); }, tensor));
  });
}

// x += y writes x in place, as in PyTorch.
template <typename Operator>
PyObject* write_binary(PyObject* self, PyObject* other) {
  const BindingRange range(Operator::names.in_place);
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = tensor_of(self);
    if (is_operand(other)) {
      if (is_overriding(other)) return ask_class(Operator::names.in_place, self, other);
      const Tensor right = operand(other);
      run(
          is_heavy(tensor), [&](const Tensor& held) { Operator::write_both(held, right); }, tensor);
    } else {
      Scalar number;
      if (!read_number(other, number)) return ask_class(Operator::names.in_place, self, other);
      run(
          is_heavy(tensor), [&](const Tensor& held) { Operator::write_right(held, number); },
          tensor);
    }
    return Py_NewRef(self);
  });
}

template <typename Operator>
PyObject* write_power(PyObject* self, PyObject* other, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return write_binary<Operator>(self, other);
}

}  // namespace ebb::python
