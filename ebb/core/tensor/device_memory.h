// ebb/core/tensor/device_memory.h -- memory of devices: counted allocation, and copies of bytes and
// tensors.
//
// A block belongs to the stream that was current when it was made: it goes back to the plug-in in
// the order of that stream, and after the work of all other streams that used it. Ops note which
// those are (note_use); who launches kernels of his own says so with record_stream(). Copies of
// tensors keep the geometry: what travels are the bytes from the first element to the last, gaps
// included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"
#include "ebb/core/tensor/tensor.h"

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

/// Says that work on `stream` uses the tensor's memory: it is not handed out again before that work
/// is done, whatever the tensor's own stream does.
EBB_API void record_stream(const Tensor& tensor, Stream stream);

/// Says that what the current stream of its device gets from now on uses the tensor's memory. Ops
/// do so for all their operands. Nothing happens to tensors of the CPU and undefined ones.
EBB_API void note_use(const Tensor& tensor);

/// Whether no stream but the current one of its device has used the tensor's memory.
EBB_API bool is_used_here_only(const Tensor& tensor);

/// The same values with the same strides on another device, or on the same. Queued on the current
/// streams of both; a copy to the CPU waits for it. No history.
EBB_API Tensor copied_to(const Tensor& tensor, Device device);

/// The tensor itself if kernels of the CPU can read it, else a copy there with the same strides.
inline Tensor host_copy(const Tensor& tensor) {
  return is_on_host(tensor) ? tensor : copied_to(tensor, Device{});
}

/// Sets every byte of a contiguous tensor of a device.
EBB_API void fill_bytes(const Tensor& target, unsigned char value);

/// Copies the elements of `source`, which has the geometry of `target`, to the device of `target`:
/// one copy for each stretch of memory without gaps. Logs no write.
EBB_API void write_back(const Tensor& source, const Tensor& target);

namespace detail {
/// Memory for a storage: what Storage keeps to give it back with release_on_device().
EBB_API void* allocate_on_device(size_t bytes, Device device, void** memory);
EBB_API void release_on_device(void* block) noexcept;
}  // namespace detail

}  // namespace ebb
