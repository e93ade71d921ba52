// python/src/autograd/saved_values.cpp -- looks up saved tensors and attributes of nodes by name.
#include "python/src/autograd/saved_values.h"

#include <string>
#include <string_view>
#include <vector>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/autograd/watch/saved_report.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/location.h"
#include "ebb/ops/prepare.h"
#include "python/src/autograd/node_object.h"
#include "python/src/autograd/saved_hooks.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/value_types.h"

namespace ebb::python {
namespace {

using autograd::Node;
using autograd::SavedAttribute;
using autograd::SavedLock;
using autograd::SavedTensor;

/// Finds one saved tensor by name.
class Finder final : public autograd::SavedVisitor {
 public:
  explicit Finder(std::string_view name) : name_(name) {}
  void visit(const char* name, SavedTensor& saved) override {
    if (name != name_) return;
    found = &saved;
    own_name = name;
  }
  SavedTensor* found = nullptr;
  const char* own_name = nullptr;

 private:
  std::string_view name_;
};

/// Finds one attribute by name.
class AttributeFinder final : public autograd::AttributeVisitor {
 public:
  explicit AttributeFinder(std::string_view name) : name_(name) {}
  void visit(const char* name, SavedAttribute value) override {
    if (name == name_) found = std::move(value);
  }
  std::optional<SavedAttribute> found;

 private:
  std::string_view name_;
};

/// The names of everything saved.
class Names final : public autograd::SavedVisitor, public autograd::AttributeVisitor {
 public:
  void visit(const char* name, SavedTensor& /*saved*/) override { tensors.emplace_back(name); }
  void visit(const char* name, SavedAttribute /*value*/) override { attributes.emplace_back(name); }
  std::vector<std::string> tensors, attributes;
};

struct ToObject {
  PyObject* operator()(std::monostate) const { return Py_NewRef(Py_None); }
  PyObject* operator()(bool value) const { return PyBool_FromLong(value); }
  PyObject* operator()(int64_t value) const { return PyLong_FromLongLong(value); }
  PyObject* operator()(double value) const { return PyFloat_FromDouble(value); }
  PyObject* operator()(const std::string& value) const {
    return PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
  }
  PyObject* operator()(const std::vector<int64_t>& value) const { return make_int_tuple(value); }
  PyObject* operator()(DType value) const { return Py_NewRef(dtype_object(value)); }
  PyObject* operator()(Device value) const { return make_device(value); }
  PyObject* operator()(const Scalar& value) const {
    const std::complex<double> number = value.to_complex();
    switch (value.kind()) {
      case Kind::boolean: return PyBool_FromLong(value.to_int() != 0);
      case Kind::integer: return PyLong_FromLongLong(value.to_int());
      case Kind::floating: return PyFloat_FromDouble(value.to_double());
      case Kind::complex: break;
    }
    return PyComplex_FromDoubles(number.real(), number.imag());
  }
};

/// The parameter's name for what PyTorch calls self or result.
std::string_view own_name_of(std::string_view name) {
  if (name == "self") return "input";
  return name == "result" ? "out" : name;
}

[[noreturn]] void throw_freed(const Node& node, const std::string& name) {
  throw AutogradError(str(node.name(), ".saved_", name,
                          ": needs a graph that keeps what it saved, got it after they have "
                          "already been freed\nhint: pass retain_graph=True to backward() or "
                          "grad()"));
}

/// The tensor saved under `name`, or null if the node has no such name. Throws if it was freed.
PyObject* saved_tensor(Node& node, const std::string& name) {
  Tensor value;
  {
    const ReleaseGil unlocked;  // unpack hooks may wait for threads that need it
    SavedLock lock(node);
    Finder finder(name);
    node.visit_saved(finder);
    if (finder.found == nullptr) return nullptr;
    if (node.is_released()) throw_freed(node, name);
    value = finder.found->look(node, finder.own_name, lock);
  }
  return wrap(std::move(value));
}

PyObject* saved_attribute(const Node& node, std::string_view name) {
  AttributeFinder finder(name);
  node.visit_attributes(finder);
  return finder.found ? attribute_object(*finder.found) : nullptr;
}

/// A handle to one saved tensor: the node, counted, and the name.
struct RawObject {
  PyObject_HEAD Node* node;
  const char* name;  // the node's own text
};
PyTypeObject* raw_type = nullptr;

PyObject* raw_handle(Node& node, const std::string& name) {
  Finder finder(name);
  {
    const SavedLock lock(node);
    node.visit_saved(finder);
  }
  if (finder.found == nullptr) return nullptr;
  Ref self(raw_type->tp_alloc(raw_type, 0));
  auto* const raw = reinterpret_cast<RawObject*>(self.get());
  node.retain();
  raw->node = &node;
  raw->name = finder.own_name;
  return self.release();
}

void raw_dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Node* const node = reinterpret_cast<RawObject*>(self)->node;
  type->tp_free(self);
  Py_DECREF(type);
  node->release();
}

PyObject* raw_data(PyObject* self, void*) {
  return guarded_attribute([&] {
    auto* const raw = reinterpret_cast<RawObject*>(self);
    const Ref value(saved_tensor(*raw->node, raw->name));
    return value.get() == Py_None ? Py_NewRef(Py_None) : wrap(detached(tensor_of(value.get())));
  });
}

/// The saved tensor, checked to be one that hooks can be registered on.
SavedTensor& hookable(const RawObject& raw) {
  Node& node = *raw.node;
  const SavedLock lock(node);
  Finder finder(raw.name);
  node.visit_saved(finder);
  const std::string where = str("register_hooks: ", node.name(), "._raw_saved_", raw.name);
  if (node.is_released()) {
    throw AutogradError(where + " must not be freed, got it after it has already been freed");
  }
  if (!finder.found->defined()) throw AutogradError(where + " must hold a tensor, got None");
  if (finder.found->is_packed()) {
    throw AutogradError(where + " can have hooks once, got them after they have already been set");
  }
  return *finder.found;
}

PyObject* raw_register_hooks(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  const auto& raw = *reinterpret_cast<RawObject*>(self);
  if (count != 2 || PyCallable_Check(args[0]) == 0 || PyCallable_Check(args[1]) == 0) {
    throw DTypeError("register_hooks: needs two functions, pack_hook and unpack_hook");
  }
  SavedTensor& saved = hookable(raw);
  const auto frame = std::make_shared<const autograd::HookFrame>(
      autograd::HookFrame{python_hooks(args[0], args[1]), nullptr});
  saved.pack(frame, *raw.node, raw.name);
  autograd::mark_for_caller_thread(*raw.node);
  return Py_NewRef(Py_None);
}

PyMethodDef kRawMethods[] = {
    {"register_hooks", guarded_method<raw_register_hooks>(), METH_FASTCALL,
     "register_hooks($self, pack_hook, unpack_hook, /)\n--\n\n"
     "Pack this one saved tensor now; it is unpacked whenever it is needed."},
    {},
};
PyGetSetDef kRawAttributes[] = {
    {"data", raw_data, nullptr, "The value, without history; None if nothing was saved.", nullptr},
    {},
};

PyObject* describe(const autograd::SavedInfo& info) {
  const Ref shape(make_size(info.shape));
  const Ref device(make_device(info.device));
  return checked(Py_BuildValue("{s:s,s:O,s:O,s:O,s:n,s:I,s:K,s:O}", "name", info.name.c_str(),
                               "shape", shape.get(), "dtype", dtype_object(info.dtype), "device",
                               device.get(), "bytes", static_cast<Py_ssize_t>(info.bytes),
                               "version", info.version, "storage",
                               static_cast<unsigned long long>(info.storage), "packed",
                               info.is_packed ? Py_True : Py_False));
}

/// Adds the node that `root` (a tensor or a node) stands for.
void add_root(std::vector<Node*>& nodes, PyObject* root) {
  if (is_node(root)) return nodes.push_back(&node_of(root));
  if (!is_tensor(root)) {
    throw DTypeError(str("saved_bytes: needs tensors or nodes, got ", type_name(root)));
  }
  const Tensor& tensor = tensor_of(root);
  if (tensor.requires_grad()) nodes.push_back(static_cast<Node*>(tensor.impl()->producer));
}

PyObject* graph_saved_bytes(PyObject*, PyObject* roots) {
  std::vector<Node*> nodes;
  Ref items;  // keeps the roots alive
  if (is_node(roots) || is_tensor(roots)) {
    add_root(nodes, roots);
  } else {
    items = Ref(PySequence_Tuple(roots));
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(items.get()); ++index) {
      add_root(nodes, PyTuple_GET_ITEM(items.get(), index));
    }
  }
  return PyLong_FromSize_t(autograd::saved_bytes(nodes));
}

/// Counts a write that ebb could not see, so that what was saved before it is known to be stale.
PyObject* increment_version(PyObject*, PyObject* object) {
  if (!is_tensor(object)) {
    throw DTypeError(str("increment_version: needs Tensors, got ", type_name(object)));
  }
  const LocationScope here(current_location(nullptr));
  ops::note_write("increment_version", tensor_of(object));
  return Py_NewRef(Py_None);
}

PyMethodDef kFunctions[] = {
    {"_saved_bytes", guarded_method<graph_saved_bytes>(), METH_O, nullptr},
    {"_increment_version", guarded_method<increment_version>(), METH_O, nullptr},
    {},
};

}  // namespace

PyObject* attribute_object(const SavedAttribute& value) {
  return checked(std::visit(ToObject(), value));
}

PyObject* node_attribute(PyObject* self, PyObject* name) {
  PyObject* const generic = PyObject_GenericGetAttr(self, name);
  if (generic != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return generic;
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == nullptr) return nullptr;
  std::string_view rest(text, static_cast<size_t>(size));
  const bool is_raw = rest.starts_with("_raw_saved_");
  if (is_raw) {
    rest.remove_prefix(11);
  } else if (rest.starts_with("_saved_")) {
    rest.remove_prefix(7);
  } else if (rest.starts_with("saved_")) {
    rest.remove_prefix(6);
  } else {
    return nullptr;
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const auto find = [&](std::string_view wanted) -> PyObject* {
    const std::string saved(wanted);
    if (is_raw) return raw_handle(node_of(self), saved);
    PyObject* const tensor = saved_tensor(node_of(self), saved);
    return tensor != nullptr ? tensor : saved_attribute(node_of(self), saved);
  };
  PyObject* const found = guarded_attribute([&] {
    PyObject* const own = find(rest);
    return own != nullptr ? own : find(own_name_of(rest));
  });
  if (found == nullptr && PyErr_Occurred() == nullptr) {
    PyErr_Restore(type, value, traceback);
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return found;
}

PyObject* node_dir(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref type_names(PyObject_Dir(reinterpret_cast<PyObject*>(Py_TYPE(self))));
    Ref all(PySequence_List(type_names.get()));
    Names names;
    {
      const SavedLock lock(node_of(self));
      node_of(self).visit_saved(names);
    }
    node_of(self).visit_attributes(names);
    const auto add = [&](const std::string& name) {
      const Ref text(PyUnicode_FromString(name.c_str()));
      check_status(PyList_Append(all.get(), text.get()));
    };
    for (const std::string& name : names.tensors) {
      for (const char* prefix : {"saved_", "_saved_", "_raw_saved_"}) add(prefix + name);
    }
    for (const std::string& name : names.attributes) {
      for (const char* prefix : {"saved_", "_saved_"}) add(prefix + name);
    }
    return all.release();
  });
}

PyObject* node_list_saved(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::vector<autograd::SavedInfo> infos = autograd::list_saved(node_of(self));
    Ref list(PyList_New(static_cast<Py_ssize_t>(infos.size())));
    for (size_t index = 0; index < infos.size(); ++index) {
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(index), describe(infos[index]));
    }
    return list.release();
  });
}

PyObject* node_saved_bytes(PyObject* self, void*) {
  return guarded_attribute([&] { return PyLong_FromSize_t(autograd::saved_bytes(node_of(self))); });
}

constexpr const char* kSavedTensorDoc =
    "A handle to one tensor that a node saved: ``_raw_saved_`` and its name, of the node.\n\n"
    "Example:\n"
    "    >>> x = ebb.tensor([3.0], requires_grad=True)\n"
    "    >>> y = x.exp()\n"
    "    >>> y.grad_fn._raw_saved_out.register_hooks(lambda t: t * 2, lambda t: t / 2)\n"
    "    >>> y.backward()\n"
    "    >>> bool(x.grad == y)\n"
    "    True\n";

void add_saved_values(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kSavedTensorDoc)},
      {Py_tp_dealloc, as_slot(raw_dealloc)},
      {Py_tp_methods, kRawMethods},
      {Py_tp_getset, kRawAttributes},
      {0, nullptr},
  };
  raw_type = add_type(module, {"ebb.autograd.SavedTensor", sizeof(RawObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots});
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
