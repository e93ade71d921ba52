// python/src/calls/call.h -- a call as CPython makes it.
#pragma once

#include <span>

#include "python/src/base/py.h"

namespace ebb::python {

struct Call {
  PyObject* self;  // null for a function
  PyObject* const* args;
  Py_ssize_t count;
  PyObject* names;  // keywords, or null

  Py_ssize_t named() const { return names == nullptr ? 0 : PyTuple_GET_SIZE(names); }
};

/// The keywords of a call and further ones. Throws ErrorSet without memory.
inline Ref names_with(const Call& call, std::span<const char* const> words) {
  const Py_ssize_t named = call.named();
  Ref names(PyTuple_New(named + static_cast<Py_ssize_t>(words.size())));
  for (Py_ssize_t index = 0; index < named; ++index) {
    PyTuple_SET_ITEM(names.get(), index, Py_NewRef(PyTuple_GET_ITEM(call.names, index)));
  }
  for (size_t index = 0; index < words.size(); ++index) {
    PyObject* const word = checked(PyUnicode_InternFromString(words[index]));
    PyTuple_SET_ITEM(names.get(), named + static_cast<Py_ssize_t>(index), word);
  }
  return names;
}

}  // namespace ebb::python
