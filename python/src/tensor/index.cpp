// python/src/tensor/index.cpp -- x[...] and x[...] = y, len(), iteration.
//
// A key of ints, slices, None and Ellipsis is a box of the tensor (index_key.h), read and written
// by one op each. Where tensors, arrays, lists or bools are among them, the box is a view that is
// then indexed by tensors.
#include "ebb/autograd/ops/index.h"

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/index_box.h"
#include "ebb/autograd/ops/index_box_put_.h"
#include "ebb/autograd/ops/index_dims_put_.h"
#include "ebb/autograd/ops/index_put_.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/core/base/number_range.h"
#include "python/src/base/errors.h"
#include "python/src/base/numpy_types.h"
#include "python/src/calls/op_call.h"
#include "python/src/calls/overrides.h"
#include "python/src/tensor/data.h"
#include "python/src/tensor/index_key.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {
namespace {

Tensor boxed(const Tensor& tensor, const Box& box) {
  return ebb::index_box(tensor, box.starts(), box.steps(), box.sizes(), box.result_shape());
}

Tensor select_advanced(const Tensor& tensor, const AdvancedKey& key) {
  return ebb::index(key.is_whole ? tensor : boxed(tensor, key.box), key.indices);
}

/// x[key] for a key with tensors. Apart, so that x[0] does not pay for its stack.
[[gnu::noinline]] PyObject* get_advanced(const Tensor& tensor, PyObject* key) {
  const AdvancedKey advanced(tensor, key);
  if (advanced.is_basic()) return wrap(boxed(tensor, advanced.box));
  return wrap(run(
      is_heavy(tensor), [&](const Tensor& held) { return select_advanced(held, advanced); },
      tensor));
}

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (is_advanced_key(key)) [[unlikely]] {
      if (detail::overrides_exist && holds_override(key)) {
        return call_override("__getitem__", {self, &key, 1, nullptr});
      }
      return get_advanced(tensor, key);
    }
    Box box;
    take_key(box, *tensor.impl(), key);
    return wrap(boxed(tensor, box));
  });
}

/// The value of an assignment as a tensor: a number takes the tensor's own dtype.
Tensor assigned_value(PyObject* value, const Tensor& target) {
  if (is_tensor(value)) return tensor_of(value);
  if (is_numpy_array(value)) return tensor_from_array(value);
  const std::optional<Scalar> number = to_scalar(value);
  if (!number) {
    throw DTypeError(str("index: the value must be Tensor or number, got ", type_name(value)));
  }
  Tensor one = empty({}, target.dtype());
  number->store_as(target.dtype(), one.host_data(), "index");
  warn_of_range("index", *number, target.dtype());
  return one;
}

/// Writes where a key with tensors points.
void assign_advanced(const Tensor& tensor, const AdvancedKey& key, const Tensor& value) {
  if (key.is_whole) {
    ebb::index_put_(tensor, key.indices, value);
    return;
  }
  const bool has_tangent = ((tensor.gate_bits() | value.gate_bits()) & gate::kTangent) != 0;
  if (!has_tangent) {
    ebb::index_put_(boxed(tensor, key.box), key.indices, value);
    return;
  }
  // A tangent written to a view reaches the base only if that has one: so the same places of the
  // tensor itself are written.
  Tensor places;
  {
    const NoGradGuard guard;
    const Tensor numbers =
        ebb::reshape(ebb::arange(tensor.numel(), DType::int64, tensor.device()), tensor.sizes());
    places = select_advanced(numbers, key);
  }
  Shape dims;
  for (int dim = 0; dim < tensor.ndim(); ++dim) dims.push_back(dim);
  ebb::index_dims_put_(tensor, value, dims, places);
}

/// x[box] = value, as one op on x. If elements of x share memory, they change with the box's: then
/// it is a write to the view that the box is, which may have one element for each place.
void assign_box(const Tensor& tensor, const Box& box, const Tensor& value) {
  if (!tensor.is_contiguous() && has_internal_overlap(tensor)) [[unlikely]] {
    ebb::copy_(boxed(tensor, box), value);
    return;
  }
  ebb::index_box_put_(tensor, value, box.starts(), box.steps(), box.sizes(), box.result_shape());
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(
      [&] {
        if (value == nullptr) throw DTypeError("index: elements of a tensor cannot be deleted");
        const Tensor& tensor = tensor_of(self);
        if (detail::overrides_exist && (holds_override(value) || holds_override(key))) {
          PyObject* const both[] = {key, value};
          const Ref none(call_override("__setitem__", {self, both, 2, nullptr}));
          return 0;
        }
        if (is_advanced_key(key)) [[unlikely]] {
          const AdvancedKey advanced(tensor, key);
          const Tensor source = ebb::to_device(assigned_value(value, tensor), tensor.device());
          run(
              is_heavy(tensor),
              [&](const Tensor& held) { assign_advanced(held, advanced, source); }, tensor);
          return 0;
        }
        Box box;
        take_key(box, *tensor.impl(), key);
        const Tensor source = assigned_value(value, tensor);
        run(
            is_heavy(source), [&](const Tensor& held) { assign_box(held, box, source); }, tensor);
        return 0;
      },
      -1);
}

Py_ssize_t length(PyObject* self) {
  return guarded(
      [&]() -> Py_ssize_t {
        const Tensor& tensor = tensor_of(self);
        if (tensor.ndim() == 0) throw DTypeError("len: needs at least one dim, got a 0-d tensor");
        return tensor.sizes()[0];
      },
      Py_ssize_t{-1});
}

/// x[index], for iteration and for C code that takes sequences.
PyObject* get_at(PyObject* self, Py_ssize_t index) {
  const Ref key(PyLong_FromSsize_t(index));
  return get_item(self, key.get());
}

PyObject* iterate(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor.ndim() == 0) throw DTypeError("iter: needs at least one dim, got a 0-d tensor");
    return checked(PySeqIter_New(self));
  });
}

int contains(PyObject* self, PyObject* value) {
  return guarded(
      [&] {
        const Tensor& tensor = tensor_of(self);
        const std::optional<Scalar> number = to_scalar(value);
        if (!number && !is_tensor(value)) {
          throw DTypeError(str("in: needs a Tensor or number, got ", type_name(value)));
        }
        const Tensor equal = number ? ebb::eq(tensor, *number) : ebb::eq(tensor, tensor_of(value));
        return ebb::sum(equal).item<int64_t>() > 0 ? 1 : 0;
      },
      -1);
}

}  // namespace

void append_index_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot added[] = {
      {Py_mp_subscript, as_slot(get_item)}, {Py_mp_ass_subscript, as_slot(set_item)},
      {Py_mp_length, as_slot(length)},      {Py_sq_length, as_slot(length)},
      {Py_sq_item, as_slot(get_at)},        {Py_sq_contains, as_slot(contains)},
      {Py_tp_iter, as_slot(iterate)},
  };
  slots.insert(slots.end(), std::begin(added), std::end(added));
}

}  // namespace ebb::python
