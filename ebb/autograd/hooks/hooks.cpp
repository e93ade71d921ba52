// ebb/autograd/hooks/hooks.cpp -- registering hooks, and the calls that a run makes.
#include "ebb/autograd/hooks/hooks.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/names/place_name.h"
#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/hooks/foreign_error.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/runtime/profile.h"

namespace ebb::autograd {
namespace {

const char* noun_of(HookKind kind, const Hook& hook) {
  if (hook.noun() != nullptr) return hook.noun();
  switch (kind) {
    case HookKind::gate: return "gate";
    case HookKind::tensor: return "tensor hook";
    case HookKind::pre: return "node pre-hook";
    case HookKind::post: return "node hook";
    case HookKind::post_accumulate: return "post-accumulate hook";
  }
  return "hook";
}

std::string place_of(HookKind kind, const Hook& hook, const Node& node) {
  return str(noun_of(kind, hook), " ", in_quotes(hook.name()), " of ", node.name(),
             ", recorded at ", line_of(node.location()));
}

/// The modes and the location of the thread, put back after a hook whatever it did to them. In the
/// hook, what is recorded belongs to the hook's own lines.
class HookScope {
 public:
  HookScope() : modes_(thread_state.modes), no_location_(0) {}
  ~HookScope() { thread_state.modes = modes_; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

 private:
  uint32_t modes_;
  LocationScope no_location_;
};

template <typename Function>
void call_scoped(HookKind kind, const Hook& hook, const Node& node, Function&& function) {
  std::optional<OpRange> range;
  if (is_profiling()) {
    const std::string name =
        str(noun_of(kind, hook), " ", in_quotes(hook.name()), " of ", node.name());
    range.emplace(intern_range_name(name), node.location());
  }
  const HookScope scope;
  try {
    function();
  } catch (...) {
    rethrow_with(str("\n  in ", place_of(kind, hook, node)));
    throw;
  }
}

/// Watches the gradients that a hook is given. Some of their memory is also the seed's, another
/// input's gradient or what the user kept: a hook that writes there makes those wrong. Memory that
/// only the run holds may be written.
class SharedGradients {
 public:
  explicit SharedGradients(std::span<const Tensor> grads) {
    for (const Tensor& grad : grads) {
      if (grad.defined() && !is_private(grad)) shared_.emplace_back(grad, grad.version());
    }
  }

  void check(const HookTable::Entry& entry, const Node& node) const {
    for (const auto& [grad, version] : shared_) {
      if (grad.version() == version) continue;
      throw AutogradError(str(noun_of(entry.kind, *entry.hook), " ", in_quotes(entry.hook->name()),
                              ": must leave the gradient it is given as it is, since others share "
                              "its memory, got it written in place",
                              "\nhint: return the new gradient instead\n  in ",
                              place_of(entry.kind, *entry.hook, node)));
    }
  }

 private:
  std::vector<std::pair<Tensor, uint32_t>> shared_;
};

void call_one(const HookTable::Entry& entry, Node& node, const HookCall& call) {
  call_scoped(entry.kind, *entry.hook, node, [&] { entry.hook->call(call); });
}

/// What a hook left in place of a gradient must look like the gradient. `where`: how the text ends.
void check_result(HookKind kind, const Hook& hook, const Tensor& grad, const OutputMeta& meta,
                  const Node* where) {
  if (!grad.defined() || conforms_in_any_layout(grad, meta)) return;
  const std::string text = str(
      noun_of(kind, hook), " ", in_quotes(hook.name()), ": must return a gradient of ", meta.dtype,
      ' ', PrintShape{meta.shape()}, ", got ", grad.dtype(), ' ', PrintShape{grad.sizes()},
      where == nullptr ? "" : "\n  in " + place_of(kind, hook, *where));
  if (!equal(grad.sizes(), meta.shape())) throw ShapeError(text);
  throw DTypeError(text);
}
void check_result(const HookTable::Entry& entry, const Node& node, const Tensor& grad,
                  const OutputMeta& meta) {
  check_result(entry.kind, *entry.hook, grad, meta, &node);
}

Node& place_in_graph(const char* call, const Tensor& tensor) {
  if (!tensor.defined()) {
    throw ValueError(str(call, ": needs a defined tensor, got an undefined one"));
  }
  if (!tensor.requires_grad()) {
    throw AutogradError(str(call, ": needs a tensor that requires a gradient, got one",
                            naming_of(tensor), " that does not: ", explain_origin(tensor)));
  }
  return *gradient_edge(tensor).node;
}

HookHandle add_to(Node& node, HookKind kind, uint32_t output, std::shared_ptr<Hook> hook) {
  const std::shared_ptr<HookTable>& table = ensure_extra(node).hooks;
  const uint64_t id = table->add(kind, output, std::move(hook));
  return {table, id};
}

}  // namespace

HookHandle add_tensor_hook(const Tensor& tensor, std::shared_ptr<Hook> hook) {
  Node& node = place_in_graph("register_hook", tensor);
  return add_to(node, HookKind::tensor, gradient_edge(tensor).index, std::move(hook));
}

HookHandle add_post_accumulate_hook(const Tensor& leaf, std::shared_ptr<Hook> hook) {
  const char* const call = "register_post_accumulate_grad_hook";
  Node& node = place_in_graph(call, leaf);
  if (!is_leaf(leaf)) {
    throw AutogradError(str(call, ": needs a leaf, got a tensor made by ", node.name(),
                            "\nhint: use register_hook for its gradient"));
  }
  return add_to(node, HookKind::post_accumulate, 0, std::move(hook));
}

HookHandle add_node_hook(Node& node, HookKind kind, std::shared_ptr<Hook> hook) {
  return add_to(node, kind, 0, std::move(hook));
}

HookHandle add_tensor_hook_at(Node& node, uint32_t output, std::shared_ptr<Hook> hook) {
  return add_to(node, HookKind::tensor, output, std::move(hook));
}

void call_in_place(HookKind kind, const Hook& hook, const Node& node,
                   const std::function<void()>& function) {
  call_scoped(kind, hook, node, function);
}

void check_replacement(HookKind kind, const Hook& hook, const Edge& goal, const Tensor& grad) {
  if (goal.node == nullptr) return;
  check_result(kind, hook, grad, goal.node->output_meta(goal.index), nullptr);
}

bool call_gates(Node& node, std::span<Tensor> grads) {
  const auto hooks = node.extra()->hooks->snapshot();
  for (auto entry = hooks->rbegin(); entry != hooks->rend(); ++entry) {
    if (entry->kind != HookKind::gate) continue;
    bool is_held = false;
    call_one(*entry, node, {HookKind::gate, grads, {}, &is_held});
    if (is_held) return false;
  }
  return true;
}

void call_tensor_hooks(Node& node, std::span<Tensor> grads) {
  for (const auto hooks = node.extra()->hooks->snapshot(); const auto& entry : *hooks) {
    if (entry.kind != HookKind::tensor) continue;
    Tensor& grad = grads[entry.output];
    const SharedGradients shared({&grad, 1});
    call_one(entry, node, {HookKind::tensor, {&grad, 1}});
    shared.check(entry, node);
    check_result(entry, node, grad, node.output_meta(entry.output));
  }
}

void call_pre_hooks(Node& node, std::span<Tensor> grads) {
  for (const auto hooks = node.extra()->hooks->snapshot(); const auto& entry : *hooks) {
    if (entry.kind != HookKind::pre) continue;
    const SharedGradients shared(grads);
    call_one(entry, node, {HookKind::pre, grads});
    shared.check(entry, node);
    for (uint32_t index = 0; index < grads.size(); ++index) {
      check_result(entry, node, grads[index], node.output_meta(index));
    }
  }
}

void call_post_hooks(const HookTable::List& hooks, Node& node, std::span<Tensor> grad_inputs,
                     std::span<const Tensor> grad_outs) {
  for (const HookTable::Entry& entry : hooks) {
    if (entry.kind != HookKind::post) continue;
    const SharedGradients shared(grad_inputs), shared_outs(grad_outs);
    call_one(entry, node, {HookKind::post, grad_inputs, grad_outs});
    shared.check(entry, node);
    shared_outs.check(entry, node);
    for (size_t index = 0; index < grad_inputs.size(); ++index) {
      const Edge& edge = node.edges()[index];
      if (edge.node == nullptr) continue;
      check_result(entry, node, grad_inputs[index], edge.node->output_meta(edge.index));
    }
  }
}

void call_post_accumulate_hooks(Node& node, Tensor leaf) {
  for (const auto hooks = node.extra()->hooks->snapshot(); const auto& entry : *hooks) {
    if (entry.kind != HookKind::post_accumulate) continue;
    call_one(entry, node, {HookKind::post_accumulate, {&leaf, 1}});
  }
}

namespace {

/// A C++ function as a hook of any kind.
template <typename Function, typename Call>
class FunctionHook final : public Hook {
 public:
  FunctionHook(Function function, Call call)
      : function_(std::move(function)), call_(std::move(call)) {}
  void call(const HookCall& call) override { call_(function_, call); }

 private:
  Function function_;
  Call call_;
};

template <typename Function, typename Call>
std::shared_ptr<Hook> make_hook(Function function, Call call) {
  if (!function) throw ValueError("hook: needs a function, got an empty one");
  return std::make_shared<FunctionHook<Function, Call>>(std::move(function), std::move(call));
}

}  // namespace
}  // namespace ebb::autograd

namespace ebb {

using autograd::HookCall;
using autograd::HookKind;

HookHandle register_hook(const Tensor& tensor, std::function<Tensor(const Tensor& grad)> hook) {
  const auto call = [](const auto& function, const HookCall& call) {
    Tensor changed = function(call.grads[0]);
    if (changed.defined()) call.grads[0] = std::move(changed);
  };
  return add_tensor_hook(tensor, autograd::make_hook(std::move(hook), call));
}

HookHandle register_post_accumulate_grad_hook(const Tensor& leaf,
                                              std::function<void(const Tensor& leaf)> hook) {
  const auto call = [](const auto& function, const HookCall& call) { function(call.grads[0]); };
  return add_post_accumulate_hook(leaf, autograd::make_hook(std::move(hook), call));
}

HookHandle register_node_prehook(autograd::Node& node,
                                 std::function<void(std::span<Tensor> grad_outs)> hook) {
  const auto call = [](const auto& function, const HookCall& call) { function(call.grads); };
  return add_node_hook(node, HookKind::pre, autograd::make_hook(std::move(hook), call));
}

HookHandle register_node_hook(
    autograd::Node& node,
    std::function<void(std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outs)> hook) {
  const auto call = [](const auto& function, const HookCall& call) {
    function(call.grads, call.grad_outs);
  };
  return add_node_hook(node, HookKind::post, autograd::make_hook(std::move(hook), call));
}

}  // namespace ebb
