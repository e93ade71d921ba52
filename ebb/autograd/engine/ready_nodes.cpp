// ebb/autograd/engine/ready_nodes.cpp -- the heap of ready nodes.
#include "ebb/autograd/engine/ready_nodes.h"

namespace ebb::autograd {
namespace {

bool runs_later(const Node* a, const Node* b) { return a->sequence() < b->sequence(); }

}  // namespace

void ReadyNodes::push_heap(Node* node) {
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(), runs_later);
}

Node* ReadyNodes::pop_heap() {
  std::pop_heap(heap_.begin(), heap_.end(), runs_later);
  Node* const node = heap_.back();
  heap_.pop_back();
  return node;
}

}  // namespace ebb::autograd
