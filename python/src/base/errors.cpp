// python/src/base/errors.cpp -- makes the exception classes and translates C++ exceptions to them.
#include "python/src/base/errors.h"

#include <exception>
#include <new>

#include "ebb/autograd/checkpoint/checkpoint_frame.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/linalg_error.h"
#include "python/src/base/python_error.h"

namespace ebb::python {
namespace {

struct ClassRow {
  PyObject* ErrorClasses::*member;
  const char* name;
  PyObject** standard;
  const char* doc;
};

const ClassRow kRows[] = {
    {&ErrorClasses::shape, "ShapeError", &PyExc_ValueError,
     "Shapes that do not fit."
     "\n\nExample:\n"
     "    >>> try:\n"
     "    ...     ebb.ones(2, 3) @ ebb.ones(2, 3)\n"
     "    ... except ebb.ShapeError:\n"
     "    ...     print(\"inner sizes must agree\")\n"
     "    inner sizes must agree\n"},
    {&ErrorClasses::value, "ValueError", &PyExc_ValueError,
     "A bad value of any other kind."
     "\n\nExample:\n"
     "    >>> try:\n"
     "    ...     ebb.ones(2).item()\n"
     "    ... except ebb.errors.ValueError:\n"
     "    ...     print(\"needs one element\")\n"
     "    needs one element\n"},
    {&ErrorClasses::dtype, "DTypeError", &PyExc_TypeError,
     "A bad dtype or kind of argument."
     "\n\nExample:\n"
     "    >>> try:\n"
     "    ...     ebb.ones(2) & 1\n"
     "    ... except ebb.DTypeError:\n"
     "    ...     print(\"needs integers\")\n"
     "    needs integers\n"},
    {&ErrorClasses::index, "IndexError", &PyExc_IndexError,
     "An index or dim out of range."
     "\n\nExample:\n"
     "    >>> try:\n"
     "    ...     ebb.ones(2)[2]\n"
     "    ... except ebb.errors.IndexError:\n"
     "    ...     print(\"needs -2 to 1\")\n"
     "    needs -2 to 1\n"},
    {&ErrorClasses::autograd, "AutogradError", nullptr,
     "No history, a freed graph, or a value changed since it was saved."
     "\n\nExample:\n"
     "    >>> try:\n"
     "    ...     ebb.ones(1).backward()\n"
     "    ... except ebb.AutogradError as error:\n"
     "    ...     print(\"no history\")\n"
     "    no history\n"},
    {&ErrorClasses::non_finite, "NonFiniteError", &PyExc_FloatingPointError,
     "NaN or an infinity where the values are checked."
     "\n\nExample:\n"
     "    >>> x = ebb.tensor([0.0], requires_grad=True)\n"
     "    >>> with ebb.autograd.detect_anomaly():\n"
     "    ...     try:\n"
     "    ...         x.sqrt().sum().backward()\n"
     "    ...     except ebb.NonFiniteError:\n"
     "    ...         print(\"its slope at 0 is infinite\")\n"
     "    its slope at 0 is infinite\n"},
    {&ErrorClasses::not_implemented, "NotImplementedError", &PyExc_NotImplementedError,
     "A missing kernel or derivative."
     "\n\nExample:\n"
     "    >>> issubclass(ebb.errors.NotImplementedError, ebb.Error)\n"
     "    True\n"},
    {&ErrorClasses::out_of_memory, "OutOfMemoryError", &PyExc_MemoryError,
     "Memory ran out; tells bytes asked for, live and peak."
     "\n\nExample:\n"
     "    >>> try:\n"
     "    ...     ebb.empty(2**44, dtype=ebb.float64)\n"
     "    ... except ebb.OutOfMemoryError:\n"
     "    ...     print(\"too large\")\n"
     "    too large\n"},
    {&ErrorClasses::io, "IoError", &PyExc_OSError,
     "A file that cannot be read or written."
     "\n\nExample:\n"
     "    >>> try:\n"
     "    ...     ebb.load(\"absent.safetensors\")\n"
     "    ... except ebb.IoError:\n"
     "    ...     print(\"no such file\")\n"
     "    no such file\n"},
    {&ErrorClasses::device, "DeviceError", nullptr,
     "A call that a device failed to carry out."
     "\n\nExample:\n"
     "    >>> issubclass(ebb.DeviceError, ebb.Error)\n"
     "    True\n"},
    {&ErrorClasses::internal, "InternalError", nullptr,
     "A bug of ebb itself; please report it."
     "\n\nExample:\n"
     "    >>> issubclass(ebb.InternalError, RuntimeError)\n"
     "    True\n"},
};

constexpr const char* kBaseDoc =
    "Base of every exception that ebb raises."
    "\n\nExample:\n"
    "    >>> try:\n"
    "    ...     ebb.ones(2) + ebb.ones(3)\n"
    "    ... except ebb.Error as error:\n"
    "    ...     print(type(error).__name__)\n"
    "    ShapeError\n";

constexpr const char* kLinalgDoc =
    "Matrices that a function of ebb.linalg cannot work on."
    "\n\nExample:\n"
    "    >>> try:\n"
    "    ...     ebb.linalg.inv(ebb.zeros(2, 2))\n"
    "    ... except ebb.linalg.LinAlgError:\n"
    "    ...     print(\"singular\")\n"
    "    singular\n";

/// ebb.linalg.LinAlgError.
PyObject* linalg_error = nullptr;

PyObject* make_class(const ClassRow& row) {
  const std::string name = std::string("ebb.errors.") + row.name;
  Ref bases(row.standard == nullptr ? PyTuple_Pack(1, error_classes.base)
                                    : PyTuple_Pack(2, *row.standard, error_classes.base));
  return checked(PyErr_NewExceptionWithDoc(name.c_str(), row.doc, bases.get(), nullptr));
}

void set_error(PyObject* error_class, const char* text) { PyErr_SetString(error_class, text); }

}  // namespace

ErrorClasses error_classes;

void add_error_classes(PyObject* module) {
  error_classes.base =
      checked(PyErr_NewExceptionWithDoc("ebb.errors.Error", kBaseDoc, PyExc_RuntimeError, nullptr));
  check_status(PyModule_AddObjectRef(module, "Error", error_classes.base));
  for (const ClassRow& row : kRows) {
    PyObject* const made = make_class(row);
    error_classes.*row.member = made;
    check_status(PyModule_AddObjectRef(module, row.name, made));
  }
  linalg_error = checked(PyErr_NewExceptionWithDoc("ebb.errors.LinAlgError", kLinalgDoc,
                                                   error_classes.value, nullptr));
  check_status(PyModule_AddObjectRef(module, "LinAlgError", linalg_error));
  // Derives from BaseException: no `except Exception` of the function must catch it.
  PyObject* const stop = checked(PyErr_NewExceptionWithDoc(
      "ebb.utils.checkpoint.StopRecomputation",
      "Ends a recomputation that has all it needs. Let it pass.", PyExc_BaseException, nullptr));
  error_classes.stop_recomputation = stop;
  check_status(PyModule_AddObjectRef(module, "_StopRecomputation", stop));
}

PyObject* translate_exception() noexcept {
  try {
    throw;
  } catch (const ErrorSet&) {
    if (PyErr_Occurred() == nullptr) {
      set_error(error_classes.internal, "bindings: an error was announced but not set");
    }
  } catch (const PythonError& error) {
    error.restore();
  } catch (const autograd::StopRecomputation&) {
    PyErr_SetNone(error_classes.stop_recomputation);
  } catch (const ShapeError& error) {
    set_error(error_classes.shape, error.what());
  } catch (const LinAlgError& error) {
    set_error(linalg_error, error.what());
  } catch (const ValueError& error) {
    set_error(error_classes.value, error.what());
  } catch (const DTypeError& error) {
    set_error(error_classes.dtype, error.what());
  } catch (const IndexError& error) {
    set_error(error_classes.index, error.what());
  } catch (const AutogradError& error) {
    set_error(error_classes.autograd, error.what());
  } catch (const NonFiniteError& error) {
    set_error(error_classes.non_finite, error.what());
  } catch (const NotImplementedError& error) {
    set_error(error_classes.not_implemented, error.what());
  } catch (const OutOfMemoryError& error) {
    set_error(error_classes.out_of_memory, error.what());
  } catch (const IoError& error) {
    set_error(error_classes.io, error.what());
  } catch (const DeviceError& error) {
    set_error(error_classes.device, error.what());
  } catch (const Error& error) {
    set_error(error_classes.internal, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    set_error(error_classes.internal, error.what());
  } catch (...) {
    set_error(error_classes.internal, "bindings: an exception of unknown type");
  }
  return nullptr;
}

std::string type_name(PyObject* object) {
  return object == nullptr ? "nothing" : Py_TYPE(object)->tp_name;
}

}  // namespace ebb::python
