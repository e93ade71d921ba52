// ebb/devices/opencl/host_memory.cpp -- buffers that stay mapped.
#include "ebb/devices/opencl/host_memory.h"

#include "ebb/core/base/str.h"
#include "ebb/devices/launch/failure.h"

namespace ebb::opencl {
namespace {

void check_allocation(cl_int status, const char* call, size_t bytes) {
  const bool is_full = status == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                       status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY ||
                       status == CL_INVALID_BUFFER_SIZE;
  if (is_full) throw devices::NoMemory(str(call, ": no ", bytes, " bytes"));
  check(status, call);
}

}  // namespace

HostMemory::HostMemory(cl_context context, cl_device_id device) : context_(context) {
  cl_int status = CL_SUCCESS;
  queue_ = clCreateCommandQueueWithProperties(context, device, nullptr, &status);
  check(status, "clCreateCommandQueueWithProperties");
}

void* HostMemory::allocate(size_t bytes) {
  cl_int status = CL_SUCCESS;
  OwnedBuffer buffer(
      clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &status));
  check_allocation(status, "clCreateBuffer", bytes);
  void* const memory = clEnqueueMapBuffer(queue_, buffer.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                          0, bytes, 0, nullptr, nullptr, &status);
  check_allocation(status, "clEnqueueMapBuffer", bytes);
  const std::lock_guard lock(mutex_);
  buffers_[memory] = std::move(buffer);
  return memory;
}

void HostMemory::free(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(memory);
  if (found == buffers_.end()) return;
  clEnqueueUnmapMemObject(queue_, found->second.get(), memory, 0, nullptr, nullptr);
  clFinish(queue_);
  buffers_.erase(found);
}

}  // namespace ebb::opencl
