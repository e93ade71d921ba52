// python/src/optimizers.cpp -- the optimizers' steps, for python/ebb/optim.
//
// Python sees a C++ optimizer as a capsule and hands it to these functions; one call makes a whole
// step, without the GIL. Options come with each step, because users change them in param_groups.
#include "python/src/optimizers.h"

#include <memory>
#include <string>
#include <vector>

#include "ebb/core/error.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/sgd.h"
#include "python/src/args.h"
#include "python/src/errors.h"

namespace ebb::python {
namespace {

using Args = PyObject* const*;

constexpr char kSgdCapsule[] = "ebb.SGD";
constexpr char kAdamCapsule[] = "ebb.Adam";

template <typename Kind>
void destroy(PyObject* capsule) {
  delete static_cast<Kind*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}

template <typename Kind>
PyObject* make_capsule(std::unique_ptr<Kind> optimizer, const char* name) {
  PyObject* const capsule = checked(PyCapsule_New(optimizer.get(), name, destroy<Kind>));
  optimizer.release();
  return capsule;
}

optim::SGD& sgd_of(PyObject* object) {
  return *static_cast<optim::SGD*>(PyCapsule_IsValid(object, kSgdCapsule)
                                       ? PyCapsule_GetPointer(object, kSgdCapsule)
                                       : throw InternalError("step: needs an SGD optimizer"));
}
optim::Adam& adam_of(PyObject* object) {
  return *static_cast<optim::Adam*>(PyCapsule_IsValid(object, kAdamCapsule)
                                        ? PyCapsule_GetPointer(object, kAdamCapsule)
                                        : throw InternalError("step: needs an Adam optimizer"));
}
optim::Optimizer& optimizer_of(PyObject* object) {
  if (PyCapsule_IsValid(object, kSgdCapsule)) return sgd_of(object);
  return adam_of(object);
}

void check_count(const char* op, Py_ssize_t got, Py_ssize_t needed) {
  if (got != needed) {
    throw DTypeError(str(op, ": needs ", needed, " arguments, got ", got));
  }
}

double number(const char* op, const char* name, PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw DTypeError(str(op, ": needs a number for ", name, ", got ", type_name(object)));
  }
  return value;
}

bool truth(PyObject* object) {
  const int value = PyObject_IsTrue(object);
  check_status(value);
  return value != 0;
}

Tensor tensor_or_nothing(const char* op, PyObject* object) {
  if (object == Py_None) return {};
  if (!is_tensor(object)) {
    throw DTypeError(str(op, ": needs a Tensor, got ", type_name(object)));
  }
  return tensor_of(object);
}

std::vector<Tensor> tensors_of(const char* op, PyObject* list) {
  const Ref fast(PySequence_Tuple(list));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fast.get()); ++i) {
    tensors.push_back(tensor_or_nothing(op, PyTuple_GET_ITEM(fast.get(), i)));
  }
  return tensors;
}

PyObject* new_sgd(PyObject*, PyObject* parameters) {
  return guarded([&] {
    auto optimizer = std::make_unique<optim::SGD>(tensors_of("SGD", parameters));
    return make_capsule(std::move(optimizer), kSgdCapsule);
  });
}
PyObject* new_adam(PyObject*, PyObject* parameters) {
  return guarded([&] {
    auto optimizer = std::make_unique<optim::Adam>(tensors_of("Adam", parameters));
    return make_capsule(std::move(optimizer), kAdamCapsule);
  });
}
PyObject* new_adamw(PyObject*, PyObject* parameters) {
  return guarded([&] {
    std::unique_ptr<optim::Adam> optimizer =
        std::make_unique<optim::AdamW>(tensors_of("AdamW", parameters));
    return make_capsule(std::move(optimizer), kAdamCapsule);
  });
}

// (optimizer, lr, momentum, dampening, weight_decay, nesterov, maximize)
optim::SGDOptions sgd_options(Args args, Py_ssize_t count) {
  check_count("SGD", count, 7);
  return {.lr = number("SGD", "lr", args[1]),
          .momentum = number("SGD", "momentum", args[2]),
          .dampening = number("SGD", "dampening", args[3]),
          .weight_decay = number("SGD", "weight_decay", args[4]),
          .nesterov = truth(args[5]),
          .maximize = truth(args[6])};
}

// (optimizer, lr, beta1, beta2, eps, weight_decay, amsgrad, maximize)
optim::AdamOptions adam_options(Args args, Py_ssize_t count) {
  check_count("Adam", count, 8);
  return {.lr = number("Adam", "lr", args[1]),
          .beta1 = number("Adam", "beta1", args[2]),
          .beta2 = number("Adam", "beta2", args[3]),
          .eps = number("Adam", "eps", args[4]),
          .weight_decay = number("Adam", "weight_decay", args[5]),
          .amsgrad = truth(args[6]),
          .maximize = truth(args[7])};
}

PyObject* set_sgd_options(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    sgd_of(args[0]).set_options(sgd_options(args, count));
    return Py_NewRef(Py_None);
  });
}
PyObject* set_adam_options(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    adam_of(args[0]).set_options(adam_options(args, count));
    return Py_NewRef(Py_None);
  });
}

PyObject* sgd_step(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    const optim::SGDOptions options = sgd_options(args, count);
    optim::SGD& optimizer = sgd_of(args[0]);
    {
      const ReleaseGil released;
      optimizer.set_options(options);
      optimizer.step();
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* adam_step(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    const optim::AdamOptions options = adam_options(args, count);
    optim::Adam& optimizer = adam_of(args[0]);
    {
      const ReleaseGil released;
      optimizer.set_options(options);
      optimizer.step();
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* zero_grad(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    check_count("zero_grad", count, 2);
    // The GIL stays: gradients that go may have Python objects.
    optimizer_of(args[0]).zero_grad(truth(args[1]));
    return Py_NewRef(Py_None);
  });
}

size_t index_in(const optim::Optimizer& optimizer, PyObject* object) {
  const int64_t index = to_int64(object);
  if (index < 0 || index >= static_cast<int64_t>(optimizer.parameters().size())) {
    throw IndexError(str("state: needs the number of a parameter, got ", index));
  }
  return static_cast<size_t>(index);
}

PyObject* sgd_state(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    check_count("state", count, 2);
    const optim::SGD& optimizer = sgd_of(args[0]);
    return wrap(optimizer.momentum_buffer(index_in(optimizer, args[1])));
  });
}

// (optimizer, index, momentum_buffer)
PyObject* set_sgd_state(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    check_count("load_state_dict", count, 3);
    optim::SGD& optimizer = sgd_of(args[0]);
    const Tensor buffer = tensor_or_nothing("load_state_dict", args[2]);
    optimizer.set_momentum_buffer(index_in(optimizer, args[1]), buffer);
    return Py_NewRef(Py_None);
  });
}

PyObject* adam_state(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    check_count("state", count, 2);
    const optim::Adam& optimizer = adam_of(args[0]);
    const optim::AdamState& state = optimizer.state(index_in(optimizer, args[1]));
    const Ref step(PyLong_FromLongLong(state.step));
    const Ref exp_avg(wrap(state.exp_avg));
    const Ref exp_avg_sq(wrap(state.exp_avg_sq));
    const Ref max_exp_avg_sq(wrap(state.max_exp_avg_sq));
    return checked(
        PyTuple_Pack(4, step.get(), exp_avg.get(), exp_avg_sq.get(), max_exp_avg_sq.get()));
  });
}

// (optimizer, index, step, exp_avg, exp_avg_sq, max_exp_avg_sq)
PyObject* set_adam_state(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    check_count("load_state_dict", count, 6);
    optim::Adam& optimizer = adam_of(args[0]);
    const optim::AdamState state{to_int64(args[2]), tensor_or_nothing("load_state_dict", args[3]),
                                 tensor_or_nothing("load_state_dict", args[4]),
                                 tensor_or_nothing("load_state_dict", args[5])};
    optimizer.set_state(index_in(optimizer, args[1]), state);
    return Py_NewRef(Py_None);
  });
}

PyMethodDef kFunctions[] = {
    {"_sgd", new_sgd, METH_O, nullptr},
    {"_adam", new_adam, METH_O, nullptr},
    {"_adamw", new_adamw, METH_O, nullptr},
    {"_sgd_step", as_method(sgd_step), METH_FASTCALL, nullptr},
    {"_adam_step", as_method(adam_step), METH_FASTCALL, nullptr},
    {"_set_sgd_options", as_method(set_sgd_options), METH_FASTCALL, nullptr},
    {"_set_adam_options", as_method(set_adam_options), METH_FASTCALL, nullptr},
    {"_optimizer_zero_grad", as_method(zero_grad), METH_FASTCALL, nullptr},
    {"_sgd_state", as_method(sgd_state), METH_FASTCALL, nullptr},
    {"_set_sgd_state", as_method(set_sgd_state), METH_FASTCALL, nullptr},
    {"_adam_state", as_method(adam_state), METH_FASTCALL, nullptr},
    {"_set_adam_state", as_method(set_adam_state), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

void add_optimizers(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
