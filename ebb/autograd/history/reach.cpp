// ebb/autograd/history/reach.cpp -- a walk over a graph, with a stack of its own.
#include "ebb/autograd/history/reach.h"

#include <unordered_set>
#include <vector>

#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/autograd/history/variable.h"

namespace ebb::autograd {
namespace {

/// The nodes behind some tensors, each once.
class Walk {
 public:
  void add(Node* node) {
    if (node != nullptr && seen_.insert(node).second) stack_.push_back(node);
  }
  void skip(const Node* node) {
    if (node != nullptr && node->edge_count() == 0) seen_.insert(node);
  }
  bool finds_leaf() {
    while (!stack_.empty()) {
      Node* const node = stack_.back();
      stack_.pop_back();
      const bool is_live_leaf =
          node->is_accumulator() && static_cast<AccumulateGrad*>(node)->share_leaf().defined();
      if (is_live_leaf) return true;
      for (const Edge& edge : node->edges()) add(edge.node);
    }
    return false;
  }

 private:
  std::vector<Node*> stack_;
  std::unordered_set<const Node*> seen_;
};

}  // namespace

bool reaches_other_leaves(std::span<const Tensor> tensors, std::span<const Tensor> own) {
  Walk walk;
  for (const Tensor& tensor : own) walk.skip(gradient_edge(tensor).node);
  for (const Tensor& tensor : tensors) {
    if (tensor.requires_grad()) walk.add(gradient_edge(tensor).node);
    std::vector<ForwardLevelPtr> levels;
    add_levels(tensor, levels);
    for (const ForwardLevelPtr& level : levels) {
      const Tensor tangent = tangent_of(tensor, *level);
      if (tangent.defined() && tangent.requires_grad()) walk.add(gradient_edge(tangent).node);
    }
  }
  return walk.finds_leaf();
}

}  // namespace ebb::autograd
