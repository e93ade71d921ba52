// python/src/base/numpy_types.h -- recognises NumPy's objects without importing NumPy.
//
// As long as nobody has imported NumPy there can be none of its objects, so the types are looked up
// in sys.modules when they are first needed.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// np.ndarray or a subclass.
bool is_numpy_array(PyObject* object);
/// np.float32(1.0) and the like.
bool is_numpy_scalar(PyObject* object);
bool is_numpy_bool(PyObject* object);

/// The module, imported if need be. Borrowed. Throws ErrorSet.
PyObject* numpy_module();

}  // namespace ebb::python
