// python/src/parts/clip_grad.cpp -- bounding and unscaling gradients, for ebb.nn.utils and
// ebb.amp; one call for all parameters.
#include "python/src/parts/clip_grad.h"

#include "ebb/nn/clip_grad.h"
#include "ebb/optim/grad_scaler.h"
#include "python/src/base/tensor_object.h"
#include "python/src/calls/op_call.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

// (parameters, max_norm, norm_type, error_if_nonfinite)
PyObject* clip_norm(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const char* const op = "clip_grad_norm_";
  check_count(op, count, 4);
  const std::vector<Tensor> parameters = to_tensors(op, args[0]);
  const double max_norm = to_number(op, "max_norm", args[1]);
  const double norm_type = to_number(op, "norm_type", args[2]);
  const bool refuses = to_truth(args[3]);
  Tensor norm;
  {
    const ReleaseGil released;
    norm = nn::utils::clip_grad_norm_(parameters, max_norm, norm_type, refuses);
  }
  return wrap(std::move(norm));
}

// (parameters, clip_value)
PyObject* clip_value(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const char* const op = "clip_grad_value_";
  check_count(op, count, 2);
  const std::vector<Tensor> parameters = to_tensors(op, args[0]);
  const double limit = to_number(op, "clip_value", args[1]);
  {
    const ReleaseGil released;
    nn::utils::clip_grad_value_(parameters, limit);
  }
  return Py_NewRef(Py_None);
}

// (parameters, inverse_scale): whether those of the CPU were finite, and what devices found
PyObject* unscale(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const char* const op = "unscale_";
  check_count(op, count, 2);
  const std::vector<Tensor> parameters = to_tensors(op, args[0]);
  const double inverse = to_number(op, "inverse_scale", args[1]);
  nn::utils::Finiteness answer;
  {
    const ReleaseGil released;
    answer = nn::utils::unscale_grads_(parameters, inverse);
  }
  const Ref found(result(std::move(answer.found)));
  return PyTuple_Pack(2, answer.is_finite_here ? Py_True : Py_False, found.get());
}

// (scale, growth_tracker, is_finite, growth_factor, backoff_factor, growth_interval): the first two
// after a step
PyObject* next_scale(PyObject*, PyObject* args) {
  amp::LossScale state;
  long long tracker = 0, interval = 0;
  int is_finite = 0;
  double growth = 0, backoff = 0;
  if (PyArg_ParseTuple(args, "dLpddL", &state.scale, &tracker, &is_finite, &growth, &backoff,
                       &interval) == 0) {
    return nullptr;
  }
  state.growth_tracker = tracker;
  state.update(is_finite != 0, growth, backoff, interval);
  return Py_BuildValue("(dL)", state.scale, static_cast<long long>(state.growth_tracker));
}

PyMethodDef kFunctions[] = {
    {"_clip_grad_norm", guarded_method<clip_norm>(), METH_FASTCALL, nullptr},
    {"_clip_grad_value", guarded_method<clip_value>(), METH_FASTCALL, nullptr},
    {"_unscale_grads", guarded_method<unscale>(), METH_FASTCALL, nullptr},
    {"_next_scale", next_scale, METH_VARARGS, nullptr},
    {},
};

}  // namespace

void add_clip_grad(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
