// ebb/autograd/custom/function.cpp -- recording calls of C++ custom functions, and running them
// backwards.
#include "ebb/autograd/custom/function.h"

#include <cxxabi.h>

#include <cstdlib>

#include "ebb/autograd/forward/dual_call.h"
#include "ebb/autograd/history/op_support.h"
#include "ebb/core/base/error.h"

namespace ebb {
namespace autograd {
namespace {

/// The call of backward() that this thread is in: contexts know neither node nor run by themselves,
/// since two threads may run one node.
struct ActiveBackward {
  const FunctionContext* context;
  FunctionNode* node;
  const NodeRun* run;
  ActiveBackward* outer;
};
thread_local ActiveBackward* active_backward = nullptr;

const ActiveBackward* find_active(const FunctionContext& context) {
  const ActiveBackward* active = active_backward;
  while (active != nullptr && active->context != &context) active = active->outer;
  return active;
}

class ActiveScope {
 public:
  explicit ActiveScope(ActiveBackward& active) { active_backward = &active; }
  ~ActiveScope() { active_backward = active_backward->outer; }
  ActiveScope(const ActiveScope&) = delete;
  ActiveScope& operator=(const ActiveScope&) = delete;
};

}  // namespace

class FunctionNode final : public CustomNode {
 public:
  const char* name() const override { return full_name.c_str(); }

  void apply(Tensor* grad_outs, Tensor* grad_inputs, NodeRun& run) override {
    std::vector<Tensor> grads(grad_outs, grad_outs + output_count());
    if (context->materializes_) grads = filled(*this, grads);
    const ModeScope modes(0, 0);  // what backward() sets lasts as long as it does
    ActiveBackward active{context.get(), this, &run, active_backward};
    const ActiveScope scope(active);
    std::vector<Tensor> results = call(std::move(grads));
    check_count(results);
    for (size_t index = 0; index < results.size() && index < context->edges_.size(); ++index) {
      const int edge = context->edges_[index];
      if (!results[index].defined()) continue;
      if (edge < 0) {
        throw AutogradError(str(full_name, ": the gradient of argument ", index,
                                ", which is no tensor, must be undefined, got a tensor"));
      }
      if (run.wants(static_cast<size_t>(edge))) {
        grad_inputs[edge] = gradient_from(std::move(results[index]));
      }
    }
  }

  std::unique_ptr<FunctionContext> context;
  FunctionCall::Backward backward = nullptr;
  FunctionCall::Order order = FunctionCall::Order::any;
  std::string full_name;

 private:
  std::vector<Tensor> call(std::vector<Tensor> grads) {
    if (order == FunctionCall::Order::any || !is_grad_enabled()) {
      return backward(*context, std::move(grads));
    }
    const std::vector<Tensor> operands = grads;
    std::vector<Tensor> results;
    {
      const NoGradGuard guard;
      results = backward(*context, std::move(grads));
    }
    for (Tensor& result : results) {
      if (!result.defined()) continue;
      result = refuse_derivatives(
          *this, result, "is differentiable once, got a derivative of its backward asked for",
          operands);
    }
    return results;
  }

  void check_count(const std::vector<Tensor>& results) const {
    const size_t expected = context->edges_.size();
    bool fits = results.size() >= expected;
    for (size_t index = expected; index < results.size(); ++index)
      fits &= !results[index].defined();
    if (fits) return;
    throw ValueError(str(full_name, ": backward() must return one gradient per argument of ",
                         "forward(), ", expected, ", got ", results.size()));
  }
};

void FunctionCall::add(const Tensor& input) {
  context_->edges_.push_back(static_cast<int>(inputs_.size()));
  context_->needed_.push_back(input.requires_grad());
  inputs_.push_back(input);
}

void FunctionCall::add_other() {
  context_->edges_.push_back(-1);
  context_->needed_.push_back(false);
}

void FunctionCall::begin() {
  if (!carries_tangent(inputs_)) return;
  if (jvp_ == nullptr) {
    throw NotImplementedError(
        str(name_, ": needs a static function jvp() in forward mode, got none"));
  }
  dual_.emplace(inputs_);
}

void FunctionCall::finish(std::span<Tensor> outputs, Backward backward, Order order,
                          void* return_address) {
  const CustomMarks marks = std::exchange(context_->marks_, {});
  const CustomCall call{name_, inputs_, outputs, marks};
  const bool is_recorded = is_custom_recorded(inputs_);
  check_custom_marks(call, is_recorded);
  const LocationId location = current_location(return_address);
  FunctionContext& context = *context_;
  if (!is_recorded) {
    leave_unconnected(call, location);
    return propagate_tangents(call, context);
  }
  const NodeLayout layout = layout_of(call, sizeof(FunctionNode));
  auto node = make_node<FunctionNode>(layout.edges, layout.outputs,
                                      static_cast<int>(layout.meta_words) - 1);
  node->context = std::move(context_);
  node->backward = backward;
  node->order = order;
  node->full_name = str(name_, "Backward");
  const NodePtr<Node> owner = NodePtr<Node>::share(node.get());  // of the context
  connect(NodePtr<CustomNode>(node.leak()), call, location);
  propagate_tangents(call, context);
}

void FunctionCall::propagate_tangents(const CustomCall& call, FunctionContext& context) const {
  const std::vector<Tensor> saved = std::exchange(context.saved_for_forward_, {});
  if (!dual_) return;
  dual_->propagate(call, [&](const DualCall& dual, const std::vector<Tensor>& tangents) {
    std::vector<Tensor> arguments(context.edges_.size());
    for (size_t index = 0; index < arguments.size(); ++index) {
      const int input = context.edges_[index];
      if (input >= 0) arguments[index] = tangents[static_cast<size_t>(input)];
    }
    const std::vector<Tensor> visible = dual.primals(saved);
    context.in_jvp_ = &visible;
    const auto end = [](FunctionContext* ended) { ended->in_jvp_ = nullptr; };
    const std::unique_ptr<FunctionContext, decltype(end)> scope(&context, end);
    return jvp_(context, std::move(arguments));
  });
}

std::string short_type_name(const std::type_info& type) {
  char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr);
  const std::string full = text == nullptr ? type.name() : text;
  std::free(text);
  const size_t colon = full.rfind(':');
  return colon == std::string::npos ? full : full.substr(colon + 1);
}

}  // namespace autograd

std::vector<Tensor> FunctionContext::saved_tensors() const {
  if (in_jvp_ != nullptr) return *in_jvp_;
  const autograd::ActiveBackward* const active = autograd::find_active(*this);
  if (active == nullptr) {
    throw AutogradError(
        "saved_tensors: are there in backward() and jvp(), got a call from elsewhere");
  }
  return active->node->unpack_saved(false);
}

bool FunctionContext::needs_input_grad(size_t index) const {
  if (index >= edges_.size()) {
    throw IndexError(str("needs_input_grad: needs an argument of forward(), which has ",
                         edges_.size(), ", got ", index));
  }
  const autograd::ActiveBackward* const active = autograd::find_active(*this);
  if (active == nullptr || edges_[index] < 0) return needed_[index];
  return active->run->wants(static_cast<size_t>(edges_[index]));
}

}  // namespace ebb
