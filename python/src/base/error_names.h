// python/src/base/error_names.h -- errors that name what the user called, whoever inside of it
// raised them.
//
// An op may be made of others, or be called by another of its names: the error then speaks of a
// function that the user never called. Its text is put right on the way out, once an error is
// there, so that calls that succeed pay nothing.
#pragma once

#include "ebb/core/runtime/profile.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// Makes the pending error one that names the function `name`. One that Python code of the user's
/// raised stays as it is, and so does one about NaN, which names the op that made it.
void name_pending_error(const char* name) noexcept;

/// Does so only with a plain error of Python's, which becomes one of ebb's.
void name_plain_error(const char* name) noexcept;

/// Makes the pending error, if it is one of ebb's, an AttributeError too, so that hasattr() and
/// getattr() with a default work.
void make_attribute_error() noexcept;

/// Like guarded(), and the error names `name`, as does the range in a profile.
template <typename Body>
PyObject* guarded_as(const char* name, Body&& body) noexcept {
  const BindingRange range(name);
  return guarded(body, static_cast<PyObject*>(nullptr), [name] { name_pending_error(name); });
}
/// Like guarded(), for what reading an attribute calls.
template <typename Body>
PyObject* guarded_attribute(Body&& body) noexcept {
  return guarded(body, static_cast<PyObject*>(nullptr), make_attribute_error);
}

/// Adds _attribute_error(error), which does the same for Python code, to `module`. Throws ErrorSet.
void add_error_names(PyObject* module);

/// Passes on what a function returned under another name of it.
inline PyObject* renamed(const char* name, PyObject* made) noexcept {
  if (made == nullptr) [[unlikely]]
    name_pending_error(name);
  return made;
}

}  // namespace ebb::python
