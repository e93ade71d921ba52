// ebb/core/storage.cpp -- making and freeing storages, and the write log.
#include "ebb/core/storage.h"

#include <array>
#include <mutex>
#include <new>

#include "ebb/core/block_cache.h"

namespace ebb {
namespace {

constexpr size_t kHeader = 48;      // a scalar's data follow the header directly
constexpr size_t kDataOffset = 64;  // everything longer starts on a cache line
constexpr size_t kInlineData = kDataOffset - kHeader;

constexpr size_t owned_block_bytes(size_t bytes) {
  return bytes <= kInlineData ? kDataOffset : kDataOffset + ((bytes + 63) & ~size_t{63});
}

}  // namespace

/// A ring of the last writes. Its own lock: writers on several threads are rare but allowed.
struct Storage::WriteLog {
  static constexpr uint32_t kKept = 8;

  std::mutex mutex;
  std::array<WriteRecord, kKept> ring;
  uint32_t count = 0;
};

static_assert(sizeof(Storage) == kHeader);

Storage* Storage::allocate(size_t bytes, Device device) {
  // Sizes were checked before, yet the header and rounding must not wrap either.
  const size_t block_bytes = bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 : owned_block_bytes(bytes);
  void* const block = allocate_inline(block_bytes);
  auto* const storage = new (block) Storage();
  storage->data_ = static_cast<char*>(block) + (bytes <= kInlineData ? kHeader : kDataOffset);
  storage->bytes_ = bytes;
  storage->device_ = device;
  return storage;
}

Storage* Storage::adopt(void* data, size_t bytes, StorageDeleter deleter, void* context) {
  auto* const storage = new (allocate_inline(kDataOffset)) Storage();
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->deleter_ = deleter;
  // The context lives where a scalar's data would.
  *reinterpret_cast<void**>(reinterpret_cast<char*>(storage) + kHeader) = context;
  return storage;
}

void Storage::destroy() noexcept {
  delete log_.load(std::memory_order_acquire);
  if (deleter_ != nullptr) [[unlikely]] {
    deleter_(*reinterpret_cast<void**>(reinterpret_cast<char*>(this) + kHeader));
    deallocate_inline(this, kDataOffset);
    return;
  }
  deallocate_inline(this, owned_block_bytes(bytes_));
}

void Storage::note_write(const char* op, LocationId location, size_t first_byte,
                         size_t last_byte) {
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
