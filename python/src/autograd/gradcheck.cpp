// python/src/autograd/gradcheck.cpp -- ebb/testing/gradcheck.h for ebb.autograd.gradcheck.
//
// The checks run without the GIL, as backward() does; each call of the function under test takes
// it. Start reading at run().
#include "python/src/autograd/gradcheck.h"

#include <string>
#include <vector>

#include "ebb/core/base/error.h"
#include "ebb/testing/gradcheck.h"
#include "python/src/base/errors.h"
#include "python/src/base/python_error.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

using Args = PyObject* const*;
using testing::GradcheckOptions;

/// An option, under its name in Python.
struct Field {
  const char* name;
  double GradcheckOptions::*number;
  bool GradcheckOptions::*flag;
};

constexpr Field kFields[] = {
    {"eps", &GradcheckOptions::eps, nullptr},
    {"atol", &GradcheckOptions::atol, nullptr},
    {"rtol", &GradcheckOptions::rtol, nullptr},
    {"nondet_tol", &GradcheckOptions::nondet_tol, nullptr},
    {"fast_mode", nullptr, &GradcheckOptions::fast_mode},
    {"check_backward_ad", nullptr, &GradcheckOptions::check_backward_ad},
    {"check_forward_ad", nullptr, &GradcheckOptions::check_forward_ad},
    {"check_rev_over_rev", nullptr, &GradcheckOptions::check_backward_ad},
    {"check_fwd_over_rev", nullptr, &GradcheckOptions::check_forward_ad},
    {"check_rev_over_fwd", nullptr, &GradcheckOptions::check_rev_over_fwd},
    {"check_undefined_grad", nullptr, &GradcheckOptions::check_undefined_grad},
    {"check_grad_dtypes", nullptr, &GradcheckOptions::check_grad_dtypes},
    {"check_batched_grad", nullptr, &GradcheckOptions::check_batched_grad},
    {"check_batched_forward_grad", nullptr, &GradcheckOptions::check_batched_forward_grad},
    {"gen_non_contig_grad_outputs", nullptr, &GradcheckOptions::gen_non_contig_grad_outputs},
};

GradcheckOptions to_options(const char* op, PyObject* dict) {
  if (PyDict_Check(dict) == 0) {
    throw DTypeError(str(op, ": needs a dict of options, got ", type_name(dict)));
  }
  GradcheckOptions options;
  for (const Field& field : kFields) {
    PyObject* const value = PyDict_GetItemString(dict, field.name);
    if (value == nullptr) continue;
    if (field.flag != nullptr) {
      options.*field.flag = to_truth(value);
    } else {
      options.*field.number = to_number(op, field.name, value);
    }
  }
  return options;
}

/// The tensors among the arguments, a tuple; no tensor stands for any other object.
std::vector<Tensor> to_inputs(const char* op, PyObject* arguments) {
  if (PyTuple_Check(arguments) == 0) {
    throw DTypeError(str(op, ": needs a tuple of arguments, got ", type_name(arguments)));
  }
  std::vector<Tensor> inputs;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(arguments, i);
    inputs.push_back(is_tensor(item) ? tensor_of(item) : Tensor());
  }
  return inputs;
}

/// The tensors that can have a gradient among what a function returned: one, or any iterable.
std::vector<Tensor> to_outputs(PyObject* returned) {
  const bool is_iterable = Py_TYPE(returned)->tp_iter != nullptr || PySequence_Check(returned) != 0;
  if (!is_tensor(returned) && !is_iterable) return {};
  const Ref all(is_tensor(returned) ? PyTuple_Pack(1, returned) : PySequence_Tuple(returned));
  std::vector<Tensor> outputs;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(all.get(), i);
    if (is_tensor(item) && is_differentiable(tensor_of(item).dtype())) {
      outputs.push_back(tensor_of(item));
    }
  }
  return outputs;
}

std::vector<Tensor> call(PyObject* function, PyObject* arguments, std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs;
  call_python([&] {
    const Ref given(PyTuple_New(PyTuple_GET_SIZE(arguments)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
      const Tensor& input = inputs[static_cast<size_t>(i)];
      PyTuple_SET_ITEM(given.get(), i,
                       input.defined() ? wrap(input) : Py_NewRef(PyTuple_GET_ITEM(arguments, i)));
    }
    const Ref returned(
        run_unless_exiting([&] { return PyObject_CallObject(function, given.get()); }));
    outputs = to_outputs(returned.get());
  });
  return outputs;
}

/// Returns None if the check passes, else the text of its error.
template <typename Run>
PyObject* run(const char* op, PyObject* function, PyObject* arguments, Run&& check) {
  const std::vector<Tensor> inputs = to_inputs(op, arguments);
  std::string mistake;
  {
    const ReleaseGil released;
    try {
      check([&](std::span<const Tensor> given) { return call(function, arguments, given); },
            inputs);
    } catch (const testing::GradcheckError& error) {
      mistake = error.what();
    }
  }
  if (mistake.empty()) return Py_NewRef(Py_None);
  return text_object(mistake);
}

// (function, inputs, options)
PyObject* check_first(PyObject*, Args args, Py_ssize_t count) {
  check_count("gradcheck", count, 3);
  const GradcheckOptions options = to_options("gradcheck", args[2]);
  return run("gradcheck", args[0], args[1],
             [&](const testing::TensorFunction& function, auto& inputs) {
               testing::gradcheck(function, inputs, options);
             });
}

// (function, inputs, grad_outputs, options)
PyObject* check_second(PyObject*, Args args, Py_ssize_t count) {
  check_count("gradgradcheck", count, 4);
  const std::vector<Tensor> seeds = to_tensors("gradgradcheck", args[2]);
  const GradcheckOptions options = to_options("gradgradcheck", args[3]);
  return run("gradgradcheck", args[0], args[1],
             [&](const testing::TensorFunction& function, auto& inputs) {
               testing::gradgradcheck(function, inputs, seeds, options);
             });
}

PyMethodDef kFunctions[] = {
    {"_gradcheck", guarded_method<check_first>(), METH_FASTCALL, nullptr},
    {"_gradgradcheck", guarded_method<check_second>(), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

void add_gradcheck(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
