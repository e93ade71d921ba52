// python/src/base/only_argument.h -- the argument of a function that takes one, by place or name.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// The one argument of a fastcall, by place or by `name`. Borrowed. Throws DTypeError.
PyObject* only_argument(const char* function, const char* name, PyObject* const* args,
                        Py_ssize_t count, PyObject* keywords);

}  // namespace ebb::python
