// ebb/core/tensor/device_memory.h -- tensors in memory of devices: who uses it, and copies.
//
// Ops note which streams use a tensor's memory (note_use); who launches kernels of his own says so
// with record_stream(): the block then goes back after their work (device_block.h). Copies of
// tensors keep the geometry: what travels are the bytes from the first element to the last, gaps
// included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ebb/core/base/export.h"
#include "ebb/core/device/device_block.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// Says that work on `stream` uses the tensor's memory: it is not handed out again before that work
/// is done, whatever the tensor's own stream does.
EBB_API void record_stream(const Tensor& tensor, Stream stream);

/// Says that what the current stream of its device gets from now on uses the tensor's memory. Ops
/// do so for all their operands. Nothing happens to tensors of the CPU and undefined ones.
EBB_API void note_use(const Tensor& tensor);
/// The same for a tensor that is on the device of `stream`, and for any stream of it.
EBB_API void note_use_on(Stream stream, const Tensor& tensor);

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

}  // namespace ebb
