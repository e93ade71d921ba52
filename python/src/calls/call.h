// python/src/calls/call.h -- a call as CPython makes it.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

struct Call {
  PyObject* self;  // null for a function
  PyObject* const* args;
  Py_ssize_t count;
  PyObject* names;  // keywords, or null
};

}  // namespace ebb::python
