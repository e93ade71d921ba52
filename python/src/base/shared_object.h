// python/src/base/shared_object.h -- a Python object that C++ shares and any thread may let go of.
#pragma once

#include <memory>

#include "python/src/base/py.h"

namespace ebb::python {

/// Takes over a new reference; the last copy gives it up under the GIL (see deferred.h).
inline std::shared_ptr<PyObject> share_object(PyObject* owned) {
  return {owned, [](PyObject* object) {
            call_with_gil([](void* last) { Py_DECREF(static_cast<PyObject*>(last)); }, object);
          }};
}

}  // namespace ebb::python
