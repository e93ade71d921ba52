// python/src/tensor/number.cpp -- operators of Tensor, and its value as a Python number.
//
// The straight path is two tensors, or a tensor and a Python float or int. Other operands (NumPy's
// numbers and arrays, bool, complex) take the slow path; what is no number gives NotImplemented, so
// that Python asks the other operand's class.
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/bitwise_and.h"
#include "ebb/autograd/ops/bitwise_not.h"
#include "ebb/autograd/ops/bitwise_or.h"
#include "ebb/autograd/ops/bitwise_xor.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/floor_divide.h"
#include "ebb/autograd/ops/ge.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/le.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/pow.h"
#include "ebb/autograd/ops/rdiv.h"
#include "ebb/autograd/ops/remainder.h"
#include "ebb/autograd/ops/rsub.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/core/tensor/tensor_name.h"
#include "python/src/base/numpy_types.h"
#include "python/src/calls/errors.h"
#include "python/src/calls/op_call.h"
#include "python/src/tensor/data.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {
namespace {

/// The methods of Tensor that an operator stands for.
struct Names {
  const char* plain;
  const char* reflected;
  const char* in_place;
};
constexpr Names kMatmulNames{"__matmul__", "__rmatmul__", "__imatmul__"};

/// A tensor whose class has the protocol.
bool is_overriding(PyObject* object) {
  return detail::overrides_exist && is_tensor(object) && has_override(object);
}

/// What an operator does whose other operand is no tensor, array or number: asks its class.
PyObject* ask_class(const char* name, PyObject* self, PyObject* other) {
  if (!has_override(other)) Py_RETURN_NOTIMPLEMENTED;
  return call_override(name, {self, &other, 1, nullptr});
}
PyObject* ask_class(const Names& names, PyObject* lhs, PyObject* rhs) {
  if (is_overriding(lhs)) return call_override(names.plain, {lhs, &rhs, 1, nullptr});
  return is_tensor(lhs) ? ask_class(names.plain, lhs, rhs) : ask_class(names.reflected, rhs, lhs);
}

// One struct per operator: what it does with two tensors, and with a number on either side.
struct Add {
  static constexpr Names names{"__add__", "__radd__", "__iadd__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::add(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::add(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::add(rhs, lhs); }
};
struct Subtract {
  static constexpr Names names{"__sub__", "__rsub__", "__isub__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::sub(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::sub(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::rsub(rhs, lhs); }
};
struct Multiply {
  static constexpr Names names{"__mul__", "__rmul__", "__imul__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::mul(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::mul(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::mul(rhs, lhs); }
};
struct Divide {
  static constexpr Names names{"__truediv__", "__rtruediv__", "__itruediv__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::div(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::div(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::rdiv(rhs, lhs); }
};

struct FloorDivide {
  static constexpr Names names{"__floordiv__", "__rfloordiv__", "__ifloordiv__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::floor_divide(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::floor_divide(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::floor_divide(lhs, rhs); }
};
struct Remainder {
  static constexpr Names names{"__mod__", "__rmod__", "__imod__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::remainder(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::remainder(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::remainder(lhs, rhs); }
};
struct Power {
  static constexpr Names names{"__pow__", "__rpow__", "__ipow__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::pow(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::pow(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::pow(lhs, rhs); }
};
struct And {
  static constexpr Names names{"__and__", "__rand__", "__iand__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::bitwise_and(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::bitwise_and(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::bitwise_and(rhs, lhs); }
};
struct Or {
  static constexpr Names names{"__or__", "__ror__", "__ior__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::bitwise_or(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::bitwise_or(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::bitwise_or(rhs, lhs); }
};
struct Xor {
  static constexpr Names names{"__xor__", "__rxor__", "__ixor__"};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::bitwise_xor(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::bitwise_xor(lhs, rhs); }
  static Tensor left(const Scalar& lhs, const Tensor& rhs) { return ebb::bitwise_xor(rhs, lhs); }
};

struct Greater {
  static constexpr Names names{"__gt__", nullptr, nullptr};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::greater(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::greater(lhs, rhs); }
};
struct Less {
  static constexpr Names names{"__lt__", nullptr, nullptr};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::less(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::less(lhs, rhs); }
};
struct Equal {
  static constexpr Names names{"__eq__", nullptr, nullptr};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::eq(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::eq(lhs, rhs); }
};
struct NotEqual {
  static constexpr Names names{"__ne__", nullptr, nullptr};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::ne(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::ne(lhs, rhs); }
};
struct LessOrEqual {
  static constexpr Names names{"__le__", nullptr, nullptr};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::le(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::le(lhs, rhs); }
};
struct GreaterOrEqual {
  static constexpr Names names{"__ge__", nullptr, nullptr};
  static Tensor both(const Tensor& lhs, const Tensor& rhs) { return ebb::ge(lhs, rhs); }
  static Tensor right(const Tensor& lhs, const Scalar& rhs) { return ebb::ge(lhs, rhs); }
};

/// Python's exact float and small int without a detour. True if `value` was set.
bool read_plain_number(PyObject* object, Scalar& value) {
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
bool read_number(PyObject* object, Scalar& value) {
  if (read_plain_number(object, value)) return true;
  const std::optional<Scalar> number = to_scalar(object);
  if (number) value = *number;
  return number.has_value();
}

template <typename Operator>
PyObject* apply_both(const Tensor& lhs, const Tensor& rhs) {
  return result(run(is_heavy(lhs, rhs), [&] { return Operator::both(lhs, rhs); }));
}
template <typename Operator>
PyObject* apply_right(const Tensor& lhs, const Scalar& rhs) {
  return result(run(is_heavy(lhs), [&] { return Operator::right(lhs, rhs); }));
}

/// An array beside a tensor counts as a tensor.
Tensor operand(PyObject* object) {
  return is_tensor(object) ? tensor_of(object) : tensor_from_array(object);
}
bool is_operand(PyObject* object) { return is_tensor(object) || is_numpy_array(object); }

template <typename Operator>
PyObject* binary_slowly(PyObject* lhs, PyObject* rhs) {
  if (is_plain_tensor(lhs) && is_plain_tensor(rhs))
    return apply_both<Operator>(tensor_of(lhs), tensor_of(rhs));
  if (is_overriding(lhs) || is_overriding(rhs)) return ask_class(Operator::names, lhs, rhs);
  Scalar number;
  if (is_operand(lhs) && is_operand(rhs)) return apply_both<Operator>(operand(lhs), operand(rhs));
  if (is_operand(lhs) && read_number(rhs, number)) {
    return apply_right<Operator>(operand(lhs), number);
  }
  if (is_operand(rhs) && read_number(lhs, number)) {
    const Tensor& right = tensor_of(rhs);
    return result(run(is_heavy(right), [&] { return Operator::left(number, right); }));
  }
  return ask_class(Operator::names, lhs, rhs);
}

template <typename Operator>
PyObject* binary(PyObject* lhs, PyObject* rhs) {
  return guarded([&]() -> PyObject* {
    if (is_exact_tensor(lhs)) {
      if (is_exact_tensor(rhs)) return apply_both<Operator>(tensor_of(lhs), tensor_of(rhs));
      Scalar number;
      if (read_plain_number(rhs, number)) return apply_right<Operator>(tensor_of(lhs), number);
    }
    return binary_slowly<Operator>(lhs, rhs);
  });
}

/// x ** y; with a third operand, pow(x, y, z), there is nothing to do.
PyObject* power(PyObject* lhs, PyObject* rhs, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<Power>(lhs, rhs);
}

template <typename Operator>
PyObject* compared(PyObject* self, PyObject* other) {
  if (is_exact_tensor(other)) return apply_both<Operator>(tensor_of(self), tensor_of(other));
  if (is_overriding(other)) return ask_class(Operator::names.plain, self, other);
  if (is_operand(other)) return apply_both<Operator>(tensor_of(self), operand(other));
  Scalar number;
  if (read_number(other, number)) return apply_right<Operator>(tensor_of(self), number);
  return ask_class(Operator::names.plain, self, other);
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  return guarded([&]() -> PyObject* {
    switch (operation) {
      case Py_EQ: return compared<Equal>(self, other);
      case Py_NE: return compared<NotEqual>(self, other);
      case Py_LT: return compared<Less>(self, other);
      case Py_LE: return compared<LessOrEqual>(self, other);
      case Py_GT: return compared<Greater>(self, other);
      case Py_GE: return compared<GreaterOrEqual>(self, other);
      default: Py_RETURN_NOTIMPLEMENTED;
    }
  });
}

PyObject* matrix_multiply(PyObject* lhs, PyObject* rhs) {
  return guarded([&]() -> PyObject* {
    if (is_plain_tensor(lhs) && is_plain_tensor(rhs)) {
      const Tensor& left = tensor_of(lhs);
      const Tensor& right = tensor_of(rhs);
      return result(run(is_heavy_product(left, right), [&] { return ebb::matmul(left, right); }));
    }
    const bool is_asked = is_overriding(lhs) || is_overriding(rhs);
    if (is_asked || !is_operand(lhs) || !is_operand(rhs)) return ask_class(kMatmulNames, lhs, rhs);
    const Tensor left = operand(lhs);
    const Tensor right = operand(rhs);
    return result(run(is_heavy_product(left, right), [&] { return ebb::matmul(left, right); }));
  });
}

PyObject* negative(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    return result(run(is_heavy(tensor), [&] { return ebb::neg(tensor); }));
  });
}
PyObject* absolute(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    return result(run(is_heavy(tensor), [&] { return ebb::abs(tensor); }));
  });
}
PyObject* inverted(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    return result(run(is_heavy(tensor), [&] { return ebb::bitwise_not(tensor); }));
  });
}
PyObject* positive(PyObject* self) { return Py_NewRef(self); }

// x += y writes x in place, as in PyTorch.
template <typename Operator, const Tensor& (*Both)(const Tensor&, const Tensor&),
          const Tensor& (*Right)(const Tensor&, const Scalar&)>
PyObject* in_place(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = tensor_of(self);
    if (is_operand(other)) {
      if (is_overriding(other)) return ask_class(Operator::names.in_place, self, other);
      const Tensor right = operand(other);
      run(is_heavy(tensor), [&] { Both(tensor, right); });
    } else {
      Scalar number;
      if (!read_number(other, number)) return ask_class(Operator::names.in_place, self, other);
      run(is_heavy(tensor), [&] { Right(tensor, number); });
    }
    return Py_NewRef(self);
  });
}

PyObject* in_place_power(PyObject* self, PyObject* other, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place<Power, ebb::pow_, ebb::pow_>(self, other);
}

int truth(PyObject* self) {
  return guarded(
      [&] {
        const Tensor& tensor = tensor_of(self);
        if (tensor.numel() != 1) {
          throw ValueError(str("bool: the truth of a tensor needs one element, got shape ",
                               describe_shape(tensor)));
        }
        return tensor.item<bool>() ? 1 : 0;
      },
      -1);
}
PyObject* as_float(PyObject* self) {
  return guarded([&] {
    const Ref value(item_of(tensor_of(self)));
    return checked(PyNumber_Float(value.get()));
  });
}
PyObject* as_int(PyObject* self) {
  return guarded([&] {
    const Ref value(item_of(tensor_of(self)));
    return checked(PyNumber_Long(value.get()));
  });
}
PyObject* as_index(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor.numel() != 1 || is_differentiable(tensor.dtype())) {
      throw DTypeError(
          str("index: needs an integer tensor of one element, got ", describe_tensor(tensor)));
    }
    const Ref value(item_of(tensor));
    return checked(PyNumber_Index(value.get()));
  });
}

}  // namespace

void append_number_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot added[] = {
      {Py_nb_add, as_slot(binary<Add>)},
      {Py_nb_subtract, as_slot(binary<Subtract>)},
      {Py_nb_multiply, as_slot(binary<Multiply>)},
      {Py_nb_true_divide, as_slot(binary<Divide>)},
      {Py_nb_matrix_multiply, as_slot(matrix_multiply)},
      {Py_nb_inplace_add, as_slot(in_place<Add, ebb::add_, ebb::add_>)},
      {Py_nb_inplace_subtract, as_slot(in_place<Subtract, ebb::sub_, ebb::sub_>)},
      {Py_nb_inplace_multiply, as_slot(in_place<Multiply, ebb::mul_, ebb::mul_>)},
      {Py_nb_inplace_true_divide, as_slot(in_place<Divide, ebb::div_, ebb::div_>)},
      {Py_nb_floor_divide, as_slot(binary<FloorDivide>)},
      {Py_nb_inplace_floor_divide,
       as_slot(in_place<FloorDivide, ebb::floor_divide_, ebb::floor_divide_>)},
      {Py_nb_remainder, as_slot(binary<Remainder>)},
      {Py_nb_inplace_remainder, as_slot(in_place<Remainder, ebb::remainder_, ebb::remainder_>)},
      {Py_nb_power, as_slot(power)},
      {Py_nb_inplace_power, as_slot(in_place_power)},
      {Py_nb_and, as_slot(binary<And>)},
      {Py_nb_or, as_slot(binary<Or>)},
      {Py_nb_xor, as_slot(binary<Xor>)},
      {Py_nb_inplace_and, as_slot(in_place<And, ebb::bitwise_and_, ebb::bitwise_and_>)},
      {Py_nb_inplace_or, as_slot(in_place<Or, ebb::bitwise_or_, ebb::bitwise_or_>)},
      {Py_nb_inplace_xor, as_slot(in_place<Xor, ebb::bitwise_xor_, ebb::bitwise_xor_>)},
      {Py_nb_invert, as_slot(inverted)},
      {Py_nb_absolute, as_slot(absolute)},
      {Py_nb_negative, as_slot(negative)},
      {Py_nb_positive, as_slot(positive)},
      {Py_nb_bool, as_slot(truth)},
      {Py_nb_float, as_slot(as_float)},
      {Py_nb_int, as_slot(as_int)},
      {Py_nb_index, as_slot(as_index)},
      {Py_tp_richcompare, as_slot(compare)},
  };
  slots.insert(slots.end(), std::begin(added), std::end(added));
}

}  // namespace ebb::python
