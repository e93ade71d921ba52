// ebb/autograd/node.h -- one recorded op: Node, its edges, and what it knows of its outputs.
//
// A node is one block of memory: the 64-byte header below, then what its class saves, then its
// edges (one per input of the op), then the shape and dtype of each output of the op. Words:
// "output" and "input" are those of the forward op; in backward, gradients of the outputs arrive
// and gradients of the inputs leave along the edges. Start reading at Node::apply().
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "ebb/core/location.h"
#include "ebb/core/tensor.h"

namespace ebb::autograd {

class Node;
class NodeRun;
struct NodeExtra;  // hooks, names: made when first needed (node_extra.h)

/// Where a gradient goes: output `index` of the op that `node` recorded. Owned by the node that
/// holds it; a null node means that nobody wants this gradient.
struct Edge {
  Node* node = nullptr;
  uint32_t index = 0;
};
static_assert(sizeof(Edge) == 16);

/// Shape, dtype and device of one output of a recorded op: what its gradient must look like.
struct OutputMeta {
  DType dtype;
  uint8_t ndim;
  Device device;
  uint32_t reserved;
  int64_t dims[];

  IntSpan shape() const { return {dims, ndim}; }
};
static_assert(sizeof(OutputMeta) == 8);

/// Base of all recorded ops. Counted; destroyed without recursion (node.cpp).
class EBB_API Node : public Producer {
 public:
  /// The op's name with "Backward": MulBackward.
  virtual const char* name() const = 0;

  /// Computes gradients of the inputs. `grad_outs` holds one gradient per output (undefined if none
  /// arrived) and may be moved from; `grad_inputs` holds one undefined tensor per edge, to be
  /// filled where run.wants(edge).
  virtual void apply(Tensor* grad_outs, Tensor* grad_inputs, NodeRun& run) = 0;

  /// Frees what was saved for backward. Calling it twice does no harm. Called under SavedLock.
  virtual void release_saved() noexcept {}
  /// Whether something was saved and then freed.
  bool is_released() const { return (flags_ & kReleased) != 0; }
  virtual bool is_accumulator() const { return false; }

  LocationId location() const { return location_; }
  uint64_t sequence() const { return sequence_; }
  uint32_t edge_count() const { return edge_count_; }
  uint32_t output_count() const { return output_count_; }
  std::span<Edge> edges() {
    return {reinterpret_cast<Edge*>(reinterpret_cast<char*>(this) + edges_offset_), edge_count_};
  }
  std::span<const Edge> edges() const { return const_cast<Node*>(this)->edges(); }
  const OutputMeta& output_meta(uint32_t index) const {
    return const_cast<Node*>(this)->mutable_output_meta(index);
  }
  NodeExtra* extra() const { return extra_; }

 protected:
  friend struct NodeAccess;
  static constexpr uint16_t kReleased = 1;  // saved tensors were freed
  static constexpr uint16_t kLocked = 2;    // somebody is unpacking (see SavedLock)
  static constexpr uint16_t kHasSaved = 4;  // release_saved() has something to do

  Node() = default;
  ~Node() override = default;
  void dispose() noexcept final;
  OutputMeta& mutable_output_meta(uint32_t index) {
    const size_t offset = edges_offset_ + sizeof(Edge) * size_t{edge_count_};
    char* const first = reinterpret_cast<char*>(this) + offset;
    return *reinterpret_cast<OutputMeta*>(first + size_t{meta_stride_} * index);
  }

  LocationId location_ = 0;
  uint64_t sequence_ = 0;

  // Scratch of the one run that may use it at a time (engine.cpp): which run, how many gradients
  // are still to come, and the sum so far (for several outputs: an array behind the metas).
  uint32_t task_ = 0;
  uint32_t pending_ = 0;
  TensorImpl* slot_ = nullptr;

  NodeExtra* extra_ = nullptr;
  uint32_t edge_count_ = 0;
  uint32_t output_count_ = 0;
  std::atomic<uint16_t> flags_{0};
  uint16_t meta_stride_ = 0;
  uint16_t edges_offset_ = 0;
  uint16_t reserved_ = 0;
};
static_assert(sizeof(Node) == 64);

/// What apply() may ask of the run it is part of.
class NodeRun {
 public:
  NodeRun(Node& node, bool releases, const void* restricted_to)
      : edges_(node.edges()), releases_(releases), restricted_to_(restricted_to) {}

  /// Whether the gradient along edge `index` is wanted in this run.
  bool wants(size_t index) const {
    const Node* const next = edges_[index].node;
    return next != nullptr && (restricted_to_ == nullptr || is_needed(next));
  }
  /// Whether saved tensors are to be given up as they are unpacked.
  bool releases() const { return releases_; }

 private:
  bool is_needed(const Node* node) const;

  std::span<Edge> edges_;
  bool releases_;
  const void* restricted_to_;  // the Task, if only some nodes take part
};

/// Bytes that a node of a class of `class_bytes` takes with its edges, metas and slots.
constexpr size_t node_bytes(size_t class_bytes, size_t edges, size_t outputs, size_t meta_stride) {
  const size_t slots = outputs > 1 ? outputs * sizeof(TensorImpl*) : 0;
  return class_bytes + edges * sizeof(Edge) + outputs * meta_stride + slots;
}

/// Owning pointer to a node.
template <typename T>
class NodePtr {
 public:
  NodePtr() = default;
  explicit NodePtr(T* adopted) : node_(adopted) {}
  NodePtr(const NodePtr& other) : node_(other.node_) {
    if (node_ != nullptr) node_->retain();
  }
  NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodePtr() {
    if (node_ != nullptr) node_->release();
  }
  static NodePtr share(T* node) {
    if (node != nullptr) node->retain();
    return NodePtr(node);
  }
  T* get() const { return node_; }
  T* operator->() const { return node_; }
  T& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  T* leak() { return std::exchange(node_, nullptr); }

 private:
  T* node_ = nullptr;
};

}  // namespace ebb::autograd
