// python/src/tensor/data.h -- Python's data as tensors, and tensors as Python's data.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// A tensor over the memory of a NumPy array, which it keeps alive. Throws DTypeError for an
/// element type that ebb has not, ValueError for memory that it cannot use.
Tensor tensor_from_array(PyObject* array);

/// A new tensor with the values of nested sequences, numbers, an array or a tensor. Without a dtype
/// the values decide. Throws ValueError naming the position where a sequence is ragged.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype);
/// The same on `device`; where none is given, on that of a tensor, else on the default device.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, std::optional<Device> device);
Device device_for(PyObject* data, std::optional<Device> device);

/// The only element as a Python number. Throws ValueError if there is not exactly one.
PyObject* item_of(const Tensor& tensor);
/// Nested lists of Python numbers; a number for a 0-d tensor.
PyObject* list_of(const Tensor& tensor);

/// Whether writes through `x.data` go unseen by what was saved of x, as in PyTorch; under the GIL.
extern bool hides_data_writes;

/// A NumPy array over the tensor's memory. Throws AutogradError for a tensor that requires grad,
/// ValueError for one that is not in the CPU's memory.
PyObject* array_of(PyObject* tensor);

/// Adds tensor(), from_numpy(), as_tensor() ... to `module`. Throws ErrorSet.
void add_tensor_data(PyObject* module);

}  // namespace ebb::python
