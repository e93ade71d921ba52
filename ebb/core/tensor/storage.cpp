// ebb/core/tensor/storage.cpp -- making and freeing storages, and noting what is written.
#include "ebb/core/tensor/storage.h"

#include "ebb/core/base/error.h"
#include "ebb/core/device/device_block.h"
#include "ebb/core/tensor/announced_write.h"
#include "ebb/core/tensor/write_log.h"

namespace ebb {

void (*detail::before_guarded_write)(Storage& storage) = nullptr;
thread_local const TensorImpl* detail::announced_write = nullptr;

Storage* Storage::adopt(void* data, size_t bytes, StorageDeleter deleter, void* context,
                        Device device) {
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
  storage->device_ = device;
  *storage->foreign_context() = context;
  return storage;
}

namespace {

[[noreturn]] void throw_hidden(Device device) {
  throw NotImplementedError(str("empty: needs a strided tensor to take its place from, got one on ",
                                to_string(device), " that is not\nhint: call .to_dense() first"));
}

}  // namespace

[[gnu::flatten]] Storage* Storage::allocate_on(Device device, size_t bytes) {
  if (is_hidden(device)) throw_hidden(device);
  void* memory = nullptr;
  void* const block = detail::allocate_on_device(bytes, device, &memory);
  return adopt(memory, bytes, detail::release_on_device, block, device);
}

void* device_block_of(const Storage& storage) {
  return storage.foreign_context(detail::release_on_device);
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

WriteLog* Storage::make_log() noexcept {
  auto* const made = new (std::nothrow) WriteLog(version(), bytes_);
  WriteLog* log = nullptr;
  if (made == nullptr || log_.compare_exchange_strong(log, made, std::memory_order_acq_rel)) {
    return made;
  }
  delete made;
  return log;
}

void Storage::note_write(const char* op, LocationId location, const ByteRegion& region) noexcept {
  WriteLog* log = log_.load(std::memory_order_acquire);
  if (log == nullptr) log = make_log();
  if (log != nullptr) {
    log->note(version_, op, location, region);
  } else {
    version_.fetch_add(1, std::memory_order_relaxed);  // tells of the write all the same
  }
}

std::optional<WriteRecord> Storage::write_since(uint32_t version, const ByteRegion& region) const {
  const uint32_t now = this->version();
  if (now == version) return {};
  const WriteLog* const log = log_.load(std::memory_order_acquire);
  // Without memory for a log, or once versions have started anew, any byte may have been written.
  if (log == nullptr || now < version) return WriteRecord{.version = now};
  return log->find(version, region);
}

}  // namespace ebb
