// ebb/autograd/hooks/hooks.h -- functions of the user's that a run calls: at tensors, nodes and
// leaves.
//
// A tensor's hook is bound, when it is registered, to the node and the output that made the tensor
// (a leaf's to its accumulator), so an in-place write later on leaves it with the old value. A run
// calls, for each node that it reaches: 0 gates (gradient_gate.h), the last registered first; 1
// tensor hooks on the summed gradient; then gradients are kept where retain_grad() asked; 2 node
// pre-hooks; the node itself, for a leaf its accumulation and then 3 post-accumulate hooks; 4 node
// post-hooks, on checked gradients. No lock is held during a call, so hooks may do anything: add
// and remove hooks, run other graphs, throw. What runs is the list as it was when its turn came.
// Start reading at HookTable (history/hook_table.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ebb/autograd/history/hook_table.h"
#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Takes a hook back.
class EBB_API HookHandle {
 public:
  HookHandle() = default;
  HookHandle(std::shared_ptr<HookTable> table, uint64_t id) : table_(std::move(table)), id_(id) {}
  /// True if the hook was there, so the second call gives false.
  bool remove() { return table_ != nullptr && table_->remove(id_); }
  uint64_t id() const { return id_; }

 private:
  std::shared_ptr<HookTable> table_;
  uint64_t id_ = 0;
};

/// The handles of hooks that were registered together.
class HookHandles {
 public:
  explicit HookHandles(std::vector<HookHandle> handles) : handles_(std::move(handles)) {}
  /// True if any of them was still there.
  bool remove() {
    bool was_there = false;
    for (HookHandle& handle : handles_) was_there |= handle.remove();
    return was_there;
  }
  std::span<const HookHandle> handles() const { return handles_; }

 private:
  std::vector<HookHandle> handles_;
};

// The general forms, for front ends. Each throws AutogradError for a tensor without a place in the
// graph; the post-accumulate form for one that is no leaf.
EBB_API HookHandle add_tensor_hook(const Tensor& tensor, std::shared_ptr<Hook> hook);
EBB_API HookHandle add_post_accumulate_hook(const Tensor& leaf, std::shared_ptr<Hook> hook);
EBB_API HookHandle add_node_hook(Node& node, HookKind kind, std::shared_ptr<Hook> hook);
/// Binds a tensor hook to a place in the graph, whatever tensor has it by now.
EBB_API HookHandle add_tensor_hook_at(Node& node, uint32_t output, std::shared_ptr<Hook> hook);

// Calling all hooks of one kind. Each checks what a hook put in place of a gradient and throws
// ShapeError or DTypeError naming it, or AutogradError if it wrote to memory that others hold too;
// a hook's own exception gets the node's forward line added.
/// False if the node must wait for a gradient that a gate holds back, and `grads` are given up.
EBB_API bool call_gates(Node& node, std::span<Tensor> grads);
EBB_API void call_tensor_hooks(Node& node, std::span<Tensor> grads);
EBB_API void call_pre_hooks(Node& node, std::span<Tensor> grads);
/// `hooks`: those of the node as its turn came, before it ran.
EBB_API void call_post_hooks(const HookTable::List& hooks, Node& node,
                             std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outs);
EBB_API void call_post_accumulate_hooks(Node& node, Tensor leaf);

// For gates, whose hook is called at one node for several:
/// Calls `function` as a hook of the node is called: modes are put back, errors tell the place.
EBB_API void call_in_place(HookKind kind, const Hook& hook, const Node& node,
                           const std::function<void()>& function);
/// Throws ShapeError or DTypeError, naming the hook, if the gradient cannot go along the edge.
EBB_API void check_replacement(HookKind kind, const Hook& hook, const Edge& goal,
                               const Tensor& grad);

}  // namespace ebb::autograd

namespace ebb {

using autograd::HookHandle;

/// Calls `hook` with the tensor's gradient whenever a run has completed it, before anything else is
/// done with it; also when grad() only collects it. A defined result replaces the gradient.
/// The gradient is undefined if nothing defined arrived. Hooks of any kind may write to a gradient
/// only if nobody but the run holds its memory: else the run throws AutogradError.
EBB_API HookHandle register_hook(const Tensor& tensor,
                                 std::function<Tensor(const Tensor& grad)> hook);
/// Calls `hook` with the leaf right after a gradient was added to it.
EBB_API HookHandle register_post_accumulate_grad_hook(const Tensor& leaf,
                                                      std::function<void(const Tensor& leaf)> hook);
/// Calls `hook` before the node runs; it may replace the gradients of the node's outputs.
EBB_API HookHandle register_node_prehook(autograd::Node& node,
                                         std::function<void(std::span<Tensor> grad_outs)> hook);
/// Calls `hook` after the node ran; it may replace the gradients of the node's inputs.
EBB_API HookHandle register_node_hook(
    autograd::Node& node,
    std::function<void(std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outs)> hook);

}  // namespace ebb
