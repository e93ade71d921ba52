// python/src/autograd/function/function_node.h -- the node of a Python Function: calls backward()
// of the user's class.
#pragma once

#include <cstdint>

#include "ebb/autograd/custom/custom_node.h"
#include "python/src/autograd/function/function_context.h"

namespace ebb::python {

/// Owns its ctx. Destroyed with the GIL held, whoever lets go of it last.
class PythonNode final : public autograd::CustomNode {
 public:
  const char* name() const override;
  void apply(Tensor* grad_outs, Tensor* grad_inputs, autograd::NodeRun& run) override;

  /// Takes over the reference; called once, before the node is connected.
  void adopt(ContextObject* context);
  ContextObject* context() const { return context_; }
  /// Which arguments of forward() are tensors.
  Positions tensor_arguments;
  /// Which outputs are.
  Positions tensor_outputs;

 protected:
  void dispose() noexcept override;
  ~PythonNode() override;

 private:
  Ref find_backward() const;
  Ref call_backward(Tensor* grad_outs);
  Ref gradient_argument(Tensor& grad, uint32_t index) const;
  size_t count_gradients(PyObject* const* items, size_t count) const;
  void take_gradients(PyObject* results, Tensor* grad_inputs, autograd::NodeRun& run);

  ContextObject* context_ = nullptr;
};

/// The run for which this thread is in backward() of `context`, or null.
const autograd::NodeRun* run_of(const ContextObject* context);
/// Where Function keeps what a class has if it does not override it.
struct FunctionDefaults {
  PyObject* forward = nullptr;
  PyObject* setup_context = nullptr;
  PyObject* backward = nullptr;
  PyObject* vjp = nullptr;
  PyObject* jvp = nullptr;
};
extern FunctionDefaults function_defaults;

/// For the collector: visits the ctx of `node` if it is a Function's, and has `owners` owners, for
/// which the caller speaks.
int visit_context(const autograd::Node* node, uint32_t owners, visitproc visit, void* argument);

}  // namespace ebb::python
