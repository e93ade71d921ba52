// python/src/parts/module_call.cpp -- what `module(x)` does: enters the module's scope, runs
// forward().
//
// A module's scope depends on the module and on the scope around it. Finding its name means looking
// through the module that is being called, so it is done once for each such pair; from then on a
// small direct-mapped cache knows the answer, and a table behind it. Both forget a module when it
// dies, since another may get its address. Everything here needs the GIL.
#include "python/src/parts/module_call.h"

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/core/base/scope_path.h"
#include "python/src/base/tensor_object.h"
#include "python/src/parts/module_parts.h"

namespace ebb::python {
namespace {

struct KnownScope {
  PyObject* module = nullptr;
  ScopeId around = 0;
  ScopeId own = 0;
  CallFacts facts;
};
constexpr size_t kCacheSize = 4096;
std::array<KnownScope, kCacheSize> cache;

KnownScope& cached_scope(const PyObject* module) {
  const auto bits = reinterpret_cast<uintptr_t>(module);
  return cache[((bits >> 4) ^ (bits >> 16)) % kCacheSize];
}

/// All that is known of each module. Never destroyed: modules may outlive static storage.
std::unordered_map<PyObject*, std::vector<KnownScope>>& known_scopes() {
  static auto* const scopes = new std::unordered_map<PyObject*, std::vector<KnownScope>>();
  return *scopes;
}

thread_local PyObject* innermost = nullptr;  // the module whose forward() is running

// Functions of ebb.nn, set when it is imported.
PyObject* find_steps = nullptr;
PyObject* call_with_hooks = nullptr;
PyObject* note_paths = nullptr;
PyObject* hooks_of_all = nullptr;  // a tuple of dicts
PyObject* forward_name = nullptr;

/// The scope of a call of `module`, step by step from the one around: each step is a pair of a name
/// and a type. A failure to find names must not fail the call.
ScopeId name_scope(PyObject* module, ScopeId around) {
  const char* const type = Py_TYPE(module)->tp_name;
  if (innermost == nullptr) return intern_scope(around, "", type);
  PyObject* const steps =
      PyObject_CallFunctionObjArgs(find_steps, innermost, module, static_cast<PyObject*>(nullptr));
  ScopeId scope = around;
  for (Py_ssize_t index = 0; steps != nullptr && index < PyList_GET_SIZE(steps); ++index) {
    const char *name = nullptr, *kind = nullptr;
    if (PyArg_ParseTuple(PyList_GET_ITEM(steps, index), "ss", &name, &kind) == 0) break;
    scope = intern_scope(scope, name, kind);
  }
  Py_XDECREF(steps);
  if (PyErr_Occurred() == nullptr) return scope;
  PyErr_Clear();
  return intern_scope(around, type, type);
}

/// Lets messages call the module's parameters by their paths from the outermost module that is
/// being called. Not to know them must not fail the call either.
void name_parameters(PyObject* module, ScopeId own) {
  const std::string path = scope_path(own);
  PyObject* const done = PyObject_CallFunction(note_paths, "Os", module, path.c_str());
  Py_XDECREF(done);
  PyErr_Clear();
}

ScopeId look_up(PyObject* module, ScopeId around) {
  std::vector<KnownScope>& all = known_scopes()[module];
  for (const KnownScope& known : all) {
    if (known.around != around) continue;
    cached_scope(module) = known;
    return known.own;
  }
  const KnownScope found = {module, around, name_scope(module, around), {}};
  name_parameters(module, found.own);
  known_scopes()[module].push_back(found);  // looked up again: Python code ran meanwhile
  cached_scope(module) = found;
  return found.own;
}

ScopeId scope_of(PyObject* module) {
  const ScopeId around = thread_state.scope;
  const KnownScope& known = cached_scope(module);
  if (known.module == module && known.around == around) [[likely]]
    return known.own;
  return look_up(module, around);
}

/// Makes a module the innermost one.
class Entered {
 public:
  explicit Entered(PyObject* module) : outer_(std::exchange(innermost, module)) {}
  ~Entered() { innermost = outer_; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  PyObject* outer_;
};

/// Whether a table may have hooks; of one that is no dict Python code knows.
bool is_filled(PyObject* table) { return PyDict_Check(table) == 0 || PyDict_GET_SIZE(table) != 0; }

/// Whether there are hooks of all modules, or of one that has these tables.
bool has_hooks(const CallFacts& facts) {
  const Py_ssize_t of_all = hooks_of_all == nullptr ? 0 : PyTuple_GET_SIZE(hooks_of_all);
  for (Py_ssize_t index = 0; index < of_all; ++index) {
    if (is_filled(PyTuple_GET_ITEM(hooks_of_all, index))) return true;
  }
  for (PyObject* const table : facts.tables) {
    if (table != nullptr && is_filled(table)) return true;
  }
  return false;
}

/// self.forward(*args, **kwargs). With few arguments no bound method is made of `method`, what the
/// class has for it, if that is known.
PyObject* call_forward(PyObject* self, PyObject* method, PyObject* args, PyObject* kwargs) {
  constexpr Py_ssize_t kFew = 8;
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (method == nullptr || kwargs != nullptr || count > kFew) {
    const Ref forward(PyObject_GetAttr(self, forward_name));
    return PyObject_Call(forward.get(), args, kwargs);
  }
  const Ref held = Ref::share(method);  // the class may get another meanwhile
  PyObject* all[2 + kFew];              // slot 0 is the callee's
  all[1] = self;
  for (Py_ssize_t index = 0; index < count; ++index) all[2 + index] = PyTuple_GET_ITEM(args, index);
  const auto flags = static_cast<size_t>(1 + count) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return PyObject_Vectorcall(method, all + 1, flags, nullptr);
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const ModuleScope scope(scope_of(self));
    const Entered entered(self);
    PyObject* const attributes = attributes_of(self);
    CallFacts& facts = cached_scope(self).facts;  // of this module, since its scope is known
    if (attributes != nullptr && !facts.are_of(self, attributes)) facts.refresh(self, attributes);
    if (has_hooks(facts)) {
      const Ref named(kwargs == nullptr ? PyDict_New() : Py_NewRef(kwargs));
      return PyObject_CallFunctionObjArgs(call_with_hooks, self, args, named.get(),
                                          static_cast<PyObject*>(nullptr));
    }
    return call_forward(self, facts.forward, args, kwargs);
  });
}

void dealloc(PyObject* self) {
  KnownScope& known = cached_scope(self);
  if (known.module == self) known = {};
  known_scopes().erase(self);
  free_object(self);
}

/// _set_module_functions(find_steps, call_with_hooks, note_paths, hooks_of_all)
PyObject* set_functions(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4 || PyTuple_CheckExact(args[3]) == 0) {
    PyErr_SetString(PyExc_TypeError, "_set_module_functions: needs three functions and a tuple");
    return nullptr;
  }
  Py_XSETREF(find_steps, Py_NewRef(args[0]));
  Py_XSETREF(call_with_hooks, Py_NewRef(args[1]));
  Py_XSETREF(note_paths, Py_NewRef(args[2]));
  Py_XSETREF(hooks_of_all, Py_NewRef(args[3]));
  Py_RETURN_NONE;
}

/// _set_module_path(tensor, path)
PyObject* set_module_path(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* tensor = nullptr;
    const char* path = nullptr;
    if (PyArg_ParseTuple(args, "O!s", tensor_type, &tensor, &path) == 0) return nullptr;
    autograd::set_module_path(tensor_of(tensor), path);
    Py_RETURN_NONE;
  });
}

PyMethodDef kFunctions[] = {
    {"_set_module_path", set_module_path, METH_VARARGS, nullptr},
    {"_set_module_functions", as_method(set_functions), METH_FASTCALL, nullptr},
    {},
};

PyMethodDef kMethods[] = {
    {"__getattr__", get_part, METH_O, "Return a parameter, buffer or submodule by its name."},
    {},
};

}  // namespace

void add_module_call(PyObject* module) {
  forward_name = checked(PyUnicode_InternFromString("forward"));
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("What calling a module does.")},
      {Py_tp_dealloc, as_slot(dealloc)},
      {Py_tp_call, as_slot(call)},
      {Py_tp_methods, kMethods},
      {0, nullptr},
  };
  PyType_Spec spec = {"ebb._C._ModuleCall", sizeof(PyObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const Ref type(PyType_FromSpec(&spec));
  check_status(PyModule_AddObjectRef(module, "_ModuleCall", type.get()));
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
