// python/src/tensor_index.cpp -- x[...] and x[...] = y for ints, slices, None and Ellipsis.
//
// A key becomes a box (start, step and count for each dim) and the shape of the result, which is
// all that the op index_box needs: one view, one node. Indexing by tensors is not basic indexing;
// the error names the ops that do it.
#include "ebb/autograd/ops.h"
#include "python/src/errors.h"
#include "python/src/numpy_types.h"
#include "python/src/op_call.h"
#include "python/src/tensor_data.h"
#include "python/src/tensor_slots.h"

namespace ebb::python {
namespace {

/// A key, taken apart. Arrays hold `dims` values, `shape` the result's `result_dims`.
struct Box {
  int64_t start[kMaxDims];
  int64_t step[kMaxDims];
  int64_t size[kMaxDims];
  int64_t shape[2 * kMaxDims];
  size_t dims = 0;
  size_t result_dims = 0;

  IntSpan starts() const { return {start, dims}; }
  IntSpan steps() const { return {step, dims}; }
  IntSpan sizes() const { return {size, dims}; }
  IntSpan result_shape() const { return {shape, result_dims}; }
};

void take_all(Box& box, const TensorImpl& impl) {
  const int64_t size = impl.sizes()[box.dims];
  box.start[box.dims] = 0;
  box.step[box.dims] = 1;
  box.size[box.dims] = size;
  box.shape[box.result_dims++] = size;
  ++box.dims;
}

void take_one(Box& box, const TensorImpl& impl, int64_t index) {
  const int64_t size = impl.sizes()[box.dims];
  if (index < -size || index >= size) {
    throw IndexError(str("index: needs ", -size, " to ", size - 1, " for dim ", box.dims, ", got ",
                         index, " for shape ", PrintShape{impl.shape()}));
  }
  box.start[box.dims] = index < 0 ? index + size : index;
  box.step[box.dims] = 1;
  box.size[box.dims] = 1;
  ++box.dims;
}

void take_slice(Box& box, const TensorImpl& impl, PyObject* slice) {
  Py_ssize_t start = 0;
  Py_ssize_t stop = 0;
  Py_ssize_t step = 0;
  check_status(PySlice_Unpack(slice, &start, &stop, &step));
  if (step < 1) throw ValueError(str("index: needs a step of at least 1, got ", step));
  const Py_ssize_t count = PySlice_AdjustIndices(impl.sizes()[box.dims], &start, &stop, step);
  box.start[box.dims] = start;
  box.step[box.dims] = step;
  box.size[box.dims] = count;
  box.shape[box.result_dims++] = count;
  ++box.dims;
}

bool is_advanced(PyObject* item) {
  if (PyBool_Check(item) || PyList_Check(item) || is_numpy_array(item)) return true;
  return is_tensor(item) &&
         (tensor_of(item).ndim() > 0 || tensor_of(item).dtype() == DType::boolean);
}

[[noreturn]] void throw_bad_item(PyObject* item) {
  if (is_advanced(item)) {
    throw NotImplementedError(str("index: needs ints, slices, None or Ellipsis, got ",
                                  type_name(item),
                                  "\nhint: use gather, index_select or where for index tensors"));
  }
  throw DTypeError(str("index: needs ints, slices, None or Ellipsis, got ", type_name(item)));
}

void take_item(Box& box, const TensorImpl& impl, PyObject* item) {
  if (PyLong_CheckExact(item)) return take_one(box, impl, to_int64(item));
  if (PySlice_Check(item)) return take_slice(box, impl, item);
  if (is_advanced(item) || PyIndex_Check(item) == 0) throw_bad_item(item);
  take_one(box, impl, to_int64(item));
}

/// How many dims of the tensor the items of a key use up.
int count_used_dims(PyObject* key, Py_ssize_t count) {
  int used = 0;
  int ellipses = 0;
  for (Py_ssize_t position = 0; position < count; ++position) {
    PyObject* const item = PyTuple_GET_ITEM(key, position);
    if (item == Py_Ellipsis) {
      ++ellipses;
    } else if (item != Py_None) {
      ++used;
    }
  }
  if (ellipses > 1) throw IndexError("index: needs at most one Ellipsis, got several");
  return used;
}

void check_used_dims(int used, const TensorImpl& impl) {
  if (used > impl.ndim) {
    throw IndexError(str("index: needs at most ", int{impl.ndim}, " indices, got ", used,
                         " for shape ", PrintShape{impl.shape()}));
  }
}

void add_new_dim(Box& box) {
  if (box.result_dims >= kMaxDims) {
    throw IndexError(str("index: needs a result of at most ", kMaxDims, " dims, got more"));
  }
  box.shape[box.result_dims++] = 1;
}

void take_tuple(Box& box, const TensorImpl& impl, PyObject* key) {
  const Py_ssize_t count = PyTuple_GET_SIZE(key);
  const int used = count_used_dims(key, count);
  check_used_dims(used, impl);
  for (Py_ssize_t position = 0; position < count; ++position) {
    PyObject* const item = PyTuple_GET_ITEM(key, position);
    if (item == Py_None) {
      add_new_dim(box);
    } else if (item == Py_Ellipsis) {
      for (int skipped = impl.ndim - used; skipped > 0; --skipped) take_all(box, impl);
    } else {
      take_item(box, impl, item);
    }
  }
}

void take_key(Box& box, const TensorImpl& impl, PyObject* key) {
  if (PyTuple_Check(key)) {
    take_tuple(box, impl, key);
  } else if (key == Py_None) {
    add_new_dim(box);
  } else if (key != Py_Ellipsis) {
    check_used_dims(1, impl);
    take_item(box, impl, key);
  }
  while (box.dims < impl.ndim) take_all(box, impl);
}

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    Box box;
    take_key(box, *tensor.impl(), key);
    return wrap(ebb::index_box(tensor, box.starts(), box.steps(), box.sizes(), box.result_shape()));
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
  number->store_as(target.dtype(), one.data_ptr(), "index");
  return one;
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(
      [&] {
        if (value == nullptr) throw DTypeError("index: elements of a tensor cannot be deleted");
        const Tensor& tensor = tensor_of(self);
        Box box;
        take_key(box, *tensor.impl(), key);
        const Tensor source = assigned_value(value, tensor);
        run(is_heavy(source), [&] {
          ebb::index_box_put_(tensor, source, box.starts(), box.steps(), box.sizes(),
                              box.result_shape());
        });
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
