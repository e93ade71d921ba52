// python/src/calls/public_function.h -- functions of the package that explain what goes wrong in
// them.
//
// A function written in Python raises whatever its first line that does not like an argument
// raises, such as "'str' object has no attribute 'ndim'". A PublicFunction stands for one such
// function, in all but its type: it passes calls on (20 ns), and only when one fails, and came from
// outside the package, asks Python code (python/ebb/_base/naming.py) for a better error.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _PublicFunction(function, label, is_getter=False) and _set_explainer(explainer) to
/// `module`, where explainer(label, function, args, kwargs, error) returns the error to raise.
/// Throws ErrorSet.
void add_public_function(PyObject* module);

}  // namespace ebb::python
