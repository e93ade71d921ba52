// python/src/base/default_dtype.cpp -- see default_dtype.h.
#include "python/src/base/default_dtype.h"

#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/value_types.h"

namespace ebb::python {
namespace {

PyObject* get_default(PyObject*, PyObject*) { return Py_NewRef(dtype_object(default_dtype())); }

PyObject* set_default(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject* const wanted = only_argument("set_default_dtype", "d", args, count, names);
  const std::optional<DType> dtype = to_dtype(wanted);
  if (!dtype || !is_floating(*dtype)) {
    throw DTypeError("set_default_dtype: needs a floating dtype, got " +
                     (dtype ? std::string(name_of(*dtype)) : type_name(wanted)));
  }
  set_default_dtype(*dtype);
  return Py_NewRef(Py_None);
}

PyMethodDef kFunctions[] = {
    {"get_default_dtype", get_default, METH_NOARGS,
     "get_default_dtype($module)\n--\n\nReturn the dtype of new floating tensors."
     "\n\nExample:\n"
     "    >>> ebb.get_default_dtype()\n"
     "    ebb.float32\n"},
    {"set_default_dtype", guarded_method<set_default>(), METH_FASTCALL | METH_KEYWORDS,
     "set_default_dtype($module, d)\n--\n\n"
     "Set the dtype of new floating tensors whose dtype nobody gives, and of what floating\n"
     "results operations make of integers."
     "\n\nExample:\n"
     "    >>> ebb.set_default_dtype(ebb.float64)\n"
     "    >>> ebb.zeros(2)\n"
     "    tensor([0., 0.])\n"
     "    >>> ebb.zeros(2).dtype\n"
     "    ebb.float64\n"
     "    >>> ebb.set_default_dtype(ebb.float32)\n"},
    {},
};

}  // namespace

DType dtype_of_number(const Scalar& number) {
  switch (number.kind()) {
    case Kind::boolean: return DType::boolean;
    case Kind::integer: return DType::int64;
    case Kind::floating: return default_dtype();
    case Kind::complex: return complex_type_of(default_dtype());
  }
  __builtin_unreachable();
}

void add_default_dtype(PyObject* module) {
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
