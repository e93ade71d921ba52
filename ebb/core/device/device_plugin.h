// ebb/core/device/device_plugin.h -- what a plug-in gives ebb so that tensors may live on its
// device.
//
// A device is one struct of plain C functions: memory, copies, streams, events. CUDA would come in
// through the same struct. Everything that takes a stream is queued on it: the call may return
// before the work is done, and work on one stream runs in order. Kernels are registered apart from
// it, by name (ebb/ops/registry.h). How to write one, step by step: docs/devices.md.
//
// Functions return 0, or any other number for a failure that last_error() describes; they throw
// nothing and may be called from any thread. `device` counts the devices of the plug-in from 0.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"

namespace ebb {

/// Raised whenever DevicePlugin changes; a plug-in built with another one is refused.
inline constexpr uint32_t kDeviceAbiVersion = 1;

/// What `allocate` and `allocate_pinned` return where there is no memory left.
inline constexpr int kNoMemoryLeft = 2;

/// Objects of the plug-in that ebb passes around and never looks into.
using NativeStream = void*;
using NativeEvent = void*;

/// See the top of the file. Every function is needed, those marked optional apart.
struct DevicePlugin {
  uint32_t abi_version;  // kDeviceAbiVersion
  uint32_t struct_size;  // sizeof(DevicePlugin)
  const char* name;      // "cuda", "sim": lower-case letters, digits and '_', at most 15

  // How many devices there are, at most 128; asked once, at registration.
  int (*device_count)(int* count);
  // What went wrong in the last call of this thread that failed; never null.
  const char* (*last_error)();

  // Memory, aligned to 64 bytes; the address is ebb's to calculate with, not to read from. Usable
  // by work that is queued on `stream` from now on. Returns kNoMemoryLeft if there is none left: a
  // program may then ask for less, as it does not where another number tells of another failure.
  int (*allocate)(int device, size_t bytes, NativeStream stream, void** memory);
  // Takes memory back as soon as the work that `stream` holds by now is done: it must not be handed
  // out to another stream before that.
  int (*deallocate)(int device, void* memory, size_t bytes, NativeStream stream);
  // Optional: bytes that are free, and that there are.
  int (*memory_info)(int device, size_t* free_bytes, size_t* total_bytes);

  // From the host's memory. `from` may change as soon as the call returns: stage it if need be.
  int (*copy_to_device)(int device, void* to, const void* from, size_t bytes, NativeStream stream);
  // To the host's memory, which ebb reads only after synchronize_stream().
  int (*copy_to_host)(int device, void* to, const void* from, size_t bytes, NativeStream stream);
  // Within one device or between two of this plug-in; `stream` belongs to `from_device`.
  int (*copy_on_device)(int to_device, void* to, int from_device, const void* from, size_t bytes,
                        NativeStream stream);
  int (*fill)(int device, void* memory, unsigned char value, size_t bytes, NativeStream stream);

  // The stream that is there from the start; it lives as long as the process.
  int (*default_stream)(int device, NativeStream* stream);
  // Another stream. ebb makes a few dozen per device at most and keeps them.
  int (*create_stream)(int device, NativeStream* stream);
  // Waits until the stream has done all that it holds; reports failures of that work.
  int (*synchronize_stream)(int device, NativeStream stream);
  // Whether it has done so, without waiting.
  int (*query_stream)(int device, NativeStream stream, int* is_done);

  int (*create_event)(int device, NativeEvent* event);
  int (*destroy_event)(int device, NativeEvent event);
  // Marks the point that `stream` has reached with the work it holds by now.
  int (*record_event)(int device, NativeEvent event, NativeStream stream);
  // What is queued on `stream` from now on starts after the event's point. `device` is that of the
  // stream, which may be another one than the event's.
  int (*wait_event)(int device, NativeStream stream, NativeEvent event);
  // Whether the point is reached; an event that was never recorded is.
  int (*query_event)(int device, NativeEvent event, int* is_done);
  int (*synchronize_event)(int device, NativeEvent event);
};

/// Makes the plug-in's devices known as "name:0", "name:1", ... The struct must live as long as the
/// process. Returns the type of its devices. Throws ValueError for another ABI, a missing function,
/// a bad name, or one that is taken.
EBB_API DeviceType register_device(const DevicePlugin* plugin);

/// Loads a shared library and registers the plug-in that its `ebb_device_plugin` returns; then
/// `ebb_device_loaded` is called, if the library has it, to register kernels. Loading one twice
/// does nothing more. Throws IoError if it cannot be loaded, ValueError if it is no plug-in.
EBB_API DeviceType load_device_plugin(const std::string& path);

/// The types of those two functions: extern "C" and exported by the library.
using DevicePluginEntry = const DevicePlugin* (*)();
using DeviceLoadedEntry = void (*)(DeviceType type);

namespace detail {
extern EBB_API std::atomic<int> plugin_count;
/// Why there is no device of CUDA though its driver is there, for errors of who asks for one. Once.
void note_missing_cuda(std::string reason);
}  // namespace detail
/// Whether there is any device beside the CPU.
inline bool has_plugins() { return detail::plugin_count.load(std::memory_order_relaxed) != 0; }

/// The plug-in that a device belongs to, or null if there is none.
EBB_API const DevicePlugin* find_plugin(DeviceType type);
/// Throws ValueError, naming `op`, unless the device is there.
EBB_API const DevicePlugin& plugin_of(const char* op, Device device);
/// How many devices of the type there are; 1 for the CPU, 0 for a type without plug-in.
EBB_API int device_count(DeviceType type);
/// All devices, the CPU first.
EBB_API std::vector<Device> all_devices();

[[noreturn]] EBB_API void throw_device_failure(const char* call, Device device);

/// Throws DeviceError, naming `call` and device, with the plug-in's own text, unless `status` is 0.
inline void check_device_call(int status, const char* call, Device device) {
  if (status != 0) [[unlikely]]
    throw_device_failure(call, device);
}

}  // namespace ebb
