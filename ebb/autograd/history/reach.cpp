// ebb/autograd/history/reach.cpp -- walks over a graph, with a stack of their own.
#include "ebb/autograd/history/reach.h"

#include <string>
#include <string_view>
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

/// The name of an op, which is that of its form with a number too: a sum that starts at 0.
std::string plain_name(const Node& node) {
  constexpr std::string_view kWithNumber = "Scalar";
  std::string name = node.name();
  const size_t place = name.find(kWithNumber);
  return place == std::string::npos ? name : name.erase(place, kWithNumber.size());
}

bool is_same_op(const Node& node, const Node& other) {
  return node.location() == other.location() && plain_name(node) == plain_name(other);
}

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

bool is_carried(const Tensor& tensor, uint64_t sequence) {
  const Node* const maker = tensor.requires_grad() ? grad_fn(tensor) : nullptr;
  if (maker == nullptr || maker->location() == 0) return false;
  bool leads_there = false, repeats = false;
  std::unordered_set<const Node*> seen{maker};
  std::vector<const Node*> stack{maker};
  while (!stack.empty() && !(leads_there && repeats)) {
    const Node* const node = stack.back();
    stack.pop_back();
    leads_there |= node->sequence() == sequence;
    repeats |= node != maker && is_same_op(*node, *maker);
    for (const Edge& edge : node->edges()) {
      // Numbers fall along every edge.
      const bool is_new = edge.node != nullptr && edge.node->sequence() >= sequence;
      if (is_new && seen.insert(edge.node).second) stack.push_back(edge.node);
    }
  }
  return leads_there && repeats;
}

}  // namespace ebb::autograd
