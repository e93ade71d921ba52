// ebb/autograd/history/node.h -- one recorded op: Node, its edges, and what it knows of its
// outputs.
//
// A node is one block of memory: the 64-byte header below, then what its class saves, then the
// shape and dtype of each output of the op, then its edges, one per input of the op. Words:
// "output" and "input" are those of the forward op; in backward, gradients of the outputs arrive
// and gradients of the inputs leave along the edges. Start reading at Node::apply().
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ebb/core/base/location.h"
#include "ebb/core/base/scalar.h"
#include "ebb/core/device/op_context.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

class Node;
class NodeRun;
class SavedTensor;
struct NodeExtra;  // hooks, names: made when first needed (node_extra.h)

/// Where a gradient goes: output `index` of the op that `node` recorded. Owned by the node that
/// holds it; a null node means that nobody wants this gradient.
struct Edge {
  Node* node = nullptr;
  uint32_t index = 0;
  /// In a node's first edge: the line of the run that freed what the node had saved.
  LocationId freed_at = 0;
};
static_assert(sizeof(Edge) == 16);

/// Shape, dtype and device of one output of a recorded op: what its gradient must look like.
struct OutputMeta {
  DType dtype;
  uint8_t ndim;
  Device device;
  uint32_t flags : 8;     // the tensor's when it was recorded
  uint32_t context : 24;  // an OpContext: which module was being called, on which streams
  int64_t dims[];

  IntSpan shape() const { return {dims, ndim}; }
  /// Whether the op's result shared memory with an operand.
  bool is_view() const { return (flags & TensorImpl::kView) != 0; }
};
static_assert(sizeof(OutputMeta) == 8);

/// Is shown what a node saved, tensor by tensor.
class SavedVisitor {
 public:
  virtual void visit(const char* name, SavedTensor& saved) = 0;

 protected:
  ~SavedVisitor() = default;
};

/// A number, list or name that a node saved; std::monostate for one that was not given.
using SavedAttribute = std::variant<std::monostate, bool, int64_t, double, std::string,
                                    std::vector<int64_t>, Scalar, DType, Device>;

/// Is shown what a node saved besides tensors.
class AttributeVisitor {
 public:
  virtual void visit(const char* name, SavedAttribute value) = 0;

 protected:
  ~AttributeVisitor() = default;
};

/// What a node stands for. The numbers are those of the graph's data format.
enum class NodeKind : uint8_t {
  op = 0,
  leaf = 1,    // adds to a leaf's gradient
  custom = 2,  // a custom function of the user's
  write = 3,   // the new history of a view, or of its base, after a write
};

/// Base of all recorded ops. Counted; destroyed without recursion (node_block.cpp).
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
  /// Shows the visitor every saved tensor. Call under SavedLock.
  virtual void visit_saved(SavedVisitor& /*visitor*/) {}
  /// Shows the visitor everything else that was saved; it stays when the tensors are freed.
  virtual void visit_attributes(AttributeVisitor& /*visitor*/) const {}
  /// Whether something was saved and then freed.
  bool is_released() const { return (flags_.load(std::memory_order_relaxed) & kReleased) != 0; }
  virtual bool is_accumulator() const { return false; }
  /// For those who look at graphs.
  virtual NodeKind kind() const { return NodeKind::op; }
  /// Whether only the thread that called backward() may run it, as where it calls Python.
  bool needs_caller_thread() const {
    return (flags_.load(std::memory_order_relaxed) & kCallerThread) != 0;
  }

  LocationId location() const { return location_; }
  uint64_t sequence() const { return sequence_; }
  uint32_t edge_count() const { return edge_count_; }
  uint32_t output_count() const { return output_count_; }
  std::span<Edge> edges() { return {edge_data(), edge_count_}; }
  std::span<const Edge> edges() const { return const_cast<Node*>(this)->edges(); }
  const OutputMeta& output_meta(uint32_t index) const {
    return const_cast<Node*>(this)->mutable_output_meta(index);
  }
  uint32_t owner_count() const { return refs_.value(); }
  /// Threads may meet here: one gives a node its first hook while another runs it.
  NodeExtra* extra() const { return __atomic_load_n(&extra_, __ATOMIC_ACQUIRE); }

 protected:
  friend struct NodeAccess;
  friend class NodeRun;
  static constexpr uint8_t kReleased = 1;      // saved tensors were freed
  static constexpr uint8_t kLocked = 2;        // somebody is unpacking (see SavedLock)
  static constexpr uint8_t kHasSaved = 4;      // release_saved() has something to do
  static constexpr uint8_t kCallerThread = 8;  // see needs_caller_thread()

  Node() = default;
  ~Node() override = default;
  void dispose() noexcept override;
  static void destroy(Node* node) noexcept;
  Edge* edge_data() {
    return reinterpret_cast<Edge*>(reinterpret_cast<char*>(this) + edges_offset_);
  }
  OutputMeta& mutable_output_meta(uint32_t index) {
    char* const first = reinterpret_cast<char*>(this) + meta_offset_;
    return *reinterpret_cast<OutputMeta*>(first + size_t{meta_words_} * 8 * index);
  }

  LocationId location_ = 0;
  uint64_t sequence_ = 0;

  // Scratch of the one run that may use it at a time (scratch.h): which run, how many gradients are
  // still to come, and their sum so far (for several outputs: an array behind the edges). Outside
  // of a run all slots are null.
  uint32_t task_ = 0;
  uint32_t pending_ = 0;
  TensorImpl* slot_ = nullptr;

  NodeExtra* extra_ = nullptr;
  uint32_t edge_count_ = 0;
  uint32_t output_count_ = 0;
  uint32_t edges_offset_ = 0;
  uint16_t meta_offset_ = 0;
  uint8_t meta_words_ = 0;  // of 8 bytes, that each OutputMeta takes
  std::atomic<uint8_t> flags_{0};
};
static_assert(sizeof(Node) == 64);

/// A run in which only some edges take part.
class RestrictedRun {
 public:
  virtual bool is_needed(const Edge& edge) const = 0;

 protected:
  ~RestrictedRun() = default;
};

/// What apply() may ask of the run it is part of.
class EBB_API NodeRun {
 public:
  NodeRun(Node& node, bool releases, const RestrictedRun* restricted_to)
      : edges_(node.edge_data()), releases_(releases), restricted_to_(restricted_to) {}

  /// Whether the gradient along edge `index` is wanted in this run.
  bool wants(size_t index) const {
    const Edge& edge = edges_[index];
    return edge.node != nullptr && (restricted_to_ == nullptr || is_needed(edge));
  }
  /// Whether saved tensors are to be given up as they are unpacked.
  bool releases() const { return releases_; }

 private:
  bool is_needed(const Edge& edge) const;

  const Edge* edges_;
  bool releases_;
  const RestrictedRun* restricted_to_;  // null if all nodes take part
};

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
