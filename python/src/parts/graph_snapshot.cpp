// python/src/parts/graph_snapshot.cpp -- a snapshot's tables as memoryviews, its texts as lists.
//
// The queries, trees and tables are Python (python/ebb/graphs), on the columns that column() packs.
// In a column, -1 stands for none.
#include "python/src/parts/graph_snapshot.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ebb/autograd/history/variable.h"
#include "ebb/core/base/error.h"
#include "ebb/graph/dot.h"
#include "ebb/graph/json.h"
#include "ebb/graph/snapshot.h"
#include "ebb/graph/times.h"
#include "python/src/autograd/node_object.h"
#include "python/src/base/errors.h"
#include "python/src/base/location.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/parts/profiler.h"

namespace ebb::python {
namespace {

using graph::Snapshot;

struct SnapshotObject {
  PyObject_HEAD Snapshot* snapshot;
};
PyTypeObject* snapshot_type = nullptr;

const Snapshot& snapshot_of(PyObject* self) {
  return *reinterpret_cast<SnapshotObject*>(self)->snapshot;
}

void dealloc(PyObject* self) {
  delete reinterpret_cast<SnapshotObject*>(self)->snapshot;
  free_object(self);
}

constexpr const char* format_of(int32_t) { return "i"; }
constexpr const char* format_of(int64_t) { return "q"; }
constexpr const char* format_of(uint8_t) { return "B"; }

/// One column: what `get` says of each row.
template <typename Row, typename Get>
PyObject* pack(const std::vector<Row>& rows, Get get) {
  using Value = decltype(get(rows[0]));
  const Ref bytes(
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(rows.size() * sizeof(Value))));
  auto* const values = reinterpret_cast<Value*>(PyBytes_AS_STRING(bytes.get()));
  for (size_t index = 0; index < rows.size(); ++index) values[index] = get(rows[index]);
  const Ref view(PyMemoryView_FromObject(bytes.get()));
  return checked(PyObject_CallMethod(view.get(), "cast", "s", format_of(Value())));
}

/// What a column holds for Python: numbers, and -1 for none.
auto packed(auto value) {
  if constexpr (std::is_same_v<decltype(value), Device>) {
    return static_cast<int32_t>(static_cast<int>(value.type) * 256 + value.index);
  } else if constexpr (sizeof(value) == 1) {
    return static_cast<uint8_t>(value);
  } else if constexpr (sizeof(value) == 4) {
    return static_cast<int32_t>(value);
  } else {
    return static_cast<int64_t>(value);
  }
}

/// The columns of a snapshot: `visit(table, column, rows, member)`.
void visit_columns(const Snapshot& snapshot, auto&& visit) {
  const auto visit_table = [&]<typename Row>(const char* table, const std::vector<Row>& rows) {
    Row::columns([&](const char* name, auto member) { visit(table, name, rows, member); });
  };
  visit_table("nodes", snapshot.nodes);
  visit_table("nodes", snapshot.times);
  visit_table("outputs", snapshot.outputs);
  visit_table("edges", snapshot.edges);
  visit_table("leaves", snapshot.leaves);
  visit_table("saved", snapshot.saved);
  visit_table("hooks", snapshot.hooks);
  visit_table("views", snapshot.views);
  visit_table("roots", snapshot.roots);
  visit("nodes", "attributes", snapshot.nodes, &graph::NodeRow::attributes);
  visit("storages", "bytes", snapshot.storages, [](uint64_t bytes) { return bytes; });
}

PyObject* column(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const std::string_view wanted = utf8_of(name);
    PyObject* found = nullptr;
    visit_columns(snapshot_of(self), [&](auto table, auto column, const auto& rows, auto member) {
      if (str(table, '.', column) != wanted) return;
      found = pack(rows, [&](const auto& row) { return packed(std::invoke(member, row)); });
    });
    if (found != nullptr) return found;
    throw ValueError(str("column: needs the name of a column, got ", wanted));
  });
}

/// A list with what `make` gives for each item.
template <typename Item, typename Make>
PyObject* list_of(const std::vector<Item>& items, Make make) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t index = 0; index < items.size(); ++index) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(index), make(items[index]));
  }
  return list.release();
}

/// The names that column() takes.
PyObject* column_names(PyObject* self, PyObject*) {
  std::vector<std::string> names;
  visit_columns(snapshot_of(self), [&](auto table, auto column, const auto&, auto) {
    names.push_back(str(table, '.', column));
  });
  return list_of(names, text_object);
}

PyObject* strings(PyObject* self, PyObject*) {
  return guarded([&] { return list_of(snapshot_of(self).strings, text_object); });
}

PyObject* shapes(PyObject* self, PyObject*) {
  return guarded([&] {
    return list_of(snapshot_of(self).shapes, [](const std::vector<int64_t>& shape) {
      Ref sizes(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        PyTuple_SET_ITEM(sizes.get(), static_cast<Py_ssize_t>(dim),
                         PyLong_FromLongLong(shape[dim]));
      }
      return sizes.release();
    });
  });
}

/// Each set as a list of pairs: a name's number and the value as JSON.
PyObject* attribute_sets(PyObject* self, PyObject*) {
  return list_of(snapshot_of(self).attribute_sets, [](const std::vector<graph::Attribute>& set) {
    return list_of(set, [](const graph::Attribute& one) {
      return checked(Py_BuildValue("(IN)", one.name, text_object(one.value)));
    });
  });
}

/// Triples of path, type and the parent's number, or -1.
PyObject* modules(PyObject* self, PyObject*) {
  const Snapshot& snapshot = snapshot_of(self);
  return list_of(snapshot.modules, [&](const graph::ModuleRow& row) {
    return checked(Py_BuildValue("(NNi)", text_object(snapshot.strings[row.path]),
                                 text_object(snapshot.strings[row.type]),
                                 static_cast<int>(row.parent)));
  });
}

/// The lines, as triples of file, line and function, and a column with the number of each node's;
/// the stacks, as lists of lines, and a column again.
PyObject* locations(PyObject* self, PyObject*) {
  const graph::Locations all(snapshot_of(self));
  Ref lines(list_of(all.lines, location_object));
  const auto number = [](uint32_t index) { return static_cast<int32_t>(index); };
  Ref of_nodes(pack(all.of_nodes, number));
  Ref stacks(list_of(all.stacks, [](const std::vector<uint32_t>& stack) {
    return list_of(stack, [](uint32_t line) { return PyLong_FromUnsignedLong(line); });
  }));
  Ref stack_of_nodes(pack(all.stack_of_nodes, number));
  return checked(Py_BuildValue("(NNNN)", lines.release(), of_nodes.release(), stacks.release(),
                               stack_of_nodes.release()));
}

/// The names of dtypes by number.
PyObject* dtypes(PyObject*, PyObject*) {
  std::vector<std::string_view> names;
  for (int number = 0; number < kDTypeCount; ++number) {
    names.push_back(name_of(static_cast<DType>(number)));
  }
  return list_of(names, text_object);
}

PyObject* device_name(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const long code = PyLong_AsLong(number);
    if (code == -1 && PyErr_Occurred() != nullptr) return nullptr;
    return text_object(to_string(Device{.type = static_cast<DeviceType>(code / 256),
                                        .index = static_cast<int8_t>(code % 256)}));
  });
}

PyObject* to_json(PyObject* self, PyObject*) {
  return guarded([&] { return text_object(graph::to_json(snapshot_of(self))); });
}

/// to_dot(show_attributes, show_saved, show_shapes, max_attribute_chars, is_backward)
PyObject* to_dot(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int attributes = 0, saved = 0, shapes = 0, is_backward = 0;
    Py_ssize_t most = 0;
    if (PyArg_ParseTuple(args, "pppnp", &attributes, &saved, &shapes, &most, &is_backward) == 0) {
      return nullptr;
    }
    if (most < 0) throw ValueError(str("to_dot: needs max_attr_chars of at least 0, got ", most));
    const graph::DotOptions options = {
        .show_attributes = attributes != 0,
        .show_saved = saved != 0,
        .show_shapes = shapes != 0,
        .max_attribute_chars = static_cast<size_t>(most),
        .direction = is_backward != 0 ? graph::Direction::backward : graph::Direction::forward};
    return text_object(graph::to_dot(snapshot_of(self), options));
  });
}

PyObject* saved_bytes(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(snapshot_of(self).saved_bytes());
}
PyObject* memory_bytes(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(snapshot_of(self).memory_bytes());
}

PyObject* wrap_snapshot(std::unique_ptr<Snapshot> taken) {
  Ref self(snapshot_type->tp_alloc(snapshot_type, 0));
  reinterpret_cast<SnapshotObject*>(self.get())->snapshot = taken.release();
  return self.release();
}

/// with_times(report): a copy with what a profile says of the nodes.
PyObject* with_times(PyObject* self, PyObject* report) {
  auto copy = std::make_unique<Snapshot>(snapshot_of(self));
  graph::add_times(*copy, report_of(report));
  return wrap_snapshot(std::move(copy));
}

PyMethodDef kMethods[] = {
    {"with_times", guarded_method<with_times>(), METH_O, nullptr},
    {"column", column, METH_O, nullptr},
    {"column_names", guarded_method<column_names>(), METH_NOARGS, nullptr},
    {"strings", strings, METH_NOARGS, nullptr},
    {"shapes", shapes, METH_NOARGS, nullptr},
    {"attribute_sets", guarded_method<attribute_sets>(), METH_NOARGS, nullptr},
    {"modules", guarded_method<modules>(), METH_NOARGS, nullptr},
    {"locations", guarded_method<locations>(), METH_NOARGS, nullptr},
    {"dtypes", guarded_method<dtypes>(), METH_NOARGS, nullptr},
    {"device_name", device_name, METH_O, nullptr},
    {"to_json", to_json, METH_NOARGS, nullptr},
    {"to_dot", to_dot, METH_VARARGS, nullptr},
    {"saved_bytes", saved_bytes, METH_NOARGS, nullptr},
    {"memory_bytes", memory_bytes, METH_NOARGS, nullptr},
    {},
};

/// The place in the graph of a tensor, a node, or a pair of a node and an output's number.
autograd::GradientEdge to_edge(PyObject* root) {
  using autograd::NodePtr, autograd::Node;
  if (is_tensor(root)) return graph::root_edge(tensor_of(root));
  if (is_node(root)) return {NodePtr<Node>::share(&node_of(root)), 0};
  const bool is_pair = PyTuple_Check(root) && PyTuple_GET_SIZE(root) == 2 &&
                       is_node(PyTuple_GET_ITEM(root, 0)) &&
                       PyLong_Check(PyTuple_GET_ITEM(root, 1));
  if (!is_pair) throw DTypeError(str("graph: needs tensors or edges, got ", type_name(root)));
  const long output = PyLong_AsLong(PyTuple_GET_ITEM(root, 1));
  return {NodePtr<Node>::share(&node_of(PyTuple_GET_ITEM(root, 0))), static_cast<uint32_t>(output)};
}

/// _take_snapshot(roots, names): a list of tensors, nodes and edges, one of pairs (name, tensor).
/// The lock is kept: names of Python's functions are read on the way.
PyObject* take_snapshot(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *roots = nullptr, *pairs = nullptr;
    if (PyArg_ParseTuple(args, "O!O!", &PyList_Type, &roots, &PyList_Type, &pairs) == 0) {
      return nullptr;
    }
    std::vector<autograd::GradientEdge> edges;
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(roots); ++index) {
      edges.push_back(to_edge(PyList_GET_ITEM(roots, index)));
    }
    std::vector<std::pair<std::string, Tensor>> names;
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(pairs); ++index) {
      PyObject *name = nullptr, *tensor = nullptr;
      PyObject* const pair = PyList_GET_ITEM(pairs, index);
      if (PyArg_ParseTuple(pair, "UO!", &name, tensor_type, &tensor) == 0) return nullptr;
      names.emplace_back(utf8_of(name), tensor_of(tensor));
    }
    auto taken = std::make_unique<Snapshot>(graph::take_snapshot(edges, {.names = names}));
    return wrap_snapshot(std::move(taken));
  });
}

PyMethodDef kFunctions[] = {
    {"_take_snapshot", take_snapshot, METH_VARARGS, nullptr},
    {},
};

}  // namespace

void add_graph_snapshot(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The tables of one snapshot of a backward graph.")},
      {Py_tp_dealloc, as_slot(dealloc)},
      {Py_tp_methods, kMethods},
      {0, nullptr},
  };
  snapshot_type = add_type(module, {"ebb._C._Snapshot", sizeof(SnapshotObject), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots});
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
