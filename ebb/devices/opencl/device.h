// ebb/devices/opencl/device.h -- the devices in use, their streams and their memory.
//
// EBB_OPENCL_DEVICES chooses: a list such as "0,2", numbers among all devices of all platforms in
// the order that `clinfo -l` lists them; "0/2" is device 0 cut into 2 devices of as many units.
// Without it all devices are used that share memory by address (coarse-grained SVM); others are
// left out. A child of a fork must not use what its parent made: OpenCL's threads are not there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ebb/core/device/device_plugin.h"
#include "ebb/devices/launch/base_device.h"
#include "ebb/devices/launch/driver.h"
#include "ebb/devices/opencl/api.h"
#include "ebb/devices/opencl/host_memory.h"

namespace ebb::opencl {

struct OpenclDevice;

/// A stream: an in-order queue. Lives as long as the process.
struct Queue {
  OpenclDevice* device = nullptr;
  cl_command_queue handle = nullptr;
  std::atomic<uint64_t> commands{0};  // that were queued, markers apart

  // For query_stream(): a marker behind the last command that it was asked about.
  std::mutex mutex;
  OwnedEvent marker;
  uint64_t marked = 0;    // commands before the marker
  uint64_t finished = 0;  // commands that synchronize_stream() has seen done

  void note_command() { commands.fetch_add(1, std::memory_order_relaxed); }
};

struct OpenclDevice : devices::BaseDevice {
  cl_device_id id = nullptr;
  cl_context context = nullptr;  // shared by the devices of a platform
  std::unique_ptr<HostMemory> host_memory;
  std::mutex mutex;                            // guards `queues`
  std::vector<std::unique_ptr<Queue>> queues;  // the first is the default one
};

/// All devices, found at the first call. Throws Failure where there is no OpenCL.
const std::vector<std::unique_ptr<OpenclDevice>>& all_devices();
OpenclDevice& device_at(int index);

inline Queue& queue_of(NativeStream stream) { return *static_cast<Queue*>(stream); }
Queue& new_queue(OpenclDevice& device);
/// Waits for the queue if EBB_DEVICE_SYNC asks for it.
inline void wait_if_asked(Queue& queue) {
  if (devices::is_synchronous()) [[unlikely]]
    check(clFinish(queue.handle), "clFinish");
}
/// Waits for all queues of the device. Throws Failure.
void finish(OpenclDevice& device);

}  // namespace ebb::opencl
