// ebb/core/tensor/storage.h -- the memory behind tensors: bytes, a version, and a log of the
// writes.
//
// A storage and its bytes are one block: 48 bytes of header, then the data at offset 64, or at
// offset 48 if they are at most 16 bytes. Foreign memory (NumPy's, a device's) has a header only.
// Tensors that share a storage share its version, which every in-place write raises.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

#include "ebb/core/base/export.h"
#include "ebb/core/base/location.h"
#include "ebb/core/base/refcount.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/device/device.h"
#include "ebb/core/runtime/block_cache.h"
#include "ebb/core/tensor/write_record.h"

namespace ebb {

struct ByteRegion;
class WriteLog;

/// Frees foreign memory; `context` is what was given along with it.
using StorageDeleter = void (*)(void* context) noexcept;

class Storage;
namespace detail {
/// Told of memory that is about to be written in place and whose writes are guarded. Set by
/// autograd.
extern EBB_API void (*before_guarded_write)(Storage& storage);
}  // namespace detail

/// Counted memory. Create with allocate() or adopt(); retain and release by hand or through Tensor.
class EBB_API Storage {
 public:
  /// Uninitialised memory, of a plug-in if the device is its own. Throws OutOfMemoryError, and
  /// ValueError for a device that is not there.
  static Storage* allocate(size_t bytes, Device device = {}) {
    // Nothing is left of this where the device is not given.
    if (std::bit_cast<uint16_t>(device) != 0) [[unlikely]]
      return allocate_on(device, bytes);
    const size_t block_bytes = owned_block_bytes(bytes);
    auto* const storage = new (allocate_inline(block_bytes)) Storage();
    storage->small_block_bytes_ =
        block_bytes <= detail::kSmallLimit ? static_cast<uint32_t>(block_bytes) : 0;
    storage->data_ = reinterpret_cast<char*>(storage) +
                     (bytes <= kDataOffset - kHeaderBytes ? kHeaderBytes : kDataOffset);
    storage->bytes_ = bytes;
    return storage;
  }
  /// Takes over foreign memory; `deleter(context)` is called once, when the last tensor is gone or
  /// when this throws OutOfMemoryError. A null deleter frees nothing.
  static Storage* adopt(void* data, size_t bytes, StorageDeleter deleter, void* context,
                        Device device = {});

  void retain() { refs_.increment(); }
  void release() {
    if (refs_.decrement()) destroy();
  }
  bool is_unique() const { return refs_.is_unique(); }
  /// How many tensors share it.
  uint32_t owners() const { return refs_.value(); }

  /// The context of foreign memory that `deleter` frees; null for any other.
  void* foreign_context(StorageDeleter deleter) const {
    return deleter_ == deleter ? *const_cast<Storage*>(this)->foreign_context() : nullptr;
  }

  /// Only the device may read what is there.
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }

  /// Notes an in-place write by `op` (write_log.h).
  void note_write(const char* op, LocationId location, const ByteRegion& region) noexcept;
  /// A write after `version` that may have touched `region`, if there is one.
  std::optional<WriteRecord> write_since(uint32_t version, const ByteRegion& region) const;

  /// Whether writing is refused, as for a read-only NumPy array.
  bool is_read_only() const { return has_flag(kReadOnly); }
  void mark_read_only() { set_flag(kReadOnly); }
  /// Whether the memory was made by a thread in inference mode.
  bool is_inference() const { return has_flag(kInference); }
  /// Whether a saved-tensor hook was given this memory to pack.
  bool was_packed() const { return has_flag(kPacked); }
  void mark_packed() { set_flag(kPacked); }

  /// Asks to be told before the next in-place write (detail::before_guarded_write).
  void guard_writes() { set_flag(kGuarded); }
  /// Whether an in-place write must be announced with prepare_write() or refused.
  bool needs_write_check() const { return has_flag(kReadOnly | kGuarded); }
  /// Call before an in-place write of memory for which needs_write_check() holds.
  void prepare_write();

 private:
  static constexpr uint16_t kReadOnly = 2;
  static constexpr uint16_t kInference = gate::kInference;
  static constexpr uint16_t kPacked = 4;
  static constexpr uint16_t kGuarded = 8;

  Storage() = default;
  ~Storage() = default;
  static constexpr size_t kHeaderBytes = 48;  // a scalar's data follow the header directly
  static constexpr size_t kDataOffset = 64;   // everything longer starts on a cache line

  static constexpr size_t owned_block_bytes(size_t bytes) {
    if (bytes <= kDataOffset - kHeaderBytes) return kDataOffset;
    return kDataOffset + ((bytes + 63) & ~size_t{63});  // bytes < 2^63: checked_numel() saw to it
  }
  void destroy() noexcept {
    const bool is_small = small_block_bytes_ != 0;
    if (is_small && log_.load(std::memory_order_acquire) == nullptr) [[likely]] {
      deallocate_inline(this, small_block_bytes_);
    } else {
      destroy_slow();
    }
  }
  void destroy_slow() noexcept;
  WriteLog* make_log() noexcept;
  static Storage* allocate_on(Device device, size_t bytes);
  /// What the deleter of foreign memory gets: it lies where a scalar's data would.
  void** foreign_context() {
    return reinterpret_cast<void**>(reinterpret_cast<char*>(this) + kHeaderBytes);
  }
  bool has_flag(uint16_t bits) const {
    return (flags_.load(std::memory_order_relaxed) & bits) != 0;
  }
  void set_flag(uint16_t bit) {
    if (!has_flag(bit)) flags_.fetch_or(bit, std::memory_order_relaxed);
  }

  RefCount refs_;
  std::atomic<uint32_t> version_{0};
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Device device_;
  // Low byte: the bits above. High byte: the thread's modes when this was made, so that noting
  // inference mode takes one load. A thread's modes have nothing in the low byte.
  std::atomic<uint16_t> flags_{static_cast<uint16_t>(thread_state.modes)};
  uint32_t small_block_bytes_ = 0;       // of this block if it is one that free lists hold, else 0
  StorageDeleter deleter_ = nullptr;     // null: the data are part of this block
  std::atomic<WriteLog*> log_{nullptr};  // made by the first write
};

/// What detail::allocate_on_device() gave for the storage, or null if its memory is the host's.
EBB_API void* device_block_of(const Storage& storage);

}  // namespace ebb
