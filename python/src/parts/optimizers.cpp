// python/src/parts/optimizers.cpp -- the optimizers' steps, for python/ebb/optim.
//
// Python sees a C++ optimizer as a capsule and hands it to these functions. Options come with each
// step, as the group's dict, because users change them there; they are looked up under the names
// that the C++ optimizer lists. Start reading at take_options().
#include "python/src/parts/optimizers.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ebb/autograd/ops/full.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/optim/optimizer.h"
#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/calls/args.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

using Args = PyObject* const*;

constexpr char kCapsule[] = "ebb.Optimizer";

/// An option as Python has it: `key` of the group, or item `position` of that.
struct OptionKey {
  Ref key;
  int position = -1;
};

/// What the capsule holds: the optimizer, the parameters that its group had, and its options' names
/// in the order it lists them.
struct Handle {
  std::unique_ptr<optim::Optimizer> optimizer;
  std::vector<Tensor> given;  // with those that are given several times
  std::vector<OptionKey> keys;
  std::vector<Ref> state_names;
};

Ref interned(const char* text) { return Ref(PyUnicode_InternFromString(text)); }

/// Options that Python has as the items of a pair: beta1 and beta2 are those of "betas".
OptionKey key_of(std::string_view name, const char* text) {
  struct Pair {
    const char* key;
    std::string_view items[2];
  };
  constexpr Pair kPairs[] = {{"betas", {"beta1", "beta2"}},
                             {"etas", {"etaminus", "etaplus"}},
                             {"step_sizes", {"min_step_size", "max_step_size"}}};
  for (const Pair& pair : kPairs) {
    for (int position : {0, 1}) {
      if (name == pair.items[position]) return {interned(pair.key), position};
    }
  }
  return {interned(text), -1};
}

Handle& handle_of(PyObject* object) {
  if (!PyCapsule_IsValid(object, kCapsule)) throw InternalError("step: needs an optimizer");
  return *static_cast<Handle*>(PyCapsule_GetPointer(object, kCapsule));
}

/// The item of a pair such as betas. Owned: the group may change while it is looked at.
Ref item_of(const char* op, PyObject* pair, const OptionKey& option) {
  const bool is_pair = PySequence_Check(pair) != 0 && PySequence_Size(pair) == 2;
  if (!is_pair) {
    PyErr_Clear();
    throw ValueError(str(op, ": needs two ", utf8_of(option.key.get()), ", got ", repr_of(pair)));
  }
  return Ref(PySequence_GetItem(pair, option.position));
}

/// Sets the optimizer's options from the dict of its group.
void take_options(const Handle& handle, PyObject* group) {
  const char* const op = handle.optimizer->name();
  if (!PyDict_Check(group)) {
    throw DTypeError(str(op, ": needs a dict of options, got ", type_name(group)));
  }
  size_t position = 0;
  handle.optimizer->assign_options([&](const optim::OptionField& option) {
    const OptionKey& key = handle.keys[position++];
    PyObject* const found = PyDict_GetItemWithError(group, key.key.get());
    if (found == nullptr) {
      if (PyErr_Occurred() != nullptr) throw ErrorSet();
      throw ValueError(str(op, ": needs ", option.name, " in its group, got nothing"));
    }
    Ref value = Ref::share(found);
    if (key.position >= 0) value = item_of(op, value.get(), key);
    if (option.flag != nullptr) {
      *option.flag = to_truth(value.get());
    } else {
      *option.number = to_number(op, option.name, value.get());
    }
  });
}

/// The parameters of a group, a list that the program may have changed.
Ref parameters_of(const char* op, PyObject* group) {
  if (!PyDict_Check(group)) {
    throw DTypeError(str(op, ": needs groups as dicts, got ", type_name(group)));
  }
  const Ref key = interned("params");
  PyObject* const found = PyDict_GetItemWithError(group, key.get());
  if (found == nullptr) {
    if (PyErr_Occurred() != nullptr) throw ErrorSet();
    throw ValueError(str(op, ": needs 'params' in its group, got nothing"));
  }
  return Ref::share(found);
}

void destroy(PyObject* capsule) {
  delete static_cast<Handle*>(PyCapsule_GetPointer(capsule, kCapsule));
}

// (class name, parameters, group)
PyObject* make(PyObject*, Args args, Py_ssize_t count) {
  check_count("optimizer", count, 3);
  const std::string kind(utf8_of(args[0]));
  auto handle = std::make_unique<Handle>();
  handle->optimizer = optim::make_optimizer(kind, to_tensors(kind.c_str(), args[1]));
  if (handle->optimizer == nullptr) {
    throw ValueError(str("optimizer: needs the name of one that is fused, got ", in_quotes(kind)));
  }
  handle->given = to_tensors(kind.c_str(), parameters_of(kind.c_str(), args[2]).get());
  handle->optimizer->assign_options([&](const optim::OptionField& option) {
    handle->keys.push_back(key_of(option.name, option.name));
  });
  for (const char* name : handle->optimizer->state_names()) {
    handle->state_names.push_back(interned(name));
  }
  take_options(*handle, args[2]);
  PyObject* const capsule = checked(PyCapsule_New(handle.get(), kCapsule, destroy));
  handle.release();
  return capsule;
}

// (optimizer, group): whether the group has the parameters that the optimizer was made for
PyObject* fits(PyObject*, Args args, Py_ssize_t count) {
  check_count("step", count, 2);
  const Handle& handle = handle_of(args[0]);
  const Ref params = parameters_of(handle.optimizer->name(), args[1]);
  if (PyList_Check(params.get()) == 0) return Py_NewRef(Py_False);
  PyObject** const items = PySequence_Fast_ITEMS(params.get());
  const auto is_same = [](PyObject* item, const Tensor& given) {
    return is_tensor(item) && tensor_of(item).is_same(given);
  };
  return PyBool_FromLong(std::equal(items, items + PyList_GET_SIZE(params.get()),
                                    handle.given.begin(), handle.given.end(), is_same));
}

// (optimizer, group)
PyObject* step(PyObject*, Args args, Py_ssize_t count) {
  check_count("step", count, 2);
  const Handle& handle = handle_of(args[0]);
  take_options(handle, args[1]);
  {
    const ReleaseGil released;
    handle.optimizer->step();
  }
  return Py_NewRef(Py_None);
}

// (optimizer, set_to_none)
PyObject* zero_grad(PyObject*, Args args, Py_ssize_t count) {
  check_count("zero_grad", count, 2);
  // The GIL stays: gradients that go may have Python objects.
  handle_of(args[0]).optimizer->zero_grad(to_truth(args[1]));
  return Py_NewRef(Py_None);
}

size_t index_in(const optim::Optimizer& optimizer, PyObject* object) {
  const int64_t index = to_int64(object);
  if (index < 0 || index >= static_cast<int64_t>(optimizer.parameters().size())) {
    throw IndexError(str("state: needs the number of a parameter, got ", index));
  }
  return static_cast<size_t>(index);
}

void set_item(const Ref& dict, PyObject* key, const Ref& value) {
  check_status(PyDict_SetItem(dict.get(), key, value.get()));
}

/// A count as PyTorch keeps it; in float64 where float32 would round it.
Tensor count_tensor(int64_t count) {
  const bool is_exact = count <= int64_t{1} << 24;
  return ebb::full(Shape{}, Scalar(count), is_exact ? DType::float32 : DType::float64);
}

// (class name): what the optimizer keeps per parameter
PyObject* state_names(PyObject*, Args args, Py_ssize_t count) {
  check_count("state", count, 1);
  const std::string kind(utf8_of(args[0]));
  const std::unique_ptr<optim::Optimizer> made = optim::make_optimizer(kind, {});
  if (made == nullptr) {
    throw ValueError(str("optimizer: needs the name of one that is fused, got ", in_quotes(kind)));
  }
  Ref names(PyList_New(0));
  if (made->counts_steps()) check_status(PyList_Append(names.get(), interned("step").get()));
  for (const char* name : made->state_names()) {
    check_status(PyList_Append(names.get(), interned(name).get()));
  }
  return names.release();
}

// (optimizer, index): a dict, empty if nothing is kept yet
PyObject* state(PyObject*, Args args, Py_ssize_t count) {
  check_count("state", count, 2);
  const Handle& handle = handle_of(args[0]);
  const optim::Optimizer& optimizer = *handle.optimizer;
  const size_t index = index_in(optimizer, args[1]);
  Ref found(PyDict_New());
  if (optimizer.counts_steps() && optimizer.steps(index) > 0) {
    set_item(found, interned("step").get(), Ref(wrap(count_tensor(optimizer.steps(index)))));
  }
  for (size_t which = 0; which < handle.state_names.size(); ++which) {
    Tensor tensor = optimizer.state(index, optimizer.state_names()[which]);
    if (!tensor.defined()) continue;
    set_item(found, handle.state_names[which].get(), Ref(wrap(std::move(tensor))));
  }
  return found.release();
}

int64_t steps_of(const char* op, PyObject* object) {
  const double steps = to_number(op, "step", object);
  const bool is_count = steps >= 0 && steps <= 9007199254740992.0 &&
                        steps == static_cast<double>(static_cast<int64_t>(steps));
  if (!is_count) throw ValueError(str(op, ": needs a whole number >= 0 for step, got ", steps));
  return static_cast<int64_t>(steps);
}

// (optimizer, index, dict); None stands for state that is not kept
PyObject* set_state(PyObject*, Args args, Py_ssize_t count) {
  check_count("load_state_dict", count, 3);
  optim::Optimizer& optimizer = *handle_of(args[0]).optimizer;
  const size_t index = index_in(optimizer, args[1]);
  const Ref items(PyMapping_Items(args[2]));
  int64_t steps = 0;
  optim::NamedTensors tensors;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PyList_GET_ITEM(items.get(), i);
    PyObject* const key = PyTuple_GET_ITEM(item, 0);
    PyObject* const value = PyTuple_GET_ITEM(item, 1);
    if (PyUnicode_Check(key) == 0) {
      throw DTypeError(str(optimizer.name(), ": needs state under names, got ", type_name(key)));
    }
    const std::string name(utf8_of(key));
    if (name == "step") {
      steps = steps_of(optimizer.name(), value);
    } else if (is_tensor(value)) {
      tensors.emplace_back(name, tensor_of(value));
    } else if (value != Py_None) {
      throw DTypeError(
          str(optimizer.name(), ": needs a Tensor as state '", name, "', got ", type_name(value)));
    }
  }
  optimizer.set_state(index, steps, tensors);
  return Py_NewRef(Py_None);
}

PyMethodDef kFunctions[] = {
    {"_optimizer", guarded_method<make>(), METH_FASTCALL, nullptr},
    {"_optimizer_fits", guarded_method<fits>(), METH_FASTCALL, nullptr},
    {"_optimizer_step", guarded_method<step>(), METH_FASTCALL, nullptr},
    {"_optimizer_zero_grad", guarded_method<zero_grad>(), METH_FASTCALL, nullptr},
    {"_optimizer_state", guarded_method<state>(), METH_FASTCALL, nullptr},
    {"_optimizer_state_names", guarded_method<state_names>(), METH_FASTCALL, nullptr},
    {"_set_optimizer_state", guarded_method<set_state>(), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

void add_optimizers(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
