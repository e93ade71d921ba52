// ebb/autograd/history/saved_tensor.h -- what a node keeps of the forward pass: tensors, shapes.
//
// A SavedTensor holds the value and the version it had. It never holds a tensor that owns autograd
// meta (a leaf, say) or a base (a view): that could close a cycle through the leaf's gradient, or
// the base's history. Such a tensor, and an output of the node itself, is saved as a detached twin,
// and its history is put back at unpack from the node's own edges. unpack() refuses values that
// were written to since. What saved-tensor hooks packed stands behind a husk: a tensor of the same
// shape without elements (packed_value.h).
#pragma once

#include <cstdint>
#include <memory>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

struct HookFrame;
class PackedValue;

/// Held while a node's saved values are unpacked: two threads may run one graph at a time, and one
/// of them may be releasing. Free of cost while the process has one thread.
class EBB_API SavedLock {
 public:
  explicit SavedLock(Node& node);
  ~SavedLock();
  SavedLock(const SavedLock&) = delete;
  SavedLock& operator=(const SavedLock&) = delete;

  /// Lets others in while a hook runs, which may take long or want the lock itself.
  void pause() noexcept;
  void resume() noexcept;

 private:
  Node& node_;
  bool is_held_;
};

/// One saved operand or result: 16 bytes.
class EBB_API SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(const SavedTensor&) = delete;
  SavedTensor& operator=(const SavedTensor&) = delete;
  ~SavedTensor() { reset(); }

  /// Saves an operand; `edge` is the index of its edge in the node that saves it, whose history is
  /// put back at unpack. An undefined tensor is saved as such.
  void save_input(const Tensor& tensor, size_t edge) {
    if (tensor.defined()) save_operand(tensor, edge);
  }
  /// The same for an operand that is defined.
  [[gnu::always_inline]] void save_operand(const Tensor& tensor, size_t edge) {
    TensorImpl* const impl = tensor.impl();
    if (impl->meta != nullptr) {
      set(twin_by_meta(tensor), Kind::twin, edge);
      return;
    }
    constexpr uint32_t kTwin = TensorImpl::kView | TensorImpl::kUnseenWrites;
    const uint32_t kind = impl->flag_bits() & (gate::kRequiresGrad | kTwin);
    // What requires a gradient is no inference tensor.
    if (kind != gate::kRequiresGrad && impl->storage->is_inference()) [[unlikely]]
      throw_inference(*impl);
    if ((kind & kTwin) != 0) {
      set(twin_of_view(tensor), Kind::twin, edge);
      return;
    }
    impl->retain();
    // Relaxed: threads may be saving one tensor at a time, and all write the same.
    __atomic_store_n(&impl->saved_as_it_is, uint8_t{1}, __ATOMIC_RELAXED);
    set(impl, Kind::plain, edge);
  }
  /// Saves a copy made of an operand before it is written over; unpack gives it the history that
  /// the operand had then.
  void save_copy(Tensor copy, size_t edge) { set(copy.leak(), Kind::twin, edge); }
  /// Saves output `index` of the node itself.
  void save_output(const Tensor& tensor, size_t index);
  /// Saves a value without any history (a constant of the backward rule).
  void save_constant(const Tensor& tensor);

  /// If it holds `impl` itself, holds a detached twin from now on: the history of `impl` is about
  /// to change. What unpack() gives stays the same.
  void let_go_of(const TensorImpl* impl);

  // Forward mode (dual_call.h): tangents that came to be after saving.
  /// If it holds the output `out` of the node, that carries the tangents of `out` from now on.
  void carry_output_tangents(const Tensor& out);
  /// If it holds a copy of operand 0 from before a write, that carries the tangents of `before`.
  void carry_copy_tangents(const Tensor& before);

  void reset() noexcept {
    if (impl_ != nullptr) std::exchange(impl_, nullptr)->release();
  }
  bool defined() const { return impl_ != nullptr; }
  [[noreturn]] static void throw_inference(const TensorImpl& impl);
  /// For looking in: the impl held, and the version it had.
  const TensorImpl* impl() const { return impl_; }
  uint32_t version() const { return version_; }

  /// The value, with history if grad mode is on. If `releases`, it is given up. Throws
  /// AutogradError, naming `name`, if it was freed before or written to since it was saved. `lock`
  /// is the one held, if any: it is paused while unpack hooks run.
  Tensor unpack(Node& owner, const char* name, bool releases, SavedLock* lock = nullptr);
  /// The value with its history, whatever the grad mode; of a leaf or a tensor saved as it was,
  /// that very tensor. If `releases`, it is given up.
  Tensor look(Node& owner, const char* name, SavedLock& lock, bool releases = false);

  /// Lets the pack hooks of `frame` and those around it replace the value. Nothing happens to an
  /// undefined, packed or stale one. No SavedLock may be held.
  void pack(const std::shared_ptr<const HookFrame>& frame, Node& owner, const char* name);
  bool is_packed() const { return impl_ != nullptr && static_cast<Kind>(kind_) == Kind::packed; }
  /// What hooks made of the value; it lives as long as impl() does. Only if is_packed().
  const PackedValue& packed() const;

 private:
  bool is_copy() const;

  enum class Kind : uint8_t { plain, twin, output, constant, gone, packed };

  void set(TensorImpl* adopted, Kind kind, size_t index) {
    impl_ = adopted;
    version_ = adopted->storage->version();
    index_ = static_cast<uint32_t>(index) & 0xffffffu;
    kind_ = static_cast<uint32_t>(kind);
  }
  static TensorImpl* twin_by_meta(const Tensor& tensor);
  static TensorImpl* twin_of_view(const Tensor& tensor);
  Tensor with_history(Node& owner) const;
  Tensor unpack_packed(Node& owner, const char* name, SavedLock* lock) const;

  TensorImpl* impl_ = nullptr;
  uint32_t version_ = 0;
  uint32_t index_ : 24 = 0;  // edge or output, by kind
  uint32_t kind_ : 8 = 0;
};
static_assert(sizeof(SavedTensor) == 16);

/// Sizes kept for a backward rule that needs only them. They live as long as the node:
/// release_saved() leaves them, since another thread may be reading them.
class EBB_API SavedShape {
 public:
  SavedShape() = default;
  SavedShape(const SavedShape&) = delete;
  SavedShape& operator=(const SavedShape&) = delete;
  ~SavedShape() { reset(); }

  void save(IntSpan sizes);
  void reset() noexcept;
  IntSpan get() const {
    return block_ == nullptr ? IntSpan() : IntSpan(block_ + 1, static_cast<size_t>(block_[0]));
  }

 private:
  int64_t* block_ = nullptr;  // the number of sizes, then the sizes
};

/// `value` with the history that `edge` leads to, and its tangents: itself if there is none, and a
/// leaf itself where `edge` leads to one that shows what `value` does.
Tensor original_of(const Tensor& value, const Edge& edge);
/// Throws AutogradError: the node's saved tensors were freed by an earlier run.
[[noreturn]] EBB_API void throw_released(const Node& node);

}  // namespace ebb::autograd
