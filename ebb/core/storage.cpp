// ebb/core/storage.cpp -- making and freeing storages, and the write log.
#include "ebb/core/storage.h"

#include <array>
#include <mutex>

#include "ebb/core/device_memory.h"

namespace ebb {

void (*detail::before_guarded_write)(Storage& storage) = nullptr;

/// A ring of the last writes. Its own lock: writers on several threads are rare but allowed.
struct Storage::WriteLog {
  static constexpr uint32_t kKept = 8;

  std::mutex mutex;
  std::array<WriteRecord, kKept> ring;
  uint32_t count = 0;
};

Storage* Storage::adopt(void* data, size_t bytes, StorageDeleter deleter, void* context) {
  static_assert(sizeof(Storage) == kHeaderBytes);
  // The storage's own data have no deleter: memory that nobody frees needs one that does nothing.
  if (deleter == nullptr) deleter = [](void*) noexcept {};
  void* block;
  try {
    block = allocate_inline(kDataOffset);
  } catch (...) {
    deleter(context);
    throw;
  }
  auto* const storage = new (block) Storage();
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->deleter_ = deleter;
  *storage->foreign_context() = context;
  return storage;
}

Storage* Storage::allocate_on(Device device, size_t bytes) {
  void* memory = nullptr;
  void* const block = detail::allocate_on_device(bytes, device, &memory);
  Storage* const storage = adopt(memory, bytes, detail::release_on_device, block);
  storage->device_ = device;
  return storage;
}

void* device_block_of(const Storage& storage) {
  if (storage.deleter_ != detail::release_on_device) return nullptr;
  return *const_cast<Storage&>(storage).foreign_context();
}

void Storage::destroy_slow() noexcept {
  delete log_.load(std::memory_order_acquire);
  if (deleter_ == nullptr) return deallocate_inline(this, owned_block_bytes(bytes_));
  deleter_(*foreign_context());
  deallocate_inline(this, kDataOffset);
}

void Storage::prepare_write() {
  if (!has_flag(kGuarded)) return;
  // First: whoever is told may ask for more.
  flags_.fetch_and(static_cast<uint16_t>(~kGuarded), std::memory_order_relaxed);
  if (detail::before_guarded_write != nullptr) detail::before_guarded_write(*this);
}

void Storage::note_write(const char* op, LocationId location, size_t first_byte, size_t last_byte) {
  const uint32_t version = version_.fetch_add(1, std::memory_order_relaxed) + 1;
  WriteLog* log = log_.load(std::memory_order_acquire);
  if (log == nullptr) {
    auto* const made = new (std::nothrow) WriteLog();
    if (made == nullptr) return;  // the version tells of the write all the same
    if (log_.compare_exchange_strong(log, made, std::memory_order_acq_rel)) {
      log = made;
    } else {
      delete made;
    }
  }
  const std::lock_guard lock(log->mutex);
  log->ring[log->count++ % WriteLog::kKept] = {version, location, op, first_byte, last_byte};
}

std::vector<WriteRecord> Storage::writes_since(uint32_t version) const {
  std::vector<WriteRecord> found;
  WriteLog* const log = log_.load(std::memory_order_acquire);
  if (log == nullptr) return found;
  const std::lock_guard lock(log->mutex);
  const uint32_t kept = log->count < WriteLog::kKept ? log->count : WriteLog::kKept;
  for (uint32_t back = kept; back > 0; --back) {
    const WriteRecord& record = log->ring[(log->count - back) % WriteLog::kKept];
    if (record.version > version) found.push_back(record);
  }
  return found;
}

}  // namespace ebb
