// python/src/base/only_argument.h -- the argument of a function that takes one, by place or name.
#pragma once

#include <algorithm>

#include "python/src/base/error_names.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// The one argument of a fastcall, by place or by `name`. Borrowed. Throws DTypeError.
PyObject* only_argument(const char* function, const char* name, PyObject* const* args,
                        Py_ssize_t count, PyObject* keywords);

/// A name that a template takes.
template <size_t size>
struct FixedName {
  char text[size];

  constexpr FixedName(const char (&given)[size]) { std::copy_n(given, size, text); }  // NOLINT
};

constexpr int kOnlyArgument = METH_FASTCALL | METH_KEYWORDS;

/// What a method table holds, with kOnlyArgument, for a function of one argument, which callers
/// give by place or by name.
template <PyObject* (*function)(PyObject*, PyObject*), FixedName name, FixedName argument>
PyCFunction one_argument_method() {
  auto* const call =
      +[](PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) -> PyObject* {
    return guarded_as(name.text, [&] {
      PyObject* const given = only_argument(name.text, argument.text, args, count, names);
      return function(self, given);
    });
  };
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
}

}  // namespace ebb::python
