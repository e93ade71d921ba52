// python/src/autograd/function/function_node.cpp -- running backward() of a Python Function.
#include "python/src/autograd/function/function_node.h"

#include <mutex>
#include <string>
#include <unordered_set>

#include "ebb/core/base/error.h"
#include "python/src/autograd/function/function_intermediates.h"
#include "python/src/base/errors.h"
#include "python/src/base/python_error.h"
#include "python/src/base/tensor_object.h"

namespace ebb::python {

FunctionDefaults function_defaults;

namespace {

/// A call of backward() on this thread. Two threads may run one node, so ctx itself knows no run.
struct ActiveCall {
  const ContextObject* context;
  const autograd::NodeRun* run;
  const ActiveCall* outer;
};
thread_local const ActiveCall* active_call = nullptr;

class ActiveScope {
 public:
  explicit ActiveScope(const ActiveCall& call) { active_call = &call; }
  ~ActiveScope() { active_call = active_call->outer; }
  ActiveScope(const ActiveScope&) = delete;
  ActiveScope& operator=(const ActiveScope&) = delete;
};

/// The same text for ever: nodes hand out pointers.
const char* interned(std::string text) {
  static auto* const mutex = new std::mutex();
  static auto* const texts = new std::unordered_set<std::string>();
  const std::lock_guard lock(*mutex);
  return texts->insert(std::move(text)).first->c_str();
}

const char* class_name(const ContextObject* context) {
  return reinterpret_cast<PyTypeObject*>(context->function)->tp_name;
}

}  // namespace

const char* PythonNode::name() const { return interned(str(class_name(context_), "Backward")); }

void PythonNode::adopt(ContextObject* context) {
  context_ = context;
  context->node = this;
}

/// ctx must not be reached from a node that is going, nor changed without the GIL.
void PythonNode::dispose() noexcept {
  if (!interpreter_is_alive()) return;  // too late: the memory goes with the process
  if (PyGILState_Check() == 0) {
    // Still counted once: with the GIL, letting go comes back here.
    return call_with_gil([](void* node) { static_cast<PythonNode*>(node)->release(); }, this);
  }
  if (context_ != nullptr) context_->node = nullptr;
  Node::dispose();
}

PythonNode::~PythonNode() { Py_XDECREF(reinterpret_cast<PyObject*>(context_)); }

void PythonNode::apply(Tensor* grad_outs, Tensor* grad_inputs, autograd::NodeRun& run) {
  call_python([&] {
    const ModeScope modes(0, 0);  // what backward() sets lasts as long as it does
    const ActiveCall call{context_, &run, active_call};
    const ActiveScope scope(call);
    const Ref results = call_backward(grad_outs);
    take_gradients(results.get(), grad_inputs, run);
  });
}

/// The user's backward(), under either name.
Ref PythonNode::find_backward() const {
  static PyObject* const backward_name = PyUnicode_InternFromString("backward");
  static PyObject* const vjp_name = PyUnicode_InternFromString("vjp");
  Ref backward(PyObject_GetAttr(context_->function, backward_name));
  Ref vjp(PyObject_GetAttr(context_->function, vjp_name));
  const bool has_backward = backward.get() != function_defaults.backward;
  const bool has_vjp = vjp.get() != function_defaults.vjp;
  if (has_backward && has_vjp) {
    throw AutogradError(str(class_name(context_),
                            ": needs one of backward() and vjp(), which mean the same, got both"));
  }
  if (!has_backward && !has_vjp) {
    throw NotImplementedError(
        str(class_name(context_), ": needs a static method backward() or vjp(), got neither"));
  }
  return has_backward ? backward : vjp;
}

Ref PythonNode::gradient_argument(Tensor& grad, uint32_t index) const {
  if (grad.defined()) return Ref(wrap(std::move(grad)));
  if (!context_->materializes_grads || !tensor_outputs.contains(index)) return Ref::share(Py_None);
  return Ref(wrap(zero_gradient(index)));
}

Ref PythonNode::call_backward(Tensor* grad_outs) {
  const Ref backward = find_backward();
  constexpr size_t kFew = 6;
  PyObject* few[kFew + 2];
  std::vector<PyObject*> many;
  const uint32_t count = output_count();
  if (count > kFew) many.resize(count + 2);
  PyObject** const arguments = (count > kFew ? many.data() : few) + 1;  // slot 0 is the callee's
  arguments[0] = reinterpret_cast<PyObject*>(context_);
  std::vector<Ref> owned(count);
  for (uint32_t index = 0; index < count; ++index) {
    owned[index] = gradient_argument(grad_outs[index], index);
    arguments[index + 1] = owned[index].get();
  }
  const size_t flags = (count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  if (!is_grad_enabled()) {
    return Ref(call_vector(backward.get(), arguments, flags));
  }
  const IntermediatesScope intermediates(context_, *this);
  return Ref(call_vector(backward.get(), arguments, flags));
}

/// How many of the results count: one per argument of forward(), and Nones behind them.
size_t PythonNode::count_gradients(PyObject* const* items, size_t count) const {
  const size_t expected = context_->argument_count;
  bool fits = count >= expected;
  for (size_t index = expected; index < count; ++index) fits &= items[index] == Py_None;
  if (fits) return expected;
  throw ValueError(str(name(), ": backward() must return one gradient per argument of forward(), ",
                       expected, ", got ", count));
}

void PythonNode::take_gradients(PyObject* results, Tensor* grad_inputs, autograd::NodeRun& run) {
  const bool is_sequence = PyTuple_Check(results) || PyList_Check(results);
  PyObject* const* const items = is_sequence ? PySequence_Fast_ITEMS(results) : &results;
  const auto given =
      is_sequence ? static_cast<size_t>(PySequence_Fast_GET_SIZE(results)) : size_t{1};
  const size_t count = count_gradients(items, given);
  size_t edge = 0;
  for (size_t index = 0; index < count; ++index) {
    PyObject* const item = items[index];
    const bool takes_gradient = tensor_arguments.contains(index);
    if (item != Py_None && !is_tensor(item)) {
      throw DTypeError(
          str(name(), ": gradient ", index, " must be a Tensor or None, got ", type_name(item)));
    }
    if (item != Py_None && !takes_gradient) {
      throw ValueError(str(name(), ": gradient ", index,
                           " must be None, since that argument of forward() is no Tensor, got a "
                           "Tensor"));
    }
    if (item != Py_None && run.wants(edge)) grad_inputs[edge] = gradient_from(tensor_of(item));
    if (takes_gradient) ++edge;
  }
}

const autograd::NodeRun* run_of(const ContextObject* context) {
  const ActiveCall* call = active_call;
  while (call != nullptr && call->context != context) call = call->outer;
  return call == nullptr ? nullptr : call->run;
}

int visit_context(const autograd::Node* node, uint32_t owners, visitproc visit, void* arg) {
  if (node == nullptr || node->is_accumulator() || node->owner_count() != owners) return 0;
  const auto* const made_by = dynamic_cast<const PythonNode*>(node);
  if (made_by == nullptr) return 0;
  Py_VISIT(reinterpret_cast<PyObject*>(made_by->context()));
  return 0;
}

}  // namespace ebb::python
