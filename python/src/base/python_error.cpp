// python/src/base/python_error.cpp -- see python_error.h.
#include "python/src/base/python_error.h"

namespace ebb::python {

struct PythonError::Exception {
  explicit Exception(PyObject* owned) : value(owned) {}
  Exception(const Exception&) = delete;
  Exception& operator=(const Exception&) = delete;
  ~Exception() {  // perhaps on a thread without the GIL
    call_with_gil([](void* object) { Py_DECREF(static_cast<PyObject*>(object)); }, value);
  }
  PyObject* value;
};

PythonError PythonError::take() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return PythonError(std::make_shared<Exception>(value));
}

void PythonError::restore() const {
  PyObject* const value = exception_->value;
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value))), Py_NewRef(value),
                PyException_GetTraceback(value));
}

void PythonError::add_note(const std::string& text) noexcept {
  const AcquireGil gil;
  PyObject* const done =
      PyObject_CallMethod(exception_->value, "add_note", "s", text.c_str());  // since Python 3.11
  Py_XDECREF(done);
  PyErr_Clear();
}

}  // namespace ebb::python
