// python/src/tensor/index_key.cpp -- see index_key.h.
#include "python/src/tensor/index_key.h"

#include <algorithm>

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/flatnonzero.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/core/tensor/tensor_name.h"
#include "python/src/base/errors.h"
#include "python/src/base/numpy_types.h"
#include "python/src/calls/op_call.h"
#include "python/src/tensor/data.h"

namespace ebb::python {
namespace {

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
                         index, " for shape ", PrintShape{impl.shape()}, naming_of(impl)));
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

/// Bytes are masks too, as in PyTorch.
bool is_mask_dtype(DType dtype) { return dtype == DType::boolean || dtype == DType::uint8; }

bool is_sequence(PyObject* item) {
  return PyList_Check(item) || PyTuple_Check(item) || PyRange_Check(item);
}

bool is_advanced(PyObject* item) {
  if (PyLong_CheckExact(item) || PySlice_Check(item)) return false;
  if (PyBool_Check(item) || is_sequence(item) || is_numpy_array(item)) return true;
  return is_tensor(item) && (tensor_of(item).ndim() > 0 || is_mask_dtype(tensor_of(item).dtype()));
}

[[noreturn]] void throw_bad_item(PyObject* item) {
  throw DTypeError(
      str("index: needs ints, slices, None, Ellipsis, or tensors of ints or bools, got ",
          type_name(item)));
}

void take_item(Box& box, const TensorImpl& impl, PyObject* item) {
  if (PyLong_CheckExact(item)) return take_one(box, impl, to_int64(item));
  if (PySlice_Check(item)) return take_slice(box, impl, item);
  if (PyIndex_Check(item) == 0) throw_bad_item(item);
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
                         " for shape ", PrintShape{impl.shape()}, naming_of(impl)));
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

}  // namespace

bool detail::has_advanced_item(PyObject* key) {
  if (!PyTuple_Check(key)) return is_advanced(key);
  for (Py_ssize_t position = 0; position < PyTuple_GET_SIZE(key); ++position) {
    if (is_advanced(PyTuple_GET_ITEM(key, position))) return true;
  }
  return false;
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

namespace {

/// One item of an advanced key, after all that may run the user's code.
struct Item {
  PyObject* object;    // None, Ellipsis or a slice; borrowed from the key
  Tensor index;        // else the index: of int64, or a mask
  int64_t number = 0;  // if there is neither
};

/// An index as a tensor: a bool or int64 of any shape.
Tensor to_index(PyObject* object) {
  Tensor index = is_tensor(object)        ? tensor_of(object)
                 : is_numpy_array(object) ? tensor_from_array(object)
                                          : tensor_from_data(object, std::nullopt);
  if (index.dtype() == DType::boolean) return index;
  if (index.dtype() == DType::uint8) return ebb::cast(index, DType::boolean);
  // An empty list has no dtype of its own.
  const bool is_empty_list = is_sequence(object) && index.numel() == 0;
  if (is_differentiable(index.dtype()) && !is_empty_list) {
    throw DTypeError(
        str("index: needs ints, slices, None, Ellipsis, or tensors of ints or bools, got ",
            type_name(object), " of ", index.dtype()));
  }
  return index.dtype() == DType::int64 ? index : ebb::cast(index, DType::int64);
}

Item to_item(PyObject* object) {
  if (object == Py_None || object == Py_Ellipsis || PySlice_Check(object)) return {object, {}};
  if (!is_advanced(object)) {
    if (PyIndex_Check(object) == 0) throw_bad_item(object);
    return {nullptr, {}, to_int64(object)};
  }
  Tensor index = to_index(object);
  const bool is_number = index.ndim() == 0 && index.dtype() != DType::boolean;
  if (is_number) return {nullptr, {}, index.item<int64_t>()};
  return {nullptr, std::move(index)};
}

std::vector<Item> to_items(PyObject* key) {
  if (!PyTuple_Check(key)) return {to_item(key)};
  std::vector<Item> items;
  for (Py_ssize_t position = 0; position < PyTuple_GET_SIZE(key); ++position) {
    items.push_back(to_item(PyTuple_GET_ITEM(key, position)));
  }
  return items;
}

bool is_mask(const Item& item) {
  return item.index.defined() && item.index.dtype() == DType::boolean;
}

/// How many dims of the tensor an item uses up.
int used_by(const Item& item) {
  if (is_mask(item)) return item.index.ndim();
  return item.object == Py_None || item.object == Py_Ellipsis ? 0 : 1;
}

/// A single True or False: a new dim with one element, or with none.
Tensor places_of_truth(const Tensor& truth) {
  return ebb::reshape(ebb::flatnonzero(truth), Shape{-1});
}

}  // namespace

AdvancedKey::AdvancedKey(const Tensor& tensor, PyObject* key) {
  std::vector<Item> items = to_items(key);
  const TensorImpl& impl = *tensor.impl();
  int used = 0;
  int ellipses = 0;
  for (const Item& item : items) {
    used += used_by(item);
    ellipses += item.object == Py_Ellipsis ? 1 : 0;
  }
  if (ellipses > 1) throw IndexError("index: needs at most one Ellipsis, got several");
  check_used_dims(used, impl);
  const auto skip = [&](int dims) {  // dims that no tensor indexes
    for (; dims > 0; --dims) take_all(box, impl);
  };
  for (Item& item : items) {
    // Lists, arrays and tensors of the CPU index tensors of any device.
    if (item.index.defined() && item.index.device() == Device{}) {
      item.index = ebb::to_device(item.index, impl.device);
    }
    const size_t before = box.result_dims;
    bool is_indexed = item.index.defined();
    if (is_indexed && used_by(item) > 0) {
      skip(used_by(item));
      indices.push_back(item.index);
    } else if (is_indexed) {
      add_new_dim(box);
      is_whole = false;
      indices.push_back(places_of_truth(item.index));
    } else if (item.object == Py_None) {
      add_new_dim(box);
      is_whole = false;
    } else if (item.object == Py_Ellipsis) {
      skip(impl.ndim - used);
    } else if (item.object == nullptr) {
      take_one(box, impl, item.number);
      is_whole = false;
    } else {
      const size_t dim = box.dims;
      take_slice(box, impl, item.object);
      is_whole = is_whole && box.size[dim] == impl.sizes()[dim];
    }
    if (!is_indexed) indices.resize(indices.size() + box.result_dims - before);
  }
  skip(impl.ndim - static_cast<int>(box.dims));
}

bool AdvancedKey::is_basic() const {
  return std::none_of(indices.begin(), indices.end(),
                      [](const Tensor& index) { return index.defined(); });
}

}  // namespace ebb::python
