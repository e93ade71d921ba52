// tests/device/sim_device.h -- the simulated device "sim": how tests steer and watch it.
//
// Its memory is tagged: an address that the CPU follows faults. Each stream is a thread with a
// queue, whose work may be slowed down by random amounts. The functions are exported by the plug-in
// (sim_device.cpp), so that tests in C++ and Python find them by name.
#pragma once

#include <cstdint>

#include "ebb/core/base/export.h"
#include "ebb/core/device/device_plugin.h"

extern "C" {
EBB_API const ebb::DevicePlugin* ebb_device_plugin();
EBB_API void ebb_device_loaded(ebb::DeviceType type);

/// Work waits for 0 to `most` microseconds before it runs, drawn from a sequence with this seed.
EBB_API void ebb_sim_set_delay(int64_t most, uint32_t seed);
/// allocate() fails rather than hand out more than so many bytes a device; 0: no limit.
EBB_API void ebb_sim_set_memory_limit(int64_t bytes);
/// The next copy fails, with a text of its own.
EBB_API void ebb_sim_fail_next_copy();
/// Bytes that a device has handed out and not got back.
EBB_API int64_t ebb_sim_live_bytes(int device);
/// Kernels of the device's own that ran so far.
EBB_API int64_t ebb_sim_kernel_count();
/// Copies between host and device so far.
EBB_API int64_t ebb_sim_copy_count();
/// Holds up a stream's queue, and lets it go on; release may come from any thread.
EBB_API void ebb_sim_hold(ebb::NativeStream stream);
EBB_API void ebb_sim_release(ebb::NativeStream stream);
}
