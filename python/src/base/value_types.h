// python/src/base/value_types.h -- the small immutable types: dtype, device and Size.
#pragma once

#include <optional>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/shape.h"
#include "ebb/core/device/device.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// The Python object of a dtype, such as ebb.float32; there is one of each. Borrowed.
PyObject* dtype_object(DType dtype);
/// What a dtype argument means: an ebb dtype, or bool, int, float, complex; nothing if neither.
std::optional<DType> to_dtype(PyObject* object);

PyObject* make_device(Device device);
bool is_device(PyObject* object);
/// A device object or its name. Throws DTypeError or ValueError.
Device to_device(PyObject* object);

/// An ebb.Size, a tuple of ints.
PyObject* make_size(IntSpan sizes);
bool is_size(PyObject* object);
/// A plain tuple of ints.
PyObject* make_int_tuple(IntSpan values);

/// Adds dtype, device, Size and the dtypes themselves to `module`. Throws ErrorSet.
void add_value_types(PyObject* module);

}  // namespace ebb::python
