// python/src/parts/module_parts.cpp -- reading the parts of a module: `module.weight`.
//
// Parts live in three dicts among the attributes, as programs for PyTorch expect: `_parameters`,
// `_buffers` and `_modules`. Python looks for them in `__getattr__` once all else failed, which
// costs as much as a function written in Python. So classes that define neither `__getattr__` nor
// `__getattribute__` of their own get a slot that does the same in one go; all others keep Python's
// own, and are right for that reason.
//
// Three dicts and a class are looked through for a part. Up to 3.11 Python gives each state of a
// dict, and of a class, a number that no other ever has: while those of the module, of its class
// and of the dict with the part are what they were, so is the answer. Start reading at
// get_attribute().
#include "python/src/parts/module_parts.h"

#include <array>

namespace ebb::python {
namespace {

std::array<PyObject*, 3> kinds;  // the names of the dicts, in the order in which they are asked
std::array<PyObject*, 4> table_names;  // of hooks
PyObject* forward_name = nullptr;
PyObject* fallback_name = nullptr;    // __getattr__
PyObject* fallback = nullptr;         // that of modules
PyObject* attribute_name = nullptr;   // __getattribute__
PyObject* usual_attribute = nullptr;  // that of objects

/// An entry of a mapping that need not be a dict, or null; an error may be set.
PyObject* item_of(PyObject* mapping, PyObject* name) {
  if (PyDict_CheckExact(mapping) != 0 || PyODict_CheckExact(mapping) != 0) {
    return Py_XNewRef(PyDict_GetItemWithError(mapping, name));
  }
  const Ref held = Ref::share(mapping);  // what is asked may replace it
  if (PyMapping_Check(mapping) == 0 || PySequence_Contains(mapping, name) <= 0) return nullptr;
  return PyObject_GetItem(mapping, name);
}

/// A number for the state of a dict, 0 if Python has none.
uint64_t state_of(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  return static_cast<void>(dict), 0;
#endif
}

/// One for that of a class, 0 if it has none now.
unsigned state_of_class(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) != 0 ? type->tp_version_tag : 0;
}

/// A dict that was looked through, and its state.
struct Looked {
  PyObject* dict = nullptr;
  uint64_t state = 0;
};

/// What a read of `name` found, and when. Nothing but the name is owned: the attributes, in their
/// state, are or hold the dicts looked through, and the last of these, in its own, the value. A
/// function of the class is held by the class, in its state.
struct Known {
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  uint64_t attributes_state = 0;
  unsigned class_state = 0;
  bool is_method = false;
  std::array<Looked, 3> dicts;  // without those that it ends before

  bool is_of(PyObject* module, PyObject* attributes, PyObject* wanted) const {
    if (name != wanted || attributes_state != state_of(attributes)) return false;
    if (class_state != Py_TYPE(module)->tp_version_tag) return false;
    for (const Looked& one : dicts) {
      if (one.dict == nullptr) return true;
      if (state_of(one.dict) != one.state) return false;
    }
    return true;
  }
};
std::array<Known, 2048> cache;

Known& known_of(PyObject* attributes, PyObject* name) {
  const uint64_t bits = reinterpret_cast<uintptr_t>(name) >> 4;
  return cache[(state_of(attributes) * 31 + bits) % cache.size()];
}

/// What was found if that is still so; null else, and for a method of the class a new bound one.
PyObject* known_value(PyObject* module, PyObject* attributes, PyObject* name) {
  const Known& known = known_of(attributes, name);
  if (!known.is_of(module, attributes, name)) return nullptr;
  return known.is_method ? PyMethod_New(known.value, module) : Py_NewRef(known.value);
}

/// Remembers what a read found where Python numbers states. `dicts` are the dicts of parts that
/// were looked through, none for an attribute or a method.
void remember(PyTypeObject* type, PyObject* attributes, PyObject* name, PyObject* value,
              const std::array<Looked, 3>& dicts, bool is_method) {
  const unsigned class_state = state_of_class(type);
  if (state_of(attributes) == 0 || class_state == 0 || PyUnicode_CheckExact(name) == 0) return;
  Known& known = known_of(attributes, name);
  Py_XSETREF(known.name, Py_NewRef(name));
  known.value = value;
  known.attributes_state = state_of(attributes);
  known.class_state = class_state;
  known.is_method = is_method;
  known.dicts = dicts;
}

/// The part of that name; null without one, an error may be set. It is remembered for a class that
/// has nothing of that name, where the attributes have nothing either.
PyObject* find_part(PyObject* attributes, PyObject* name, PyTypeObject* type) {
  std::array<Looked, 3> dicts;
  bool is_plain = type != nullptr;
  size_t count = 0;
  for (PyObject* const kind : kinds) {
    PyObject* const parts = PyDict_GetItemWithError(attributes, kind);
    if (parts == nullptr) continue;
    is_plain = is_plain && PyDict_CheckExact(parts) != 0;
    if (is_plain) dicts[count++] = {parts, state_of(parts)};
    PyObject* const found = item_of(parts, name);
    if (found != nullptr && is_plain) remember(type, attributes, name, found, dicts, false);
    if (found != nullptr || PyErr_Occurred() != nullptr) return found;
  }
  return nullptr;
}

/// What stands for `name` before properties and the like: an attribute, a part, a method. Null
/// without one, an error may be set.
PyObject* own_or_part(PyObject* module, PyObject* attributes, PyObject* name) {
  PyObject* const known = known_value(module, attributes, name);
  if (known != nullptr) [[likely]]
    return known;
  PyTypeObject* const type = Py_TYPE(module);
  PyObject* const of_class = _PyType_Lookup(type, name);
  const bool is_method = of_class != nullptr && PyFunction_Check(of_class) != 0;
  // A plain value of the class stands behind what the module has, a method behind attributes.
  if (!is_method && of_class != nullptr && Py_TYPE(of_class)->tp_descr_get != nullptr) {
    return nullptr;
  }
  PyObject* const own = PyDict_GetItemWithError(attributes, name);
  if (own == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  if (own == nullptr && !is_method) return find_part(attributes, name, type);
  remember(type, attributes, name, own == nullptr ? of_class : own, {}, own == nullptr);
  return own == nullptr ? PyMethod_New(of_class, module) : Py_NewRef(own);
}

/// After Python found nothing, or a property that asked for something that is not there: a part of
/// that name, as __getattr__ would say. Else the error stays.
PyObject* part_instead(PyObject* attributes, PyObject* name) {
  PyObject *kind = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&kind, &error, &traceback);
  PyObject* const part = find_part(attributes, name, nullptr);
  if (part == nullptr && PyErr_Occurred() == nullptr) {
    PyErr_Restore(kind, error, traceback);
    return nullptr;
  }
  Py_XDECREF(kind);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  return part;
}

/// The slot of modules without a `__getattr__` of their own.
PyObject* get_attribute(PyObject* module, PyObject* name) {
  PyObject* const attributes = attributes_of(module);
  if (attributes == nullptr) return PyObject_GenericGetAttr(module, name);
  PyObject* const found = own_or_part(module, attributes, name);
  if (found != nullptr) [[likely]]
    return found;
  if (PyErr_Occurred() != nullptr) return nullptr;
  PyObject* const usual = PyObject_GenericGetAttr(module, name);
  if (usual != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return usual;
  return part_instead(attributes, name);
}

/// _read_parts_directly(cls): gives a class of modules the quick slot if it means the same.
PyObject* read_directly(PyObject*, PyObject* cls) {
  if (PyType_Check(cls) == 0) {
    PyErr_SetString(PyExc_TypeError, "_read_parts_directly: needs a class");
    return nullptr;
  }
  auto* const type = reinterpret_cast<PyTypeObject*>(cls);
  if (_PyType_Lookup(type, fallback_name) == fallback &&
      _PyType_Lookup(type, attribute_name) == usual_attribute) {
    type->tp_getattro = get_attribute;
    PyType_Modified(type);
  }
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"_read_parts_directly", read_directly, METH_O, nullptr},
    {},
};

}  // namespace

void CallFacts::refresh(PyObject* module, PyObject* attributes) {
  PyTypeObject* const type = Py_TYPE(module);
  for (size_t index = 0; index < tables.size(); ++index) {
    tables[index] = PyDict_GetItemWithError(attributes, table_names[index]);
  }
  PyObject* const found = _PyType_Lookup(type, forward_name);
  const bool is_method = type->tp_getattro == get_attribute && found != nullptr &&
                         PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR) != 0;
  const bool is_own = is_method && PyDict_GetItemWithError(attributes, forward_name) != nullptr;
  if (PyErr_Occurred() != nullptr) throw ErrorSet();
  forward = is_method && !is_own ? found : nullptr;
  attributes_state = state_of(attributes);
  class_state = state_of_class(type);
}

bool CallFacts::are_of(PyObject* module, PyObject* attributes) const {
  return attributes_state != 0 && class_state != 0 && attributes_state == state_of(attributes) &&
         class_state == Py_TYPE(module)->tp_version_tag;
}

PyObject* attributes_of(PyObject* module) {
  PyObject** const place = _PyObject_GetDictPtr(module);
  return place == nullptr ? nullptr : *place;
}

PyObject* get_part(PyObject* module, PyObject* name) {
  PyObject* const attributes = attributes_of(module);
  PyObject* const part = attributes == nullptr ? nullptr : find_part(attributes, name, nullptr);
  if (part == nullptr && PyErr_Occurred() == nullptr) {
    PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%S'",
                 Py_TYPE(module)->tp_name, name);
  }
  return part;
}

void add_module_parts(PyObject* module) {
  const std::array<const char*, 3> names = {"_parameters", "_buffers", "_modules"};
  for (size_t index = 0; index < names.size(); ++index) {
    kinds[index] = checked(PyUnicode_InternFromString(names[index]));
  }
  const std::array<const char*, 4> tables = {"_forward_hooks", "_forward_pre_hooks",
                                             "_backward_hooks", "_backward_pre_hooks"};
  for (size_t index = 0; index < tables.size(); ++index) {
    table_names[index] = checked(PyUnicode_InternFromString(tables[index]));
  }
  forward_name = checked(PyUnicode_InternFromString("forward"));
  fallback_name = checked(PyUnicode_InternFromString("__getattr__"));
  attribute_name = checked(PyUnicode_InternFromString("__getattribute__"));
  const Ref base(PyObject_GetAttrString(module, "_ModuleCall"));
  fallback = Py_XNewRef(
      checked(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(base.get()), fallback_name)));
  usual_attribute = Py_XNewRef(checked(_PyType_Lookup(&PyBaseObject_Type, attribute_name)));
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
