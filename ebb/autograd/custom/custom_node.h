// ebb/autograd/custom/custom_node.h -- what custom functions of C++ and of Python have in common.
//
// A custom function has run its forward() without recording. What comes now is the same for both
// languages: check what it marked, give its outputs their history (connect()), and keep what it
// saved. An input that comes back as it is becomes a view of itself; one that was marked dirty gets
// its new history in place. A saved tensor that is neither input nor output has a history that
// nobody recorded: backward may use its value, but a derivative through it is an error, never a
// wrong number (refuse_derivatives()).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/history/saved_tensor.h"

namespace ebb::autograd {

/// What forward() asked for besides its result.
struct CustomMarks {
  std::vector<Tensor> saved;  // undefined for none
  std::vector<Tensor> dirty;
  std::vector<Tensor> non_differentiable;
};

/// One call of a custom function whose forward() has returned.
struct CustomCall {
  const char* name;                // of the function, for messages
  std::span<const Tensor> inputs;  // the tensors among its arguments, in order
  std::span<Tensor> outputs;       // undefined where an output is no tensor
  const CustomMarks& marks;
};

/// One saved tensor of a custom function.
struct CustomSaved {
  enum class Kind : uint8_t { own, foreign, intermediate };
  ~CustomSaved() {
    if (edge.node != nullptr) edge.node->release();
  }
  SavedTensor tensor;
  Edge edge;  // counted: of a tensor with a history of its own that is no input (foreign)
  Kind kind = Kind::own;
};

/// Base of the nodes of custom functions: one edge per input, one output description per output.
class EBB_API CustomNode : public Node {
 public:
  NodeKind kind() const override { return NodeKind::custom; }
  /// The saved tensors with their history, whatever the grad mode: backward() may compute with
  /// recording on. A leaf is that leaf. Undefined where None was saved. Throws AutogradError if
  /// they were freed or written to.
  std::vector<Tensor> unpack_saved(bool releases);
  /// What backward() returned as a gradient: without its history unless the run is recorded.
  static Tensor gradient_from(Tensor result);
  /// What stands for the gradient of an output that none arrived at.
  Tensor zero_gradient(uint32_t output) const;
  void release_saved() noexcept override;
  void visit_saved(SavedVisitor& visitor) override;

 private:
  friend class Connection;
  std::unique_ptr<CustomSaved[]> saved_;
  uint32_t saved_count_ = 0;
};

/// Whether a call with these inputs is recorded.
EBB_API bool is_custom_recorded(std::span<const Tensor> inputs);
/// Room for a node with as many edges and outputs as the call has.
inline NodeLayout layout_of(const CustomCall& call, size_t class_bytes) {
  int most_dims = 0;
  for (const Tensor& out : call.outputs) {
    if (out.defined()) most_dims = std::max(most_dims, out.ndim());
  }
  const size_t edges = std::max<size_t>(call.inputs.size(), 1);
  return {class_bytes, edges, std::max<size_t>(call.outputs.size(), 1), most_dims};
}

/// Throws AutogradError for a dirty tensor that is no input, was not returned, is a leaf that
/// requires a gradient, or (of several outputs) a view. Nothing has changed then.
EBB_API void check_custom_marks(const CustomCall& call, bool is_recorded);
/// Makes `node` the history of the outputs (some are exchanged for an alias), and lets it save.
EBB_API void connect(NodePtr<CustomNode> node, const CustomCall& call, LocationId location);
/// The same for a call that is not recorded.
EBB_API void leave_unconnected(const CustomCall& call, LocationId location);

/// An alias of `value` that may be computed with; whoever differentiates through it to an input of
/// `owner`, or to one of `operands`, gets an AutogradError: the owner's name, then `reason`.
EBB_API Tensor refuse_derivatives(Node& owner, const Tensor& value, const std::string& reason,
                                  std::span<const Tensor> operands = {});

}  // namespace ebb::autograd
