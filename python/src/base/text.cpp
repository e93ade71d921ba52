// python/src/base/text.cpp -- see text.h.
#include "python/src/base/text.h"

#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"

namespace ebb::python {

std::string_view utf8_of(PyObject* text) {
  Py_ssize_t bytes = 0;
  const char* const characters = PyUnicode_AsUTF8AndSize(text, &bytes);
  if (characters == nullptr) throw ErrorSet();
  return {characters, static_cast<size_t>(bytes)};
}

std::string label_of(PyObject* text, std::string fallback) {
  if (text == nullptr || PyUnicode_Check(text) == 0) return fallback;
  Py_ssize_t bytes = 0;
  const char* const characters = PyUnicode_AsUTF8AndSize(text, &bytes);
  if (characters == nullptr) PyErr_Clear();
  return characters == nullptr ? fallback : std::string(characters, static_cast<size_t>(bytes));
}

PyObject* text_object(std::string_view text) {
  return checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::string repr_of(PyObject* object) {
  const Ref text(PyObject_Repr(object));
  return std::string(utf8_of(text.get()));
}

std::string path_of(const char* op, PyObject* object) {
  PyObject* const spelled = PyOS_FSPath(object);
  if (spelled == nullptr) {
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    if (PyObject_HasAttrString(type, "__fspath__") != 0) throw ErrorSet();
    PyErr_Clear();
    throw DTypeError(
        str(op, ": needs a path as str, bytes or os.PathLike, got ", type_name(object)));
  }
  const Ref owner(spelled);
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(spelled, &bytes) == 0) {
    const bool has_no_code = PyErr_ExceptionMatches(PyExc_UnicodeError) != 0;
    PyErr_Clear();
    throw ValueError(str(op, ": needs a path ", has_no_code ? "that can be encoded" : "without NUL",
                         ", got ", repr_of(spelled)));
  }
  const Ref encoded(bytes);
  if (PyBytes_GET_SIZE(bytes) == 0) throw ValueError(str(op, ": needs a path, got ''"));
  return {PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

}  // namespace ebb::python
