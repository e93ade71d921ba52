// ebb/core/device/device_block.cpp -- takes blocks of plug-ins, counts them, gives them back.
#include "ebb/core/device/device_block.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>

#include "ebb/core/base/error.h"
#include "ebb/core/base/log.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/device/stream.h"
#include "ebb/core/runtime/block_cache.h"

namespace ebb {

using detail::DeviceBlock;

namespace {

struct Counters {
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> peak{0};
  std::atomic<int64_t> blocks{0};
};

Counters& counters_of(Device device) {
  static constinit Counters counters[kDeviceTypeCount][kMaxDevices];
  return counters[static_cast<int>(device.type)][device.index];
}

void note_allocated(Counters& counters, int64_t bytes) {
  const int64_t live = counters.live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  counters.blocks.fetch_add(1, std::memory_order_relaxed);
  int64_t peak = counters.peak.load(std::memory_order_relaxed);
  while (live > peak && !counters.peak.compare_exchange_weak(peak, live)) {
  }
}

void note_released(Counters& counters, int64_t bytes) {
  counters.live.fetch_sub(bytes, std::memory_order_relaxed);
  counters.blocks.fetch_sub(1, std::memory_order_relaxed);
}

[[noreturn]] void throw_out_of_memory(const DevicePlugin& plugin, size_t bytes, Device device) {
  const Counters& counters = counters_of(device);
  throw OutOfMemoryError(str("allocate: needs ", bytes, " bytes, which ", to_string(device),
                             " did not give (live ", counters.live.load(), ", peak ",
                             counters.peak.load(), " bytes): ", plugin.last_error()));
}

/// One is made for each tensor, so they come from the free lists of small blocks.
struct DeleteBlock {
  void operator()(DeviceBlock* block) const noexcept {
    block->~DeviceBlock();
    deallocate_inline(block, sizeof(DeviceBlock));
  }
};
using OwnedBlock = std::unique_ptr<DeviceBlock, DeleteBlock>;

}  // namespace

void DeviceBlock::note_other(Stream user) {
  const std::lock_guard lock(mutex);
  if (std::find(others.begin(), others.end(), user) == others.end()) others.push_back(user);
}

void* detail::allocate_on_device(size_t bytes, Device device, void** memory) {
  const DevicePlugin& plugin = plugin_of("allocate", device);
  OwnedBlock block(new (allocate_inline(sizeof(DeviceBlock))) DeviceBlock());
  block->bytes = std::max<size_t>(bytes, 1);
  block->stream = current_stream(device);
  block->native = native_stream(block->stream);
  const int status = plugin.allocate(device.index, block->bytes, block->native, &block->memory);
  if (status != 0 && status != kNoMemoryLeft) throw_device_failure("allocate", device);
  if (status != 0) [[unlikely]] {
    throw_out_of_memory(plugin, bytes, device);
  }
  note_allocated(counters_of(device), static_cast<int64_t>(block->bytes));
  *memory = block->memory;
  return block.release();
}

void detail::release_on_device(void* context) noexcept {
  const OwnedBlock block(static_cast<DeviceBlock*>(context));
  const Device device = block->stream.device;
  note_released(counters_of(device), static_cast<int64_t>(block->bytes));
  try {
    for (const Stream& other : block->others) order_streams(other, block->stream);
    const DevicePlugin& plugin = *find_plugin(device.type);  // it gave the block
    check_device_call(plugin.deallocate(device.index, block->memory, block->bytes, block->native),
                      "deallocate", device);
  } catch (const std::exception& error) {
    // Nobody can catch it here, and the memory is lost either way.
    EBB_LOG_AT(LogPart::general, 1, error.what());
  }
}

DeviceMemoryStats device_memory_stats(Device device) {
  const DevicePlugin& plugin = plugin_of("memory_stats", device);
  const Counters& counters = counters_of(device);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (plugin.memory_info != nullptr) {
    check_device_call(plugin.memory_info(device.index, &free_bytes, &total_bytes), "memory_info",
                      device);
  }
  return {.live = counters.live.load(),
          .peak = counters.peak.load(),
          .blocks = counters.blocks.load(),
          .free = static_cast<int64_t>(free_bytes),
          .total = static_cast<int64_t>(total_bytes)};
}

void reset_peak_device_memory(Device device) {
  plugin_of("reset_peak_memory", device);
  counters_of(device).peak.store(counters_of(device).live.load());
}

}  // namespace ebb
