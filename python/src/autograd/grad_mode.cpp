// python/src/autograd/grad_mode.cpp -- context managers and decorators for grad mode and inference
// mode.
//
// One C type serves all four: an object holds the mode bits to set and to clear, and what to put
// back, one bit of each kind for each time that it was entered and not left. One spare object is
// kept per type, so that `with no_grad():` allocates nothing.
#include "python/src/autograd/grad_mode.h"

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/core/base/error.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"

namespace ebb::python {
namespace {

/// The bits that an object of some type changes.
struct ModeChange {
  uint32_t set;
  uint32_t clear;
};
constexpr ModeChange change_grad(bool enables) {
  return enables ? ModeChange{0, gate::kNoGrad} : ModeChange{gate::kNoGrad, 0};
}
/// Inference mode is without recording; leaving it by inference_mode(False) turns recording on.
constexpr ModeChange change_inference(bool enables) {
  constexpr uint32_t kBoth = gate::kInference | gate::kNoGrad;
  return enables ? ModeChange{kBoth, 0} : ModeChange{0, kBoth};
}

struct ModeObject {
  PyObject_HEAD uint64_t saved_no_grad;  // bit 0: the mode before the innermost enter
  uint64_t saved_inference;
  ModeChange change;
  uint8_t depth;
  bool is_put_back;  // what set_grad_enabled() did when it was made
};
constexpr uint8_t kMaxDepth = 64;

struct ModeType {
  PyTypeObject* type = nullptr;
  ModeObject* spare = nullptr;
};
ModeType no_grad_type, enable_grad_type, set_grad_type, inference_type;

ModeType* entry_of(PyTypeObject* type) {
  if (type == no_grad_type.type) return &no_grad_type;
  if (type == enable_grad_type.type) return &enable_grad_type;
  if (type == inference_type.type) return &inference_type;
  return type == set_grad_type.type ? &set_grad_type : nullptr;
}

void note_modes(ModeObject* mode) {
  const uint32_t modes = thread_state.modes;
  mode->saved_no_grad = (mode->saved_no_grad << 1) | ((modes & gate::kNoGrad) != 0 ? 1u : 0u);
  mode->saved_inference =
      (mode->saved_inference << 1) | ((modes & gate::kInference) != 0 ? 1u : 0u);
}

void put_back_modes(ModeObject* mode) {
  uint32_t modes = thread_state.modes & ~(gate::kNoGrad | gate::kInference);
  if ((mode->saved_no_grad & 1u) != 0) modes |= gate::kNoGrad;
  if ((mode->saved_inference & 1u) != 0) modes |= gate::kInference;
  thread_state.modes = modes;
  mode->saved_no_grad >>= 1;
  mode->saved_inference >>= 1;
}

void apply_change(const ModeChange& change) {
  thread_state.modes = (thread_state.modes & ~change.clear) | change.set;
}

PyObject* make_mode(PyTypeObject* type, ModeChange change) {
  ModeType* const entry = entry_of(type);
  ModeObject* object = nullptr;
  if (entry != nullptr && entry->spare != nullptr) {
    object = std::exchange(entry->spare, nullptr);
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(object), 1);
  } else {
    object = reinterpret_cast<ModeObject*>(type->tp_alloc(type, 0));
    if (object == nullptr) return nullptr;
  }
  object->saved_no_grad = 0;
  object->saved_inference = 0;
  object->depth = 0;
  object->change = change;
  object->is_put_back = false;
  return reinterpret_cast<PyObject*>(object);
}

void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  ModeType* const entry = entry_of(type);
  if (entry != nullptr && entry->spare == nullptr) {
    entry->spare = reinterpret_cast<ModeObject*>(self);  // keeps its reference to the type
    return;
  }
  free_object(self);
}

PyObject* enter(PyObject* self, PyObject*) {
  auto* const mode = reinterpret_cast<ModeObject*>(self);
  if (mode->depth == kMaxDepth) {
    PyErr_SetString(error_classes.value, "no_grad: one object can be entered 64 times, got more");
    return nullptr;
  }
  note_modes(mode);
  ++mode->depth;
  apply_change(mode->change);
  Py_RETURN_NONE;
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  auto* const mode = reinterpret_cast<ModeObject*>(self);
  if (mode->depth == 0) {
    PyErr_SetString(error_classes.value, "no_grad: needs to be entered before it is left");
    return nullptr;
  }
  put_back_modes(mode);
  --mode->depth;
  Py_RETURN_NONE;
}

/// As a decorator; the wrapper is written in Python (ebb/autograd/_decorate.py).
PyObject* decorate(PyObject* self, PyObject* function) {
  return guarded([&] {
    const Ref module(PyImport_ImportModule("ebb.autograd._decorate"));
    const bool is_inference = Py_TYPE(self) == inference_type.type;
    const bool enables = is_inference == (reinterpret_cast<ModeObject*>(self)->change.set != 0);
    const Ref mode(
        PyObject_GetAttrString(module.get(), is_inference ? "inference_mode" : "set_grad_enabled"));
    return checked(PyObject_CallMethod(module.get(), "run_in_mode", "OOOO", mode.get(),
                                       enables ? Py_True : Py_False, function,
                                       reinterpret_cast<PyObject*>(Py_TYPE(self))));
  });
}
PyObject* call_mode(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* function = nullptr;
  static const char* names[] = {"func", nullptr};
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &function) == 0) {
    return nullptr;
  }
  auto* const mode = reinterpret_cast<ModeObject*>(self);
  // As a decorator, set_grad_enabled(mode) must not leave the mode that it set when it was made.
  const bool acted_at_once = Py_TYPE(self) == set_grad_type.type && mode->depth == 0;
  if (acted_at_once && !mode->is_put_back) put_back_modes(mode);
  mode->is_put_back = true;
  return decorate(self, function);
}

PyObject* make_or_decorate(PyTypeObject* type, ModeChange change, PyObject* function) {
  PyObject* const mode = make_mode(type, change);
  if (mode == nullptr || function == nullptr) return mode;
  PyObject* const decorated = decorate(mode, function);
  Py_DECREF(mode);
  return decorated;
}

/// no_grad() makes a context manager, no_grad(function) decorates.
PyObject* make_fixed(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  auto* const wanted = reinterpret_cast<PyTypeObject*>(type);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  const bool has_keywords = names != nullptr && PyTuple_GET_SIZE(names) > 0;
  if (count > 1 || has_keywords || (count == 1 && PyCallable_Check(args[0]) == 0)) {
    PyErr_Format(error_classes.dtype, "%s(): needs no argument, or the function to decorate",
                 wanted->tp_name);
    return nullptr;
  }
  return make_or_decorate(wanted, change_grad(wanted == enable_grad_type.type),
                          count == 0 ? nullptr : args[0]);
}

/// inference_mode(mode=True), or inference_mode(function).
PyObject* make_inference(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  auto* const wanted = reinterpret_cast<PyTypeObject*>(type);
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  const Py_ssize_t count = PyVectorcall_NARGS(flags) + keywords;
  const bool knows_name =
      keywords == 0 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "mode") == 0;
  PyObject* const given = count == 0 ? Py_True : args[0];
  if (count > 1 || !knows_name || (PyBool_Check(given) == 0 && PyCallable_Check(given) == 0)) {
    PyErr_SetString(error_classes.dtype,
                    "inference_mode(): needs a bool 'mode', or the function to decorate");
    return nullptr;
  }
  const bool is_function = PyBool_Check(given) == 0;
  return make_or_decorate(wanted, change_inference(is_function || given == Py_True),
                          is_function ? given : nullptr);
}

/// set_grad_enabled(mode) acts at once; as a context manager it puts the old mode back.
PyObject* make_set(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  if (PyVectorcall_NARGS(flags) + keywords != 1) {
    PyErr_SetString(error_classes.dtype, "set_grad_enabled(): needs one argument 'mode'");
    return nullptr;
  }
  const int truth = PyObject_IsTrue(args[0]);
  if (truth < 0) {
    name_pending_error("set_grad_enabled");
    return nullptr;
  }
  PyObject* const object =
      make_mode(reinterpret_cast<PyTypeObject*>(type), change_grad(truth == 1));
  if (object == nullptr) return nullptr;
  auto* const mode = reinterpret_cast<ModeObject*>(object);
  note_modes(mode);
  apply_change(mode->change);
  return object;
}

/// The old mode was noted when the object was made.
PyObject* enter_set(PyObject* self, PyObject* none) {
  auto* const mode = reinterpret_cast<ModeObject*>(self);
  if (mode->depth > 0 || mode->is_put_back) return enter(self, none);
  mode->depth = 1;
  mode->is_put_back = true;  // the next block notes the modes that it finds
  apply_change(mode->change);
  Py_RETURN_NONE;
}

PyObject* query(PyObject*, PyObject*) { return PyBool_FromLong(is_grad_enabled()); }
PyObject* query_inference(PyObject*, PyObject*) {
  return PyBool_FromLong(is_inference_mode_enabled());
}

PyMethodDef kFixedMethods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", as_method(leave), METH_FASTCALL, nullptr},
    {},
};
PyMethodDef kSetMethods[] = {
    {"__enter__", enter_set, METH_NOARGS, nullptr},
    {"__exit__", as_method(leave), METH_FASTCALL, nullptr},
    {},
};
PyMethodDef kFunctions[] = {
    {"is_grad_enabled", query, METH_NOARGS,
     "is_grad_enabled($module)\n--\n\nReturn whether this thread records operations."
     "\n\nExample:\n"
     "    >>> with ebb.no_grad():\n"
     "    ...     print(ebb.is_grad_enabled())\n"
     "    False\n"},
    {"is_inference_mode_enabled", query_inference, METH_NOARGS,
     "is_inference_mode_enabled($module)\n--\n\nReturn whether this thread is in inference mode."
     "\n\nExample:\n"
     "    >>> with ebb.inference_mode():\n"
     "    ...     print(ebb.is_inference_mode_enabled())\n"
     "    True\n"},
    {},
};

void add_mode(PyObject* module, ModeType& entry, const char* name, const char* doc,
              vectorcallfunc make, PyMethodDef* methods) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(doc)},
      {Py_tp_dealloc, as_slot(dealloc)},
      {Py_tp_call, as_slot(call_mode)},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  entry.type = add_type(module, {name, sizeof(ModeObject), 0, Py_TPFLAGS_DEFAULT, slots});
  // Calls of the type go here, so that no argument tuple is made.
  entry.type->tp_vectorcall = make;
}

}  // namespace

void add_grad_mode(PyObject* module) {
  add_mode(module, no_grad_type, "ebb.no_grad",
           "no_grad()\n--\n\nContext manager and decorator: nothing inside is recorded.\n\n"
           "Example:\n"
           "    >>> x = ebb.ones(2, requires_grad=True)\n"
           "    >>> with ebb.no_grad():\n"
           "    ...     y = x * 2\n"
           "    >>> y.requires_grad\n"
           "    False\n",
           make_fixed, kFixedMethods);
  add_mode(module, enable_grad_type, "ebb.enable_grad",
           "enable_grad()\n--\n\nContext manager and decorator: recording is on inside.\n\n"
           "Example:\n"
           "    >>> x = ebb.ones(2, requires_grad=True)\n"
           "    >>> with ebb.no_grad(), ebb.enable_grad():\n"
           "    ...     y = x * 2\n"
           "    >>> y.requires_grad\n"
           "    True\n",
           make_fixed, kFixedMethods);
  add_mode(module, set_grad_type, "ebb.set_grad_enabled",
           "set_grad_enabled(mode)\n--\n\n"
           "Turn recording on or off, until further notice or for the length of a block."
           "\n\nExample:\n"
           "    >>> x = ebb.ones(2, requires_grad=True)\n"
           "    >>> with ebb.set_grad_enabled(False):\n"
           "    ...     y = x * 2\n"
           "    >>> y.requires_grad\n"
           "    False\n",
           make_set, kSetMethods);
  add_mode(module, inference_type, "ebb.inference_mode",
           "inference_mode(mode=True)\n--\n\n"
           "Context manager and decorator: nothing inside is recorded, and tensors made inside\n"
           "never take part in a graph. With mode=False, ordinary mode with recording on."
           "\n\nExample:\n"
           "    >>> weight = ebb.ones(2, requires_grad=True)\n"
           "    >>> with ebb.inference_mode():\n"
           "    ...     y = weight * 2\n"
           "    >>> y.requires_grad, y.is_inference()\n"
           "    (False, True)\n",
           make_inference, kFixedMethods);
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
