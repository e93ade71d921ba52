// ebb/autograd/run_state.cpp -- claiming the state inside nodes; the heap of ready nodes.
#include "ebb/autograd/run_state.h"

#include <algorithm>
#include <atomic>

namespace ebb::autograd {
namespace {

// Whether some run is using the scratch inside nodes.
std::atomic<bool> node_scratch_taken{false};

}  // namespace

ScratchClaim::ScratchClaim()
    : is_held_(!node_scratch_taken.exchange(true, std::memory_order_acquire)) {}
ScratchClaim::~ScratchClaim() {
  if (is_held_) node_scratch_taken.store(false, std::memory_order_release);
}

// A run's number is never reused while a node could still carry it: 2^32 runs lie between.
NodeScratch::NodeScratch() {
  static std::atomic<uint32_t> next_id{1};
  id_ = next_id.fetch_add(1, std::memory_order_relaxed);
  if (id_ == 0) id_ = next_id.fetch_add(1, std::memory_order_relaxed);  // 0 marks fresh nodes
}

void ReadyNodes::push_heap(Node* node) {
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(),
                 [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
}

Node* ReadyNodes::pop_heap() {
  std::pop_heap(heap_.begin(), heap_.end(),
                [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  Node* const node = heap_.back();
  heap_.pop_back();
  return node;
}

BufferClaim::BufferClaim() : buffers_(static_cast<RunBuffers*>(thread_state.engine)) {
  thread_state.engine = nullptr;
  if (buffers_ == nullptr) buffers_ = new RunBuffers();
}

BufferClaim::~BufferClaim() {
  thread_local std::unique_ptr<RunBuffers> kept;
  buffers_->roots.clear();
  buffers_->staged.clear();
  if (kept == nullptr) kept.reset(buffers_);
  if (kept.get() == buffers_) {
    thread_state.engine = buffers_;
  } else {
    delete buffers_;  // of a run inside another, which is using the kept ones
  }
}

}  // namespace ebb::autograd
