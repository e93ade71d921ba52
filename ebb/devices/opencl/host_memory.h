// ebb/devices/opencl/host_memory.h -- memory of the host that the driver gives, and copies to
// devices from it without another in between.
//
// OpenCL has no pinned memory by that name: drivers give it as a buffer in the host's memory
// (CL_MEM_ALLOC_HOST_PTR) that stays mapped, whose address copies then read. Mapping goes by a
// queue of its own, so that it waits for no other work.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "ebb/devices/opencl/api.h"

namespace ebb::opencl {

/// Lives as long as the process.
class HostMemory {
 public:
  HostMemory(cl_context context, cl_device_id device);
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Throws Failure.
  void* allocate(size_t bytes);
  void free(void* memory);

 private:
  cl_context context_;
  cl_command_queue queue_ = nullptr;
  std::mutex mutex_;  // guards `buffers_`
  std::map<void*, OwnedBuffer> buffers_;
};

}  // namespace ebb::opencl
