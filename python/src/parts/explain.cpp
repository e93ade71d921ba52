// python/src/parts/explain.cpp -- ebb/graph/explain.h, for python/ebb/graphs/explanation.py.
//
// A step is a tuple: op, module, place, kind, cut, is_freed, hooks, times; a place is one of file,
// line and function, or None.
#include "python/src/parts/explain.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "ebb/autograd/watch/cut_notes.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/base/error.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/graph/explain.h"
#include "python/src/base/errors.h"
#include "python/src/base/location.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"

namespace ebb::python {
namespace {

using graph::Step;

constexpr const char* kKinds[] = {"recorded", "unrecorded", "left", "entered"};
constexpr const char* kCuts[] = {"", "no_grad", "detached", "not_differentiable"};

/// Makes objects of steps. Long ways repeat places and texts: each is made once.
class StepMaker {
 public:
  PyObject* make(const Step& step) {
    return checked(Py_BuildValue("(OOOssOII)", text(step.op), text(step.module), place(step.place),
                                 kKinds[static_cast<size_t>(step.kind)],
                                 kCuts[static_cast<size_t>(step.cut)],
                                 step.is_freed ? Py_True : Py_False, step.hooks, step.times));
  }
  PyObject* make(const graph::InputSummary& one) {
    return checked(Py_BuildValue("(sKN)", graph::name_of(one.reason),
                                 static_cast<unsigned long long>(one.ways), make(one.step)));
  }
  template <typename Item>
  PyObject* make(const std::vector<Item>& items) {
    Ref list(PyList_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t index = 0; index < items.size(); ++index) {
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(index), make(items[index]));
    }
    return list.release();
  }

 private:
  PyObject* text(const std::string& text) {
    const auto [found, is_new] = texts_.try_emplace(text);
    if (is_new) found->second = Ref(text_object(text));
    return found->second.get();
  }
  PyObject* place(LocationId id) {
    const auto [found, is_new] = places_.try_emplace(id);
    if (!is_new) return found->second.get();
    const SourceLocation place = describe_location(id);
    const bool is_known = place.line > 0 || !place.file.empty();
    found->second = Ref(is_known ? location_object(place) : Py_NewRef(Py_None));
    return found->second.get();
  }

  std::unordered_map<std::string, Ref> texts_;
  std::unordered_map<LocationId, Ref> places_;
};

std::vector<Tensor> tensors_of(PyObject* list) {
  std::vector<Tensor> tensors;
  for (Py_ssize_t index = 0; index < PyList_GET_SIZE(list); ++index) {
    PyObject* const item = PyList_GET_ITEM(list, index);
    if (!is_tensor(item)) throw DTypeError(str("explain: needs tensors, got ", type_name(item)));
    tensors.push_back(tensor_of(item));
  }
  return tensors;
}

/// _explain(outputs, input, most_paths): a dict of the fields of graph::Explanation.
PyObject* explain(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *outputs = nullptr, *input = nullptr;
    Py_ssize_t most = 0;
    if (PyArg_ParseTuple(args, "O!O!n", &PyList_Type, &outputs, tensor_type, &input, &most) == 0) {
      return nullptr;
    }
    if (most < 0) throw ValueError(str("explain: needs paths of at least 0, got ", most));
    const graph::Explanation found =
        graph::explain(tensors_of(outputs), tensor_of(input), static_cast<size_t>(most));
    StepMaker maker;
    Ref fields(Py_BuildValue("{sssKsO}", "reason", graph::name_of(found.reason), "ways",
                             static_cast<unsigned long long>(found.ways), "cuts_are_candidates",
                             found.cuts_are_candidates ? Py_True : Py_False));
    const auto add = [&](const char* name, const auto& steps) {
      const Ref list(maker.make(steps));
      check_status(PyDict_SetItemString(fields.get(), name, list.get()));
    };
    add("paths", found.paths);
    add("freed", found.freed);
    add("hooked", found.hooked);
    add("cuts", found.cuts);
    add("trail", found.trail);
    add("left", found.left);
    add("entered", found.entered);
    return fields.release();
  });
}

/// _explain_all(outputs, inputs): triples of reason, ways and step.
PyObject* explain_all(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *outputs = nullptr, *inputs = nullptr;
    if (PyArg_ParseTuple(args, "O!O!", &PyList_Type, &outputs, &PyList_Type, &inputs) == 0) {
      return nullptr;
    }
    return StepMaker().make(graph::explain_all(tensors_of(outputs), tensors_of(inputs)));
  });
}

/// _other_leaves(outputs, inputs): a list of tensors.
PyObject* other_leaves(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *outputs = nullptr, *inputs = nullptr;
    if (PyArg_ParseTuple(args, "O!O!", &PyList_Type, &outputs, &PyList_Type, &inputs) == 0) {
      return nullptr;
    }
    const Ref list(PyList_New(0));
    for (Tensor& leaf : graph::other_leaves(tensors_of(outputs), tensors_of(inputs))) {
      const Ref item(wrap(std::move(leaf)));
      check_status(PyList_Append(list.get(), item.get()));
    }
    return Py_NewRef(list.get());
  });
}

PyObject* forget_cuts_now(PyObject*, PyObject*) {
  forget_cuts();
  Py_RETURN_NONE;
}

/// _cut_notes(): how many there are, and the bytes they take.
PyObject* cut_notes(PyObject*, PyObject*) {
  autograd::CutNotes& notes = autograd::CutNotes::shared();
  const std::lock_guard lock(notes.mutex());
  return checked(Py_BuildValue("(Kn)", static_cast<unsigned long long>(notes.end() - notes.first()),
                               static_cast<Py_ssize_t>(notes.memory_bytes())));
}

/// _title(tensor): its own name, else its module's for it, else "".
PyObject* title(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor) || !tensor_of(tensor).defined()) {
    throw DTypeError(str("_title: needs a Tensor, got ", type_name(tensor)));
  }
  return text_object(names_of(*tensor_of(tensor).impl()).title());
}

PyMethodDef kFunctions[] = {
    {"_title", guarded_method<title>(), METH_O, nullptr},
    {"_explain", explain, METH_VARARGS, nullptr},
    {"_explain_all", explain_all, METH_VARARGS, nullptr},
    {"_other_leaves", other_leaves, METH_VARARGS, nullptr},
    {"_forget_cuts", forget_cuts_now, METH_NOARGS, nullptr},
    {"_cut_notes", guarded_method<cut_notes>(), METH_NOARGS, nullptr},
    {},
};

}  // namespace

void add_explain(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
