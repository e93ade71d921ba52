// python/src/autograd/node_type.cpp -- names, edges and places of recorded ops, for looking in.
#include "python/src/autograd/node_type.h"

#include <structmember.h>

#include <cstring>
#include <string>
#include <vector>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/location.h"
#include "python/src/autograd/function/function_node.h"
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/node_object.h"
#include "python/src/autograd/saved_values.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/location.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/op_call.h"

namespace ebb::python {
namespace {

using autograd::Node;

PyTypeObject* metadata_type = nullptr;

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* const object = reinterpret_cast<NodeObject*>(self);
  Py_VISIT(object->metadata);
  const int status = visit_context(object->node, 1, visit, arg);
  return status != 0 ? status : visit_hooks(object->node, 1, visit, arg);
}

int clear(PyObject* self) {
  auto* const object = reinterpret_cast<NodeObject*>(self);
  Py_CLEAR(object->metadata);
  clear_hooks(object->node, 1);
  return 0;
}

PyObject* name(PyObject* self, PyObject*) { return PyUnicode_FromString(node_of(self).name()); }

PyObject* repr(PyObject* self) {
  const char* const full = Py_TYPE(self)->tp_name;
  const char* const dot = std::strrchr(full, '.');
  return PyUnicode_FromFormat("<%s object at %p>", dot == nullptr ? full : dot + 1, self);
}

PyObject* next_functions(PyObject* self, void*) {
  return guarded_attribute([&] {
    const std::span<const autograd::Edge> edges = std::as_const(node_of(self)).edges();
    Ref all(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    for (size_t index = 0; index < edges.size(); ++index) {
      const autograd::Edge& edge = edges[index];
      PyObject* const pair = Py_BuildValue("(NI)", wrap_node(edge.node), edge.index);
      PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(index), checked(pair));
    }
    return all.release();
  });
}

PyObject* location(PyObject* self, void*) {
  return guarded_attribute([&]() -> PyObject* {
    const SourceLocation place = describe_location(node_of(self).location());
    if (place.file.empty()) Py_RETURN_NONE;
    return location_object(place);
  });
}

PyObject* stack(PyObject* self, void*) {
  return guarded_attribute([&]() -> PyObject* {
    const std::vector<SourceLocation> places = describe_stack(node_of(self).location());
    Ref list(checked(PyList_New(0)));
    for (const SourceLocation& place : places) {
      if (place.file.empty()) continue;
      const Ref entry(location_object(place));
      check_status(PyList_Append(list.get(), entry.get()));
    }
    return list.release();
  });
}

PyObject* metadata(PyObject* self, void*) {
  auto* const object = reinterpret_cast<NodeObject*>(self);
  if (object->metadata == nullptr) object->metadata = PyDict_New();
  return Py_XNewRef(object->metadata);
}

PyObject* sequence_number(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(node_of(self).sequence());
}

PyObject* variable(PyObject* self, void*) {
  return guarded_attribute([&]() -> PyObject* {
    Node& node = node_of(self);
    if (!node.is_accumulator()) {
      PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", node.name());
      return nullptr;
    }
    return wrap(static_cast<autograd::AccumulateGrad&>(node).share_leaf());
  });
}

PyObject* gradient_edge(PyObject*, PyObject* tensor) {
  const char* const op = "get_gradient_edge";
  if (!is_tensor(tensor)) throw DTypeError(str(op, ": needs a Tensor, got ", type_name(tensor)));
  const autograd::GradientEdge edge = get_gradient_edge(tensor_of(tensor));
  return checked(Py_BuildValue("(NI)", wrap_node(edge.node.get()), edge.output_nr));
}
PyMethodDef kFunctions[] = {
    {"_gradient_edge", guarded_method<gradient_edge>(), METH_O, nullptr},
    {},
};

/// Shape, dtype and device of each output of the op: what the gradients that arrive must look like.
PyObject* input_metadata(PyObject* self, void*) {
  return guarded_attribute([&] {
    const Node& node = node_of(self);
    Ref all(PyTuple_New(node.output_count()));
    for (uint32_t index = 0; index < node.output_count(); ++index) {
      const autograd::OutputMeta& meta = node.output_meta(index);
      PyObject* const entry = checked(PyStructSequence_New(metadata_type));
      PyTuple_SET_ITEM(all.get(), index, entry);
      PyStructSequence_SET_ITEM(entry, 0, make_size(meta.shape()));
      PyStructSequence_SET_ITEM(entry, 1, Py_NewRef(dtype_object(meta.dtype)));
      PyStructSequence_SET_ITEM(entry, 2, make_device(meta.device));
      PyStructSequence_SET_ITEM(entry, 3, Py_NewRef(Py_False));
    }
    return all.release();
  });
}

/// node(*grad_outs): what the node computes from them, without hooks and without freeing anything.
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    Node& node = node_of(self);
    if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0) {
      throw DTypeError(str(node.name(), ": needs no keyword arguments, got some"));
    }
    std::vector<Tensor> grads;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(args); ++index) {
      PyObject* const item = PyTuple_GET_ITEM(args, index);
      if (!is_tensor(item) && item != Py_None) {
        throw DTypeError(
            str(node.name(), ": needs Tensors or None, got ", type_name(item), " at ", index));
      }
      grads.push_back(item == Py_None ? Tensor() : tensor_of(item));
    }
    std::vector<Tensor> results;
    {
      const ReleaseGil unlocked;
      results = autograd::call_node(node, grads);
    }
    if (results.size() == 1) return wrap(std::move(results[0]));
    return result(std::move(results));
  });
}

PyMethodDef kMethods[] = {
    {"name", name, METH_NOARGS, "name($self)\n--\n\nReturn the op's name with `Backward`."},
    {"_sequence_nr", sequence_number, METH_NOARGS,
     "_sequence_nr($self)\n--\n\nReturn the number in the order of recording."},
    {"register_hook", one_argument_method<node_register_hook, "register_hook", "fn">(),
     kOnlyArgument,
     "register_hook($self, fn)\n--\n\n"
     "Call `hook(grad_inputs, grad_outputs)` after the node ran.\n\n"
     "A tuple that it returns replaces the gradients of the inputs."},
    {"register_prehook", one_argument_method<node_register_prehook, "register_prehook", "fn">(),
     kOnlyArgument,
     "register_prehook($self, fn)\n--\n\n"
     "Call `hook(grad_outputs)` before the node runs.\n\n"
     "A tuple that it returns replaces the gradients of the outputs."},
    {"list_saved", node_list_saved, METH_NOARGS,
     "list_saved($self)\n--\n\nDescribe each tensor that the op keeps: a list of dicts."},
    {"__dir__", node_dir, METH_NOARGS, nullptr},
    {},
};
PyGetSetDef kAttributes[] = {
    {"next_functions", next_functions, nullptr,
     "Where the gradient of each input goes: pairs of a Node or None, and an output's index.",
     nullptr},
    {"location", location, nullptr, "File, line and function that recorded the op, or None.",
     nullptr},
    {"stack", stack, nullptr,
     "File, line and function of that place and, of nodes recorded under record_stacks() or in\n"
     "anomaly mode, its callers, innermost first.",
     nullptr},
    {"_input_metadata", input_metadata, nullptr,
     "Shape, dtype and device of each gradient that arrives.", nullptr},
    {"metadata", metadata, nullptr, "A dict for notes, kept as long as the op is.", nullptr},
    {"saved_bytes", node_saved_bytes, nullptr, "Bytes of memory that the op keeps alive.", nullptr},
    {"variable", variable, nullptr, "The leaf of an AccumulateGrad, or None if it is gone.",
     nullptr},
    {},
};
PyMemberDef* members() {
  static PyMemberDef list[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(NodeObject, weaklist), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  return list;
}

}  // namespace

void add_node_type(PyObject* module) {
  static PyStructSequence_Field fields[] = {{"shape", nullptr},
                                            {"dtype", nullptr},
                                            {"device", nullptr},
                                            {"is_nested_tensor", nullptr},
                                            {nullptr, nullptr}};
  static PyStructSequence_Desc description = {"ebb.autograd.InputMetadata",
                                              "What a gradient must look like.", fields, 4};
  metadata_type = PyStructSequence_NewType(&description);
  if (metadata_type == nullptr) throw ErrorSet();
  PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>("One recorded operation of the backward graph."
                         "\n\nExample:\n"
                         "    >>> x = ebb.ones(2, requires_grad=True)\n"
                         "    >>> node = (x * x).sum().grad_fn\n"
                         "    >>> node.name(), [edge[0].name() for edge in node.next_functions]\n"
                         "    ('SumBackward', ['MulBackward'])\n")},
      {Py_tp_dealloc, as_slot(dealloc_node)},
      {Py_tp_traverse, as_slot(traverse)},
      {Py_tp_clear, as_slot(clear)},
      {Py_tp_call, as_slot(call)},
      {Py_tp_repr, as_slot(repr)},
      {Py_tp_getattro, as_slot(node_attribute)},
      {Py_tp_methods, kMethods},
      {Py_tp_getset, kAttributes},
      {Py_tp_members, members()},
      {0, nullptr},
  };
  node_type = add_type(module, {"ebb.autograd.Node", sizeof(NodeObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                slots});
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
