// python/src/base/error_names.cpp -- see error_names.h.
#include "python/src/base/error_names.h"

#include <map>
#include <string>

#include "ebb/core/base/call_name.h"
#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"

namespace ebb::python {
namespace {

bool is_a(PyObject* type, PyObject* wanted) {
  return PyErr_GivenExceptionMatches(type, wanted) != 0;
}

/// The pending error, taken off; puts back what it then holds.
class Pending {
 public:
  Pending() {
    PyErr_Fetch(&type_, &value_, &traceback_);
    PyErr_NormalizeException(&type_, &value_, &traceback_);
  }
  ~Pending() { PyErr_Restore(type_, value_, traceback_); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  PyObject* type() const { return type_; }
  PyObject* value() const { return value_; }
  /// Whether no Python code has seen it yet.
  bool is_fresh() const { return value_ != nullptr && traceback_ == nullptr; }
  std::string text() const {
    PyObject* const text = PyObject_Str(value_);
    Py_ssize_t size = 0;
    const char* const bytes = text == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(text, &size);
    std::string copied = bytes == nullptr ? "" : std::string(bytes, static_cast<size_t>(size));
    Py_XDECREF(text);
    PyErr_Clear();
    return copied;
  }
  /// Makes it an error of another class, with this text.
  void replace(PyObject* error_class, const std::string& text) {
    replace(PyObject_CallFunction(error_class, "s#", text.data(),
                                  static_cast<Py_ssize_t>(text.size())));
  }
  void replace(PyObject* made) {
    if (made == nullptr) return PyErr_Clear();
    PyObject* const type = Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(made)));
    Py_SETREF(type_, type);
    Py_SETREF(value_, made);
  }

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

/// Errors about what was given speak of the caller's arguments: the function that raised them does
/// not matter. Of others, such as a missing kernel, it is told as well.
bool keeps_inner_name(PyObject* type) {
  for (PyObject* const one : {error_classes.not_implemented, error_classes.out_of_memory,
                              error_classes.io, error_classes.device, error_classes.internal}) {
    if (is_a(type, one)) return true;
  }
  return false;
}

/// ebb's class for a plain error of Python's, or null.
PyObject* class_for(PyObject* type) {
  if (type == PyExc_TypeError) return error_classes.dtype;
  if (type == PyExc_ValueError || type == PyExc_OverflowError || type == PyExc_UnicodeEncodeError) {
    return error_classes.value;
  }
  return type == PyExc_IndexError ? error_classes.index : nullptr;
}

/// The class that is `error_class` and AttributeError; made when first needed.
PyObject* attribute_class(PyObject* error_class) {
  static auto* const made = new std::map<PyObject*, PyObject*>();
  PyObject*& found = (*made)[error_class];
  if (found != nullptr) return found;
  const std::string name =
      std::string("ebb.errors.") + reinterpret_cast<PyTypeObject*>(error_class)->tp_name;
  PyObject* const bases = PyTuple_Pack(2, error_class, PyExc_AttributeError);
  if (bases != nullptr) found = PyErr_NewException(name.c_str(), bases, nullptr);
  Py_XDECREF(bases);
  return found;
}

/// An error with the same text that is an AttributeError too: null if `error` needs none.
PyObject* attribute_error_for(PyObject* error) {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(error));
  if (!is_a(type, error_classes.base) || is_a(type, PyExc_AttributeError)) return nullptr;
  PyObject* const both = attribute_class(type);
  PyObject* const text = both == nullptr ? nullptr : PyObject_Str(error);
  PyObject* const made = text == nullptr ? nullptr : PyObject_CallOneArg(both, text);
  Py_XDECREF(text);
  // Python proposes other attributes for one that is missing: this one is there.
  if (made != nullptr && PyObject_SetAttrString(made, "name", Py_None) < 0) PyErr_Clear();
  return made;
}

/// _attribute_error(error)
PyObject* attribute_error(PyObject*, PyObject* error) {
  PyObject* const made = attribute_error_for(error);
  return made != nullptr || PyErr_Occurred() != nullptr ? made : Py_NewRef(error);
}

PyMethodDef kFunctions[] = {
    {"_attribute_error", attribute_error, METH_O, nullptr},
    {},
};

}  // namespace

void name_plain_error(const char* name) noexcept try {
  Pending error;
  if (!error.is_fresh()) return;
  PyObject* const own = class_for(error.type());
  if (own != nullptr) error.replace(own, str(name, "(): ", error.text()));
} catch (...) {
  // No memory for a better text: the error stays as it was.
}

void name_pending_error(const char* name) noexcept try {
  name_plain_error(name);
  Pending error;
  if (!error.is_fresh() || is_a(error.type(), error_classes.non_finite)) return;
  if (!is_a(error.type(), error_classes.base)) return;
  const std::string text = error.text();
  const auto inner = keeps_inner_name(error.type()) ? ebb::detail::InnerName::kept
                                                    : ebb::detail::InnerName::replaced;
  const std::string named = ebb::detail::named_text(name, text, inner);
  if (named != text) error.replace(error.type(), named);
} catch (...) {
  // As above.
}

void make_attribute_error() noexcept try {
  Pending error;
  if (error.is_fresh()) error.replace(attribute_error_for(error.value()));
} catch (...) {
  // As above.
}

void add_error_names(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
