// python/src/autograd/node_object.cpp -- life and death of Node objects.
#include "python/src/autograd/node_object.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "ebb/autograd/history/node_extra.h"
#include "ebb/core/base/error.h"
#include "python/src/autograd/node_names.h"
#include "python/src/base/tensor_object.h"

namespace ebb::python {

using autograd::Node;

PyTypeObject* node_type = nullptr;

namespace {

/// Nodes that have a Python object now. Never destroyed: objects may outlive static storage.
std::unordered_map<Node*, NodeObject*>& live_objects() {
  static auto* const objects = new std::unordered_map<Node*, NodeObject*>();
  return *objects;
}

/// Python has dropped an object with notes, but the node lives on: the node becomes the owner.
void hand_over(NodeObject* object) {
  Node* const node = std::exchange(object->node, nullptr);
  PyObject* const self = reinterpret_cast<PyObject*>(object);
  Py_SET_REFCNT(self, 1);
  autograd::ensure_extra(*node).py_object = mark_owned(self);
  node->release();  // if it was the last after all, this destroys the object
}

/// The object that a node owns, given back to Python; null if there is none.
PyObject* take_back(Node* node) {
  if (node->extra() == nullptr || node->extra()->py_object == nullptr) return nullptr;
  PyObject* const self = object_in(std::exchange(node->extra()->py_object, nullptr));
  auto* const object = reinterpret_cast<NodeObject*>(self);
  node->retain();
  object->node = node;
  live_objects().emplace(node, object);
  PyObject_GC_Track(self);
  return self;
}

/// "MulBackward0" of MulBackward and MulScalarBackward; a leaf's node and those of a user's
/// functions are called what they are.
std::string type_name_of(const Node& node) {
  const std::string name = node.name();
  const autograd::NodeKind kind = node.kind();
  if (kind == autograd::NodeKind::leaf || kind == autograd::NodeKind::custom) return name;
  static const auto* const overloads = [] {
    auto* const made = new std::unordered_map<std::string, std::string>();
    for (const OverloadName& one : overload_names()) made->emplace(one.node, one.type);
    return made;
  }();
  const auto found = overloads->find(name);
  return found == overloads->end() ? name + "0" : found->second;
}

/// A subtype of Node by this name. `name` must live as long as the type.
PyTypeObject* make_type(const char* name) {
  PyType_Slot slots[] = {
      {Py_tp_dealloc, as_slot(dealloc_node)},
      {Py_tp_doc, const_cast<char*>("One recorded operation of the backward graph, of one op.")},
      {0, nullptr},
  };
  PyType_Spec spec = {name, sizeof(NodeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  const Ref bases(checked(PyTuple_Pack(1, node_type)));
  return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&spec, bases.get())));
}

using Types = std::unordered_map<std::string, PyTypeObject*>;

/// Types are kept for good: there are as many as ops, and functions that a program names.
PyTypeObject* type_of(const Node& node) {
  static auto* const by_type = new Types();
  static auto* const of_ops = new Types();
  static auto* const of_functions = new Types();  // one may have an op's name
  Types& by_node = node.kind() == autograd::NodeKind::custom ? *of_functions : *of_ops;
  const auto known = by_node.find(node.name());
  if (known != by_node.end()) return known->second;
  const auto entry = by_type->emplace(str("ebb.autograd.", type_name_of(node)), nullptr).first;
  if (entry->second == nullptr) entry->second = make_type(entry->first.c_str());
  by_node.emplace(node.name(), entry->second);
  return entry->second;
}

}  // namespace

PyObject* wrap_node(Node* node) {
  if (node == nullptr) Py_RETURN_NONE;
  const auto found = live_objects().find(node);
  if (found != live_objects().end()) {
    return Py_NewRef(reinterpret_cast<PyObject*>(found->second));
  }
  if (PyObject* const kept = take_back(node); kept != nullptr) return kept;
  Ref self(reinterpret_cast<PyObject*>(PyObject_GC_New(NodeObject, type_of(*node))));
  auto* const object = reinterpret_cast<NodeObject*>(self.get());
  node->retain();
  object->node = node;
  object->metadata = nullptr;
  object->weaklist = nullptr;
  live_objects().emplace(node, object);
  PyObject_GC_Track(object);
  return self.release();
}

void dealloc_node(PyObject* self) {
  auto* const object = reinterpret_cast<NodeObject*>(self);
  PyObject_GC_UnTrack(self);
  if (object->weaklist != nullptr) PyObject_ClearWeakRefs(self);
  if (object->node != nullptr) {
    live_objects().erase(object->node);
    // Also an empty dict: node.metadata["note"] = 1 drops the object before it writes.
    if (object->metadata != nullptr) return hand_over(object);
    object->node->release();
  }
  Py_CLEAR(object->metadata);
  free_object(self);
}

}  // namespace ebb::python
