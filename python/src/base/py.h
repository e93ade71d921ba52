// python/src/base/py.h -- Python.h, and the few helpers that every binding file uses.
//
// Ref owns a reference. A function that has set Python's error indicator throws ErrorSet, and the
// outermost binding function turns every C++ exception into a Python one with guarded(). ReleaseGil
// lets other Python threads run for the length of a scope.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "ebb/core/base/location.h"
#include "python/src/base/deferred.h"

namespace ebb::python {

/// Thrown when Python's error indicator is set already: there is nothing more to say.
struct ErrorSet {};

/// Sets the Python error that belongs to the C++ exception being handled. Returns null.
PyObject* translate_exception() noexcept;

/// Once the interpreter shuts down, Python ends a thread that waits for its lock, as Python code
/// does again and again, by unwinding the thread's stack. C++ does not survive that: destructors
/// would need the lock. Such a thread sleeps instead until the process has ended.
[[noreturn, gnu::cold]] inline void sleep_until_exit() {
  while (true) pause();
}

/// Calls `body`, which waits for the interpreter's lock or runs Python code: see above. Needed
/// right around the call, since the frames in between are unwound first.
template <typename Body>
auto run_unless_exiting(Body&& body) {
  try {
    return body();
  } catch (abi::__forced_unwind&) {
    sleep_until_exit();
  }
}

/// Calls `body`; an exception becomes a Python error, which `amend` may better, and the result
/// `failure`.
template <typename Body, typename Result, typename Amend>
Result guarded(Body&& body, Result failure, Amend&& amend) noexcept {
  try {
    return body();
  } catch (abi::__forced_unwind&) {
    sleep_until_exit();
  } catch (...) {
    translate_exception();
    amend();
    return failure;
  }
}
template <typename Body, typename Result>
Result guarded(Body&& body, Result failure) noexcept {
  return guarded(body, failure, [] {});
}
template <typename Body>
PyObject* guarded(Body&& body) noexcept {
  return guarded(body, static_cast<PyObject*>(nullptr));
}

/// Passes on a new or borrowed reference, or throws if there is none.
inline PyObject* checked(PyObject* object) {
  if (object == nullptr) throw ErrorSet();
  return object;
}
inline void check_status(int status) {
  if (status < 0) throw ErrorSet();
}

/// An owned reference, or nothing.
class Ref {
 public:
  Ref() = default;
  /// Takes over a new reference; throws ErrorSet for null.
  explicit Ref(PyObject* owned) : object_(checked(owned)) {}
  static Ref share(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    Ref ref;
    ref.object_ = borrowed;
    return ref;
  }
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Calls a function of the user's. Null if it raised.
inline PyObject* call_vector(PyObject* function, PyObject* const* arguments, size_t flags) {
  return run_unless_exiting(
      [&] { return PyObject_Vectorcall(function, arguments, flags, nullptr); });
}
template <typename... Arguments>
PyObject* call_function(PyObject* function, Arguments*... arguments) {
  PyObject* all[] = {nullptr, arguments...};  // slot 0 is the callee's
  return call_vector(function, all + 1, sizeof...(arguments) | PY_VECTORCALL_ARGUMENTS_OFFSET);
}

/// Other Python threads run during this scope. What is recorded in it carries the location that
/// Python has now, since the interpreter's frames must not be read without the lock.
class ReleaseGil {
 public:
  ReleaseGil() : location_(current_location(nullptr)), thread_(PyEval_SaveThread()) {}
  ~ReleaseGil() {
    run_unless_exiting([this] { PyEval_RestoreThread(thread_); });
    run_deferred();
  }
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  LocationScope location_;
  PyThreadState* thread_;
};

/// Forgets which Python thread state belongs to this thread (location.cpp).
void forget_thread_state() noexcept;

/// Holds the interpreter's lock for the length of a scope, on any thread.
class AcquireGil {
 public:
  AcquireGil() : state_(run_unless_exiting([] { return PyGILState_Ensure(); })) {}
  ~AcquireGil() {
    forget_thread_state();  // the next line may free it
    PyGILState_Release(state_);
  }
  AcquireGil(const AcquireGil&) = delete;
  AcquireGil& operator=(const AcquireGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// A slot or method table wants a pointer of another type than the function has.
template <typename Function>
void* as_slot(Function function) {
  return reinterpret_cast<void*>(function);
}
template <typename Function>
PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

/// What a dealloc slot ends with: objects of a heap type hold it.
inline void free_object(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
/// Makes a type and enters it into `module`, under its name behind the last dot.
inline PyTypeObject* add_type(PyObject* module, PyType_Spec spec) {
  PyObject* const type = checked(PyType_FromSpec(&spec));
  check_status(PyModule_AddObjectRef(module, std::strrchr(spec.name, '.') + 1, type));
  return reinterpret_cast<PyTypeObject*>(type);
}

template <auto function>
struct GuardedMethod;
template <typename... Args, PyObject* (*function)(Args...)>
struct GuardedMethod<function> {
  static PyObject* call(Args... args) noexcept {
    return guarded([&] { return function(args...); });
  }
};
/// `function` for a method table: it may throw, guarded() is around it.
template <auto function>
PyCFunction guarded_method() {
  return as_method(&GuardedMethod<function>::call);
}

}  // namespace ebb::python
