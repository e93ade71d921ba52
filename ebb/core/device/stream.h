// ebb/core/device/stream.h -- streams and events of devices, and what a thread's current ones are.
//
// Work on one stream runs in order; between streams only an Event orders it. Each thread has a
// current stream per device, on which its kernels and copies go, and a default device, on which
// its new tensors are made. The CPU has one stream, on which everything is done at once.
#pragma once

#include <cstdint>

#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/device/stream_set.h"

namespace ebb {

/// Where this thread's kernels for `device` go: its default stream until set_current_stream().
EBB_API Stream current_stream(Device device);
/// Throws ValueError unless the stream's device is there and new_stream() made the stream.
EBB_API void set_current_stream(Stream stream);

/// A stream apart from the default one. There are at most 32 a device; later calls hand them out
/// anew, in turn. Throws ValueError unless the device is there.
EBB_API Stream new_stream(Device device);

/// What the plug-in calls the stream: for kernels. Null for the CPU.
EBB_API NativeStream native_stream(Stream stream);

/// Waits until the stream, or all streams of the device, are done. Throws DeviceError if work
/// failed meanwhile.
EBB_API void synchronize(Stream stream);
EBB_API void synchronize(Device device);
/// Whether the stream has nothing to do.
EBB_API bool is_idle(Stream stream);

/// A point in the work of a stream that other streams, or the host, can wait for.
class EBB_API Event {
 public:
  /// Of the CPU, where every point is reached at once.
  Event() = default;
  explicit Event(Device device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  Device device() const { return device_; }
  /// Marks what `stream`, of this event's device, holds by now.
  void record(Stream stream);
  /// Holds up what `stream` gets from now on; a stream of the CPU waits here and now.
  void wait(Stream stream) const;
  bool is_reached() const;
  void synchronize() const;

 private:
  Device device_;
  NativeEvent native_ = nullptr;
};

/// Makes `after` wait for what `before` holds by now; nothing for one and the same stream.
EBB_API void order_streams(Stream before, Stream after);

/// Makes a stream current for the length of a scope, on this thread.
class StreamGuard {
 public:
  explicit StreamGuard(Stream stream) : saved_(current_stream(stream.device)) {
    set_current_stream(stream);
  }
  ~StreamGuard() { set_current_stream(saved_); }
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream saved_;
};

/// Where this thread's new tensors are made when nobody says where; the CPU at first.
EBB_API Device default_device();
/// Throws ValueError unless the device is there.
EBB_API void set_default_device(Device device);

/// Makes a device the default one for the length of a scope, on this thread.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device) : saved_(default_device()) { set_default_device(device); }
  ~DeviceGuard() { set_default_device(saved_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device saved_;
};

/// A thread's default device and the streams that it has set, to be given to a worker thread.
struct DeviceModes {
  Device default_device;
  StreamSet streams = 0;
};
EBB_API DeviceModes device_modes();
EBB_API void set_device_modes(const DeviceModes& modes);

}  // namespace ebb
