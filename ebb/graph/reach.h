// ebb/graph/reach.h -- private to this folder: the nodes behind some roots, under their numbers.
//
// Ops are numbered by falling sequence number, then leaves by first use in the forward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/graph/tables.h"

namespace ebb::graph {

/// Walks the graph once, with a stack of its own. Valid while the roots keep the nodes alive.
class Reach {
 public:
  explicit Reach(std::span<const autograd::GradientEdge> roots);

  /// By number.
  const std::vector<autograd::Node*>& nodes() const { return nodes_; }
  /// For each edge of an op the number of the node it leads to; kNone if to nobody.
  std::span<const uint32_t> targets(uint32_t op) const {
    return {targets_.data() + first_target_[op], nodes_[op]->edge_count()};
  }
  /// The number of a node, kNone of one that was not reached.
  uint32_t number_of(const autograd::Node* node) const;
  /// Of edges that lead to a node, and of outputs of all nodes.
  size_t edge_count() const { return edge_count_; }
  size_t output_count() const { return output_count_; }

 private:
  /// An op as it was found: the place among all nodes found, and where its targets begin.
  struct Op {
    uint64_t sequence;
    uint32_t place;
    uint32_t first_target;
  };
  std::vector<Op> walk(std::span<const autograd::GradientEdge> roots);
  uint32_t reach(autograd::Node* node);
  void number_leaf(uint32_t place);

  PointerMap places_;                   // in the order of discovery
  std::vector<autograd::Node*> found_;  // by place
  std::vector<uint32_t> numbers_;       // by place
  std::vector<autograd::Node*> nodes_;
  std::vector<uint32_t> targets_;       // places at first, then numbers
  std::vector<uint32_t> first_target_;  // by number
  size_t edge_count_ = 0;
  size_t output_count_ = 0;
};

}  // namespace ebb::graph
