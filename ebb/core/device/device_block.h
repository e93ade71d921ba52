// ebb/core/device/device_block.h -- memory of devices: counted blocks, and the streams that use
// them.
//
// A block belongs to the stream that was current when it was made: it goes back to the plug-in in
// the order of that stream, and after the work of all other streams that used it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ebb/core/base/export.h"
#include "ebb/core/base/small_mutex.h"
#include "ebb/core/device/device.h"
#include "ebb/core/device/device_plugin.h"

namespace ebb {

/// Bytes of one device that tensors hold, and the most that they held.
struct DeviceMemoryStats {
  int64_t live = 0;
  int64_t peak = 0;
  int64_t blocks = 0;  // live ones
  // What the plug-in says of the whole device; 0 if it does not.
  int64_t free = 0;
  int64_t total = 0;
};
/// Throws ValueError unless the device is there. For the CPU: memory_stats() in allocator.h.
EBB_API DeviceMemoryStats device_memory_stats(Device device);
EBB_API void reset_peak_device_memory(Device device);

namespace detail {

/// One block of device memory and the streams that may still work on it.
struct DeviceBlock {
  void* memory = nullptr;
  size_t bytes = 0;
  Stream stream;
  SmallMutex mutex;
  NativeStream native = nullptr;  // what the plug-in calls `stream`
  std::vector<Stream> others;

  bool belongs_to(Stream user) const {
    return std::bit_cast<uint32_t>(user) == std::bit_cast<uint32_t>(stream);
  }
  /// A stream that uses the block, perhaps beside its own.
  void note_use(Stream user) {
    if (!belongs_to(user)) [[unlikely]]
      note_other(user);
  }

 private:
  void note_other(Stream user);
};

/// Memory for a storage: what Storage keeps to give it back with release_on_device().
EBB_API void* allocate_on_device(size_t bytes, Device device, void** memory);
EBB_API void release_on_device(void* block) noexcept;

}  // namespace detail
}  // namespace ebb
