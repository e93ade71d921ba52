// python/src/autograd/node_object.cpp -- life and death of Node objects.
#include "python/src/autograd/node_object.h"

#include <unordered_map>
#include <utility>

#include "ebb/autograd/history/node_extra.h"
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

}  // namespace

PyObject* wrap_node(Node* node) {
  if (node == nullptr) Py_RETURN_NONE;
  const auto found = live_objects().find(node);
  if (found != live_objects().end()) {
    return Py_NewRef(reinterpret_cast<PyObject*>(found->second));
  }
  if (PyObject* const kept = take_back(node); kept != nullptr) return kept;
  Ref self(reinterpret_cast<PyObject*>(PyObject_GC_New(NodeObject, node_type)));
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
