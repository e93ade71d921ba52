// python/src/autograd/autograd.cpp -- arguments of backward() and grad(), which run without the
// GIL.
#include "python/src/autograd/autograd.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/names/unusable.h"
#include "ebb/autograd/history/reach.h"
#include "python/src/autograd/node_object.h"
#include "python/src/base/errors.h"
#include "python/src/base/text.h"
#include "python/src/calls/args.h"
#include "python/src/calls/op_call.h"
#include "python/src/calls/overrides.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

/// A GradientEdge: a tuple of a Node and a number.
bool is_edge(PyObject* object) {
  return PyTuple_Check(object) && PyTuple_GET_SIZE(object) >= 2 &&
         is_node(PyTuple_GET_ITEM(object, 0)) && PyLong_Check(PyTuple_GET_ITEM(object, 1));
}

Place to_edge(PyObject* object) {
  const int64_t number = to_int64(PyTuple_GET_ITEM(object, 1));
  return autograd::GradientEdge{
      autograd::NodePtr<autograd::Node>::share(&node_of(PyTuple_GET_ITEM(object, 0))),
      static_cast<uint32_t>(number)};
}

enum class Kind : uint8_t { places, seeds };

/// One tensor (or, for places, one edge) or a sequence of them. For seeds, None stands for no
/// tensor.
std::vector<Place> to_places(PyObject* object, const char* what, Kind kind) {
  std::vector<Place> places;
  const auto add = [&](PyObject* item) {
    if (is_tensor(item)) {
      places.emplace_back(tensor_of(item));
    } else if (kind == Kind::places && is_edge(item)) {
      places.push_back(to_edge(item));
    } else {
      return false;
    }
    return true;
  };
  if (object == nullptr || object == Py_None || add(object)) return places;
  if (PySequence_Check(object) == 0 && PyIter_Check(object) == 0 && !PyAnySet_Check(object)) {
    throw DTypeError(str(what, " must be Tensor or sequence of Tensors, got ", type_name(object)));
  }
  const Ref items(PySequence_Tuple(object));
  for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(items.get()); ++index) {
    PyObject* const item = PyTuple_GET_ITEM(items.get(), index);
    if (kind == Kind::seeds && item == Py_None) {
      places.emplace_back(Tensor());
    } else if (!add(item)) {
      throw DTypeError(str(what, " must be Tensor or sequence of Tensors, got ", type_name(item),
                           " at position ", index));
    }
  }
  return places;
}

std::vector<Tensor> to_seeds(PyObject* object, const char* what) {
  std::vector<Tensor> seeds;
  for (Place& place : to_places(object, what, Kind::seeds))
    seeds.push_back(std::move(place.tensor));
  return seeds;
}

bool truth(const Arguments& arguments, int index, bool fallback) {
  return arguments.given(index) ? arguments.boolean(index) : fallback;
}
std::optional<bool> optional_truth(const Arguments& arguments, int index) {
  return arguments.given(index) ? std::optional(arguments.boolean(index)) : std::nullopt;
}

void check_not_empty(const std::vector<Place>& places, const char* what) {
  if (places.empty()) throw ValueError(str(what, " needs at least one tensor, got none"));
}

/// Seeds: none at all, or one for each root.
void check_seeds(const std::vector<Tensor>& seeds, size_t roots, const char* what) {
  if (!seeds.empty() && seeds.size() != roots) {
    throw ValueError(str(what, " needs one gradient per root, got ", seeds.size(), " for ", roots));
  }
}

constexpr uint8_t kOptional = kHasDefault | kNoneAllowed;

Param method_params[] = {{"self", ArgKind::tensor},
                         {"gradient", ArgKind::tensor, kOptional},
                         {"retain_graph", ArgKind::boolean, kOptional},
                         {"create_graph", ArgKind::boolean, kOptional},
                         {"inputs", ArgKind::object, kOptional}};
const Overload method_overloads[] = {method_params};
OpSpec method_spec{"backward", method_overloads};

Param backward_params[] = {{"tensors", ArgKind::object},
                           {"grad_tensors", ArgKind::object, kOptional},
                           {"retain_graph", ArgKind::boolean, kOptional},
                           {"create_graph", ArgKind::boolean, kOptional},
                           {"inputs", ArgKind::object, kOptional}};
const Overload backward_overloads[] = {backward_params};
OpSpec backward_spec{"backward", backward_overloads};

Param grad_params[] = {{"outputs", ArgKind::object},
                       {"inputs", ArgKind::object},
                       {"grad_outputs", ArgKind::object, kOptional},
                       {"retain_graph", ArgKind::boolean, kOptional},
                       {"create_graph", ArgKind::boolean, kHasDefault},
                       {"only_inputs", ArgKind::boolean, kHasDefault},
                       {"allow_unused", ArgKind::boolean, kOptional},
                       {"is_grads_batched", ArgKind::boolean, kHasDefault},
                       {"materialize_grads", ArgKind::boolean, kHasDefault},
                       {"no_grad_vars", ArgKind::object, kOptional}};
const Overload grad_overloads[] = {grad_params};
OpSpec grad_spec{"grad", grad_overloads};

/// What carries the graph of the node noted last from step to step, "" if nobody does.
std::string holder_of(uint64_t sequence) {
  const Ref module(PyImport_ImportModule("ebb.autograd._holders"));
  const Ref find(PyObject_GetAttrString(module.get(), "holder_of"));
  const Ref name(PyObject_CallFunction(find.get(), "K", static_cast<unsigned long long>(sequence)));
  return name.get() == Py_None ? std::string() : std::string(utf8_of(name.get()));
}

/// Runs backward() or grad() without the GIL. An error of a graph that was used up names what
/// still holds it.
template <typename Run>
void run_naming_holders(Run&& run) {
  try {
    const ReleaseGil unlocked;
    run();
  } catch (const AutogradError& error) {
    const uint64_t sequence = autograd::take_unusable();
    const std::string holder = sequence == 0 ? std::string() : holder_of(sequence);
    const std::string text = error.what();
    const size_t hint = text.find("\nhint: ");
    if (holder.empty() || hint == std::string::npos) throw;
    const size_t end = std::min(text.find('\n', hint + 1), text.size());
    throw AutogradError(str(text.substr(0, hint), "; ", holder, " keeps the graph of an earlier ",
                            "step\nhint: detach() ", holder, " between steps; if gradients are to ",
                            "pass, call backward() once, for all of them", text.substr(end)));
  }
}

/// What follows the seeds is the same for the method and the function.
void run(const std::vector<Place>& roots, const std::vector<Tensor>& seeds,
         const Arguments& arguments) {
  std::vector<Place> inputs;
  if (arguments.given(4)) {
    inputs = to_places(arguments.object(4), "backward(): argument 'inputs'", Kind::places);
    check_not_empty(inputs, "backward(): argument 'inputs'");
  }
  const BackwardOptions options = {.retain_graph = optional_truth(arguments, 2),
                                   .create_graph = truth(arguments, 3, false),
                                   .input_places = inputs};
  run_naming_holders([&] { backward_from(roots, seeds, options); });
}

PyObject* module_backward(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded_call(
      backward_spec, {nullptr, args, count, names}, [&](const Arguments& arguments) {
        const std::vector<Place> roots =
            to_places(arguments.object(0), "backward(): argument 'tensors'", Kind::places);
        check_not_empty(roots, "backward(): argument 'tensors'");
        const std::vector<Tensor> seeds =
            to_seeds(arguments.object(1), "backward(): argument 'grad_tensors'");
        check_seeds(seeds, roots.size(), "backward(): argument 'grad_tensors'");
        run(roots, seeds, arguments);
        return Py_NewRef(Py_None);
      });
}

/// The method by which a class makes calls of grad() itself, of the first argument that has one: a
/// sample under vmap. Null if none has.
Ref own_grad(PyObject* const* args, Py_ssize_t count) {
  const Ref name(PyUnicode_InternFromString("__ebb_grad__"));
  const auto has_own = [&](PyObject* item) {
    return has_override(item) && _PyType_Lookup(Py_TYPE(item), name.get()) != nullptr;
  };
  for (Py_ssize_t index = 0; index < count; ++index) {
    PyObject* const value = args[index];
    const bool is_list = PyTuple_Check(value) || PyList_Check(value);
    const Py_ssize_t size = is_list ? PySequence_Fast_GET_SIZE(value) : 1;
    PyObject* const* const items = is_list ? PySequence_Fast_ITEMS(value) : &value;
    for (Py_ssize_t at = 0; at < size; ++at) {
      if (has_own(items[at])) return Ref(PyObject_GetAttr(items[at], name.get()));
    }
  }
  return Ref();
}

PyObject* module_grad(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (detail::overrides_exist) [[unlikely]] {
    const Py_ssize_t all = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
    const Ref own = own_grad(args, all);
    if (own.get() != nullptr) {
      return PyObject_Vectorcall(own.get(), args, static_cast<size_t>(count), names);
    }
  }
  return guarded_call(grad_spec, {nullptr, args, count, names}, [&](const Arguments& arguments) {
    const std::vector<Place> outputs =
        to_places(arguments.object(0), "grad(): argument 'outputs'", Kind::places);
    const std::vector<Place> inputs =
        to_places(arguments.object(1), "grad(): argument 'inputs'", Kind::places);
    const std::vector<Tensor> seeds =
        to_seeds(arguments.object(2), "grad(): argument 'grad_outputs'");
    const std::vector<Place> cuts =
        to_places(arguments.object(9), "grad(): argument 'no_grad_vars'", Kind::places);
    check_not_empty(outputs, "grad(): argument 'outputs'");
    check_not_empty(inputs, "grad(): argument 'inputs'");
    check_seeds(seeds, outputs.size(), "grad(): argument 'grad_outputs'");
    const bool fills = truth(arguments, 8, false);
    if (fills && arguments.given(6) && !arguments.boolean(6)) {
      throw ValueError("grad: materialize_grads=True needs allow_unused=True or None, got False");
    }
    const GradOptions options = {.retain_graph = optional_truth(arguments, 3),
                                 .create_graph = truth(arguments, 4, false),
                                 .allow_unused = truth(arguments, 6, fills),
                                 .materialize_grads = fills,
                                 .only_inputs = truth(arguments, 5, true),
                                 .is_grads_batched = truth(arguments, 7, false),
                                 .no_grad_vars = cuts};
    std::vector<Tensor> grads;
    run_naming_holders([&] { grads = grad_between(outputs, inputs, seeds, options); });
    return result(std::move(grads));
  });
}

// (tensors, own): whether a leaf that is none of `own` lies behind one of the tensors.
PyObject* reaches_others(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    check_count("_reaches_others", count, 2);
    const std::vector<Tensor> tensors = to_seeds(args[0], "tensors");
    const std::vector<Tensor> own = to_seeds(args[1], "own");
    return PyBool_FromLong(autograd::reaches_other_leaves(tensors, own) ? 1 : 0);
  });
}

// (tensor, sequence): see reach.h.
PyObject* is_carried(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    check_count("_is_carried", count, 2);
    if (!is_tensor(args[0])) {
      throw DTypeError(str("_is_carried: needs a Tensor, got ", type_name(args[0])));
    }
    const auto sequence = static_cast<uint64_t>(to_int64(args[1]));
    return PyBool_FromLong(autograd::is_carried(tensor_of(args[0]), sequence) ? 1 : 0);
  });
}

constexpr const char* kBackwardDoc =
    "backward($module, tensors, grad_tensors=None, retain_graph=None, create_graph=False, "
    "inputs=None)\n--\n\n"
    "Add the gradient of the sum of `tensors` to the `grad` of every leaf it depends on.\n\n"
    "Args:\n"
    "    tensors: A tensor or GradientEdge, or a sequence of them.\n"
    "    grad_tensors: What to start with: one gradient per tensor; None stands for 1.\n"
    "    retain_graph: Keep what a further run needs (default: create_graph).\n"
    "    create_graph: Record the gradients' own computation.\n"
    "    inputs: Add to these tensors only, leaves or not; a GradientEdge names a leaf, or\n"
    "        tensors that retain their gradient.\n"
    "Raises:\n"
    "    AutogradError: If a tensor has no history, or the graph was freed.\n"
    "Example:\n"
    "    >>> x = ebb.tensor([1.0, 3.0], requires_grad=True)\n"
    "    >>> ebb.autograd.backward((x * x).sum())\n"
    "    >>> x.grad\n"
    "    tensor([2., 6.])\n";
constexpr const char* kGradDoc =
    "grad($module, outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, "
    "only_inputs=True, allow_unused=None, is_grads_batched=False, materialize_grads=False, "
    "no_grad_vars=None)\n--\n\n"
    "Return the gradients of the sum of `outputs` with respect to `inputs`, as a tuple.\n\n"
    "No tensor's `grad` changes, unless only_inputs is False. Inputs and outputs may be\n"
    "GradientEdges.\n\n"
    "Args:\n"
    "    grad_outputs: What to start with: one gradient per output; None stands for 1.\n"
    "    allow_unused: Give None for an input that no output depends on, instead of an error.\n"
    "    materialize_grads: Give zeros for it.\n"
    "    only_inputs: With False, also add to the `grad` of every other leaf that is reached.\n"
    "    is_grads_batched: `grad_outputs` have one more dim in front; run once per entry and\n"
    "        stack the gradients.\n"
    "    no_grad_vars: A tensor or GradientEdge, or several: no gradient passes them in this "
    "call.\n"
    "Raises:\n"
    "    ValueError: If an input is unused.\n"
    "    AutogradError: If a tensor has no history, or the graph was freed.\n"
    "Example:\n"
    "    >>> x = ebb.tensor([1.0, 3.0], requires_grad=True)\n"
    "    >>> ebb.autograd.grad((x * x).sum(), x)\n"
    "    (tensor([2., 6.]),)\n";

PyMethodDef kFunctions[] = {
    {"backward", as_method(module_backward), METH_FASTCALL | METH_KEYWORDS, kBackwardDoc},
    {"grad", as_method(module_grad), METH_FASTCALL | METH_KEYWORDS, kGradDoc},
    {"_is_carried", as_method(is_carried), METH_FASTCALL, nullptr},
    {"_reaches_others", as_method(reaches_others), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* names) {
  return guarded_call(method_spec, {self, args, count, names}, [&](const Arguments& arguments) {
    const std::vector<Place> roots = {tensor_of(self)};
    std::vector<Tensor> seeds;
    if (arguments.given(1)) seeds.push_back(arguments.tensor(1));
    run(roots, seeds, arguments);
    return Py_NewRef(Py_None);
  });
}

void add_autograd(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
