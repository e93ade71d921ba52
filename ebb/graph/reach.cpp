// ebb/graph/reach.cpp -- finding nodes, then numbering them.
//
// A graph is larger than the caches, so each edge's node is looked up once: later passes read the
// numbers that were noted then.
#include "ebb/graph/reach.h"

#include <algorithm>

#include "ebb/graph/rows.h"

namespace ebb::graph {

using autograd::Edge;
using autograd::GradientEdge;
using autograd::Node;

Reach::Reach(std::span<const GradientEdge> roots) {
  std::vector<Op> ops = walk(roots);
  std::sort(ops.begin(), ops.end(),
            [](const Op& one, const Op& other) { return one.sequence > other.sequence; });
  numbers_.assign(found_.size(), kNone);
  nodes_.reserve(found_.size());
  first_target_.reserve(ops.size());
  for (const Op& op : ops) {
    numbers_[op.place] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(found_[op.place]);
    first_target_.push_back(op.first_target);
  }
  for (size_t op = ops.size(); op-- > 0;) {
    for (const uint32_t place : targets(static_cast<uint32_t>(op))) number_leaf(place);
  }
  for (const GradientEdge& root : roots) number_leaf(*places_.find(root.node.get()));
  for (uint32_t& target : targets_) target = target == kNone ? kNone : numbers_[target];
}

std::vector<Reach::Op> Reach::walk(std::span<const GradientEdge> roots) {
  std::vector<Op> ops;
  for (const GradientEdge& root : roots) reach(root.node.get());
  std::vector<uint32_t> stack;
  size_t seen = 0;
  const auto push_new = [&] {
    for (; seen < found_.size(); ++seen) stack.push_back(static_cast<uint32_t>(seen));
  };
  push_new();
  while (!stack.empty()) {
    const uint32_t place = stack.back();
    stack.pop_back();
    Node& node = *found_[place];
    output_count_ += node.output_count();
    if (node.is_accumulator()) continue;
    ops.push_back({node.sequence(), place, static_cast<uint32_t>(targets_.size())});
    for (const Edge& edge : node.edges()) {
      targets_.push_back(edge.node == nullptr ? kNone : reach(edge.node));
      if (edge.node != nullptr) ++edge_count_;
    }
    push_new();
  }
  return ops;
}

uint32_t Reach::reach(Node* node) {
  const auto fresh = static_cast<uint32_t>(found_.size());
  const uint32_t place = places_.at(node, fresh);
  if (place == fresh) found_.push_back(node);
  return place;
}

void Reach::number_leaf(uint32_t place) {
  if (place == kNone || numbers_[place] != kNone) return;
  numbers_[place] = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(found_[place]);
}

uint32_t Reach::number_of(const Node* node) const {
  const uint32_t* const place = places_.find(node);
  return place == nullptr ? kNone : numbers_[*place];
}

}  // namespace ebb::graph
