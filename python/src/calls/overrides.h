// python/src/calls/overrides.h -- classes that take part in ebb's functions: __ebb_function__.
//
// PyTorch's name of it, __torch_function__, counts too. The protocol itself is Python
// (python/ebb/overrides.py). Here is how calls get there: where
// arguments are bound and one is no plain tensor, its class is looked at; if it has the protocol,
// CallsOverride is thrown and the op's function hands the whole call over. Tensors of the exact
// class, and of subclasses while no class has the protocol, cost nothing.
#pragma once

#include "python/src/base/tensor_object.h"
#include "python/src/calls/call.h"

namespace ebb::python {

/// Thrown while arguments are bound: one of them has the protocol. Not for users.
struct CallsOverride {};

/// Whether the class of any object has the protocol, and it is not switched off on this thread.
bool has_override(PyObject* object);
/// The same of an object, or of an element of a list or tuple.
bool holds_override(PyObject* object);
/// Whether the class of any argument, or of an element of a list or tuple, asks under PyTorch's
/// name, so that functions written in Python hand their calls over as they are.
bool asks_by_second_name(PyObject* const* args, Py_ssize_t count);
/// Throws CallsOverride if an argument has the protocol, or an element of a list or tuple.
void look_for_overrides(const Call& call);
/// For the length of a call of an op by another of its names: classes are asked about that.
class CalledAs {
 public:
  CalledAs(const char* own, const char* name) : before_(now_) { now_ = {own, name}; }
  ~CalledAs() { now_ = before_; }
  CalledAs(const CalledAs&) = delete;
  CalledAs& operator=(const CalledAs&) = delete;
  /// The name by which `own` was called.
  static const char* name_of(const char* own);

 private:
  struct Names {
    const char* own;
    const char* name;
  };
  static thread_local constinit Names now_;
  Names before_;
};

/// Makes the call of function or method `name` by the protocol. Throws ErrorSet.
PyObject* call_override(const char* name, const Call& call);

namespace detail {
extern bool overrides_exist;  // some subclass of Tensor has the protocol
}

/// A tensor that is not to be handed over.
inline bool is_plain_tensor(PyObject* object) {
  return is_exact_tensor(object) || (PyType_IsSubtype(Py_TYPE(object), tensor_type) != 0 &&
                                     !(detail::overrides_exist && has_override(object)));
}

/// Adds what python/ebb/overrides.py needs to `module`. Throws ErrorSet.
void add_overrides(PyObject* module);

}  // namespace ebb::python
