// ebb/autograd/engine/ready_nodes.h -- nodes whose gradients have all come, latest recorded first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ebb/autograd/history/node.h"

namespace ebb::autograd {

/// One register in front of a heap: on a chain, the node just made ready is the one to run next.
class ReadyNodes {
 public:
  explicit ReadyNodes(std::vector<Node*>& heap) : heap_(heap) { heap_.clear(); }
  void push(Node* node) {
    if (next_ == nullptr) {
      next_ = node;
      return;
    }
    if (node->sequence() > next_->sequence()) std::swap(node, next_);
    push_heap(node);
  }
  Node* pop() {
    if (next_ != nullptr && (heap_.empty() || heap_.front()->sequence() < next_->sequence())) {
      return std::exchange(next_, nullptr);
    }
    return heap_.empty() ? nullptr : pop_heap();
  }

  /// The number of the one to run next; 0 if there is none.
  uint64_t latest() const {
    const uint64_t next = next_ == nullptr ? 0 : next_->sequence();
    return heap_.empty() ? next : std::max(next, heap_.front()->sequence());
  }
  bool empty() const { return next_ == nullptr && heap_.empty(); }
  /// Whether there is one beyond the one to run next.
  bool has_surplus() const { return heap_.size() > (next_ == nullptr ? 1u : 0u); }
  /// One that would have run late. Only if has_surplus().
  Node* take_surplus() {
    Node* const node = heap_.back();  // the end of a heap is none of its large elements
    heap_.pop_back();
    return node;
  }
  /// How many of the nodes, up to `limit`, satisfy `is_counted`.
  template <typename Predicate>
  size_t count_up_to(size_t limit, Predicate is_counted) const {
    size_t count = next_ != nullptr && is_counted(*next_) ? 1 : 0;
    for (size_t index = 0; index < heap_.size() && count < limit; ++index) {
      count += is_counted(*heap_[index]) ? 1 : 0;
    }
    return count;
  }

 private:
  void push_heap(Node* node);
  Node* pop_heap();

  Node* next_ = nullptr;
  std::vector<Node*>& heap_;
};

}  // namespace ebb::autograd
