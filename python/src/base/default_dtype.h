// python/src/base/default_dtype.h -- Python's names for the default dtype (ebb/core/base/dtype.h).
#pragma once

#include <optional>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/scalar.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// The dtype asked for, else the default one.
inline DType or_default(std::optional<DType> asked) { return asked.value_or(default_dtype()); }

/// The dtype that a Python number stands for.
DType dtype_of_number(const Scalar& number);

/// Adds get_default_dtype() and set_default_dtype() to `module`. Throws ErrorSet.
void add_default_dtype(PyObject* module);

}  // namespace ebb::python
