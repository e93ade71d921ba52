// ebb/core/tensor/tensor_impl.h -- the object behind a Tensor: geometry, memory and a place for
// history.
//
// The first 64 bytes are all that an op reads on its straight path; sizes and strides follow in the
// same block (128 bytes up to 4 dimensions). Core knows nothing of gradients: it carries a counted
// Producer (who made this tensor) and an AutogradMetaBase (what else autograd keeps), both
// abstract.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/refcount.h"
#include "ebb/core/base/shape.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/device/device.h"
#include "ebb/core/runtime/block_cache.h"
#include "ebb/core/tensor/storage.h"

namespace ebb {

/// The recorded op that made a tensor, as seen from core: something counted.
class EBB_API Producer {
 public:
  void retain() { refs_.increment(); }
  void release() noexcept {
    if (refs_.decrement()) dispose();
  }

 protected:
  Producer() = default;
  virtual ~Producer() = default;
  /// Called once, when the last owner has let go. Must not recurse over a graph.
  virtual void dispose() noexcept = 0;

  RefCount refs_;
};

/// What autograd keeps beside a tensor (gradient, hooks). Not owned through this pointer.
class EBB_API AutogradMetaBase {
 public:
  /// The last owner of the tensor that this belongs to is about to destroy it. False if another
  /// owner was made from here meanwhile; the last one's count in `refs` was then given back.
  virtual bool lets_owner_die(RefCount& /*refs*/) noexcept { return true; }
  /// The tensor that this belongs to is being destroyed.
  virtual void owner_died() noexcept = 0;

 protected:
  virtual ~AutogradMetaBase() = default;
};

/// Where a view was made; a write with a gradient through any but a normal one is refused.
enum class Creation : uint8_t { normal, no_grad, inference, custom_function };

struct TensorImpl;

/// What a view knows of the tensor whose memory it shows.
struct ViewRecord {
  TensorImpl* base;       // counted; never a view itself; null once the view was cut off from it
  Producer* made_from;    // the base's producer when the view got its history; only compared
  uint32_t version;       // of the storage at that time
  uint32_t made_at : 30;  // the line, for messages; 0 if unknown
  uint32_t creation : 2;
};

/// See the top of the file. Fields are public to ebb's own layers; users go through Tensor.
struct EBB_API TensorImpl {
  // Flag bits; the low four are gate bits (thread_state.h).
  static constexpr uint8_t kContiguous = 1u << 4;
  static constexpr uint8_t kLeaf = 1u << 5;          // producer is this tensor's accumulator
  static constexpr uint8_t kView = 1u << 6;          // made by a view op: has a ViewRecord
  static constexpr uint8_t kUnseenWrites = 1u << 7;  // hides_writes() says of what

  RefCount refs;
  DType dtype;
  uint8_t ndim;
  Device device;  // a copy of the storage's, so that the straight path need not touch it; hidden()
                  // unless the layout is strided: then `data` is null, and nothing may be read
  Storage* storage;
  void* data;  // of the first element: storage data plus offset
  int64_t numel;
  Producer* producer;     // counted; null if nothing is recorded
  uint32_t output_index;  // which output of the producer; without one: the origin (see origin.h)
  uint8_t flags;
  Layout layout;
  uint8_t dim_capacity;
  uint8_t saved_as_it_is;  // once a node saved this very impl (saved_tensor.h)
  AutogradMetaBase* meta;
  void* py_object;  // the Python object of this tensor, if there is one
  int64_t dims[];   // dim_capacity sizes, dim_capacity strides, and a ViewRecord if it is a view

  int64_t* sizes() { return dims; }
  const int64_t* sizes() const { return dims; }
  int64_t* strides() { return dims + dim_capacity; }
  const int64_t* strides() const { return dims + dim_capacity; }
  IntSpan shape() const { return {sizes(), ndim}; }
  /// The flags; of a view, another thread may be settling the gate bits (autograd/views.h), for the
  /// same result. A byte is read whole, before or after: an atomic load would say so, but the
  /// compiler never merges two of them, which every op would pay for.
  uint8_t flag_bits() const {
#ifdef EBB_SANITIZER_BUILD
    return __atomic_load_n(&flags, __ATOMIC_RELAXED);
#else
    return flags;
#endif
  }
  bool is_contiguous() const { return (flag_bits() & kContiguous) != 0; }
  /// Only for kView.
  ViewRecord& view() const {
    return *reinterpret_cast<ViewRecord*>(const_cast<int64_t*>(dims + 2 * dim_capacity));
  }
  /// The tensor whose memory this view shows; null if it is none, or not any more: a tensor that
  /// was given other memory has left its views.
  TensorImpl* base() const {
    if ((flag_bits() & kView) == 0) return nullptr;
    TensorImpl* const found = view().base;
    return found != nullptr && found->storage == storage ? found : nullptr;
  }
  /// Whether writes through this tensor go unseen by those who saved other tensors of its memory,
  /// as those through `data` do in PyTorch: they raise the version, and touch nothing.
  bool hides_writes() const {
    const uint32_t bits = flag_bits();
    if ((bits & (kUnseenWrites | kView)) == 0) [[likely]]
      return false;
    const TensorImpl* const root = base();
    return ((root != nullptr ? root->flag_bits() : bits) & kUnseenWrites) != 0;
  }
  /// A node saves this very tensor: from now on it sees the writes, those through its views too.
  void show_writes() {
    if (!hides_writes()) [[likely]]
      return;
    TensorImpl* const root = base();
    TensorImpl& owner = root != nullptr ? *root : *this;
    __atomic_fetch_and(&owner.flags, static_cast<uint8_t>(~kUnseenWrites), __ATOMIC_RELAXED);
  }
  /// Makes this impl, created with room for it, a view of `source` or of what that is a view of.
  void link_to(TensorImpl& source);
  /// Makes a view a tensor of its own that shares memory, as detach() does.
  void cut_from_base() noexcept;
  /// The answer for a view without history: its base may have got one since.
  bool inherits_history() const;

  /// Room for so many dims is always there.
  static constexpr int kFewDims = 4;

  static constexpr size_t block_bytes(int capacity) {
    return 64 + 16 * static_cast<size_t>(capacity);
  }

  /// A new impl with everything but geometry set; takes over one count of `storage`, also if it
  /// throws OutOfMemoryError. `extra_bytes`: room behind the dims, for a ViewRecord.
  static TensorImpl* create(int ndim, DType dtype, Storage* storage, void* data,
                            size_t extra_bytes = 0) {
    int capacity = kFewDims;
    TensorImpl* impl;
    if (ndim <= kFewDims) [[likely]] {  // a size that the compiler knows
      impl = static_cast<TensorImpl*>(allocate_for(storage, block_bytes(kFewDims) + extra_bytes));
    } else {
      capacity = (ndim + 1) & ~1;
      impl = static_cast<TensorImpl*>(allocate_for(storage, block_bytes(capacity) + extra_bytes));
    }
    new (&impl->refs) RefCount();
    impl->dtype = dtype;
    impl->ndim = static_cast<uint8_t>(ndim);
    impl->device = storage->device();
    impl->storage = storage;
    impl->data = data;
    impl->producer = nullptr;
    impl->output_index = 0;
    impl->flags = 0;
    impl->layout = Layout::strided;
    impl->dim_capacity = static_cast<uint8_t>(capacity);
    impl->saved_as_it_is = 0;
    impl->meta = nullptr;
    impl->py_object = nullptr;
    return impl;
  }

  /// A new impl with the sizes of `source`, and as contiguous as it is. Takes over a
  /// count of `storage`.
  [[gnu::always_inline]] static TensorImpl* create_like(const TensorImpl& source, DType dtype,
                                                        Storage* storage) {
    const int capacity = source.dim_capacity;
    TensorImpl* impl;
    if (capacity == kFewDims) [[likely]] {  // sizes known to the compiler: a few wide moves
      impl = static_cast<TensorImpl*>(allocate_for(storage, block_bytes(kFewDims)));
      std::memcpy(impl->dims, source.dims, 16 * kFewDims);
    } else {
      impl = static_cast<TensorImpl*>(allocate_for(storage, block_bytes(capacity)));
      std::memcpy(impl->dims, source.dims, 16 * static_cast<size_t>(capacity));
    }
    new (&impl->refs) RefCount();
    impl->copy_kind(source);
    if (dtype != source.dtype) impl->dtype = dtype;
    impl->storage = storage;
    impl->data = storage->data();
    impl->numel = source.numel;
    impl->producer = nullptr;
    impl->output_index = 0;
    impl->flags = kContiguous;
    impl->layout = Layout::strided;
    impl->dim_capacity = static_cast<uint8_t>(capacity);
    impl->saved_as_it_is = 0;
    impl->meta = nullptr;
    impl->py_object = nullptr;
    return impl;
  }

  /// Copies sizes, strides, numel, layout and what the flags say of them.
  void copy_geometry(const TensorImpl& other) {
    constexpr uint32_t kOfGeometry = kContiguous | gate::kNotStrided;
    numel = other.numel;
    flags = static_cast<uint8_t>((flags & ~kOfGeometry) | (other.flag_bits() & kOfGeometry));
    layout = other.layout;
    if (dim_capacity == kFewDims && other.dim_capacity == kFewDims) {
      std::memcpy(dims, other.dims, 16 * kFewDims);  // one fixed-size copy
    } else {
      std::copy_n(other.sizes(), ndim, sizes());
      std::copy_n(other.strides(), ndim, strides());
    }
  }

  void retain() { refs.increment(); }
  void release() noexcept {
    if (refs.decrement()) destroy();
  }

 private:
  /// Copies dtype, ndim and device in one move: a kernel is about to read them together, and a wide
  /// load right behind several narrow stores would stall.
  void copy_kind(const TensorImpl& source) {
    static_assert(offsetof(TensorImpl, storage) - offsetof(TensorImpl, dtype) == 4);
    std::memcpy(reinterpret_cast<char*>(this) + offsetof(TensorImpl, dtype),
                reinterpret_cast<const char*>(&source) + offsetof(TensorImpl, dtype), 4);
  }
  static void* allocate_for(Storage* storage, size_t bytes) {
    try {
      return allocate_inline(bytes);
    } catch (...) {
      storage->release();
      throw;
    }
  }
  void destroy() noexcept {
    if ((meta != nullptr || py_object != nullptr) && !detach_owners()) return;
    if ((flags & kView) != 0) return destroy_view();
    Producer* const made_by = producer;
    storage->release();
    if (dim_capacity == kFewDims) [[likely]] {
      deallocate_inline(this, block_bytes(kFewDims));
    } else {
      deallocate_inline(this, block_bytes(dim_capacity));
    }
    if (made_by != nullptr) made_by->release();
  }
  void destroy_view() noexcept;
  /// False if the tensor lives on.
  bool detach_owners() noexcept;
};
static_assert(sizeof(TensorImpl) == 64);

namespace detail {
/// Called for a tensor that dies while it has a Python object (set by the Python package).
extern EBB_API void (*release_py_object)(void* py_object) noexcept;
}  // namespace detail

}  // namespace ebb
