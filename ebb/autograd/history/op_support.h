// ebb/autograd/history/op_support.h -- the small parts of generated recording functions and nodes.
//
// Generated code (ebb/autograd/ops/<family>.cpp) is the only user. What it does is in record.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/overwrite.h"
#include "ebb/autograd/history/pack_saved.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/kernels/signatures.h"

namespace ebb::autograd {

/// Gate bits of an operand that may be left out.
inline uint32_t optional_gate(const Tensor& operand) {
  return operand.defined() ? operand.gate_bits() & gate::kMask : 0;
}
inline uint32_t list_gate(std::span<const Tensor> operands) {
  uint32_t bits = thread_state.modes;
  for (const Tensor& operand : operands) bits |= operand.gate_bits();
  return bits & gate::kMask;
}
/// Whether a call with these gate bits is recorded.
inline bool is_recorded(uint32_t bits) {
  return (bits & (gate::kRequiresGrad | gate::kNoGrad | gate::kInference)) == gate::kRequiresGrad;
}
inline bool requires_grad(std::span<const Tensor> operands) {
  return (list_gate(operands) & gate::kRequiresGrad) != 0;
}

/// A result of integers: its history ends here.
inline void note_not_differentiable(const Tensor& out, void* return_address) {
  mark_cut(out, Cut::not_differentiable, current_location(return_address));
}

/// The base of a new node, for set_history().
template <typename NodeType>
NodePtr<Node> as_node(NodePtr<NodeType>& node) {
  return NodePtr<Node>(node.leak());
}

inline int max_ndim(std::span<const Tensor> tensors) {
  int ndim = 0;
  for (const Tensor& tensor : tensors) ndim = std::max(ndim, tensor.ndim());
  return ndim;
}

/// What the node at the other end of an edge knows of this op's input.
inline const OutputMeta& meta_of_edge(Node& node, size_t index) {
  const Edge& edge = node.edges()[index];
  return edge.node->output_meta(edge.index);
}
/// The size of one dim, which may count from the back; of a 0-d tensor 1, for ops that take it as
/// one dim.
inline int64_t size_at(IntSpan sizes, int64_t dim) {
  return sizes.empty() ? 1 : at_dim("size", sizes, dim);
}

/// The gradients of all outputs, with zeros for those that none arrived at.
inline std::vector<Tensor> filled(const Node& node, std::span<const Tensor> grads) {
  std::vector<Tensor> all(grads.begin(), grads.end());
  for (size_t index = 0; index < all.size(); ++index) {
    if (!all[index].defined())
      all[index] = zeros_for(node.output_meta(static_cast<uint32_t>(index)));
  }
  return all;
}

/// What an op with several results returns, or a rule for several gradients, as a list.
template <typename... Tensors>
std::vector<Tensor> as_list(std::tuple<Tensors...> results) {
  return std::apply([](auto&... one) { return std::vector<Tensor>{std::move(one)...}; }, results);
}
inline std::vector<Tensor> as_list(std::vector<Tensor> results) { return results; }

// What a node shows of an attribute it keeps (Node::visit_attributes).
inline SavedAttribute attribute(kernels::Reduction reduction) {
  constexpr const char* names[] = {"none", "mean", "sum"};
  return std::string(names[static_cast<size_t>(reduction)]);
}
inline SavedAttribute attribute(IntSpan sizes) {
  return std::vector<int64_t>(sizes.begin(), sizes.end());
}
template <typename T>
SavedAttribute attribute(const T& value) {
  return value;
}
template <typename T>
SavedAttribute attribute(const std::optional<T>& value) {
  return value.has_value() ? attribute(*value) : SavedAttribute();
}
inline std::optional<IntSpan> given_sizes(bool is_given, const SavedShape& sizes) {
  return is_given ? std::optional(sizes.get()) : std::nullopt;
}

/// The complex conjugate of a number.
inline Scalar conj_of(const Scalar& value) {
  return value.kind() == Kind::complex ? Scalar(std::conj(value.to_complex())) : value;
}

/// Throws NotImplementedError, naming op and layout, for an operand that is no strided memory.
inline void refuse_layouts(const char* op, const char* name, const Tensor& operand) {
  require_strided(op, name, operand);
}
inline void refuse_layouts(const char* op, const char* name, std::span<const Tensor> operands) {
  for (const Tensor& operand : operands) require_strided(op, name, operand);
}

/// Throws AutogradError: out= forms are not recorded.
[[noreturn]] inline void throw_out_requires_grad(const char* op) {
  throw AutogradError(str(op,
                          ": the out= form is not differentiable and needs operands that require "
                          "no gradient, got one that does",
                          "\nhint: use the plain form, or call it under no_grad"));
}

}  // namespace ebb::autograd
