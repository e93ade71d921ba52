// python/src/default_dtype.h -- the floating dtype of new tensors whose dtype nobody gave.
//
// It concerns creation only; what an op makes of its operands is fixed by promotion.
#pragma once

#include <optional>

#include "ebb/core/dtype.h"
#include "python/src/py.h"

namespace ebb::python {

/// float32 until ebb.set_default_dtype() says otherwise.
DType default_dtype();
/// `dtype` is a floating one.
void set_default_dtype(DType dtype);

/// The dtype asked for, else the default one.
inline DType or_default(std::optional<DType> asked) { return asked.value_or(default_dtype()); }

/// Adds get_default_dtype() and set_default_dtype() to `module`. Throws ErrorSet.
void add_default_dtype(PyObject* module);

}  // namespace ebb::python
