// ebb/devices/cuda/device.cpp -- finding GPUs, and where their memory comes from.
#include "ebb/devices/cuda/device.h"

#include <algorithm>
#include <array>

#include "ebb/core/base/str.h"
#include "ebb/devices/launch/driver.h"
#include "ebb/devices/launch/failure.h"
#include "ebb/devices/launch/fork.h"

namespace ebb::cuda {
namespace {

int attribute(CUdevice id, CUdevice_attribute what) {
  int value = 0;
  check(api().cuDeviceGetAttribute(&value, what, id), "cuDeviceGetAttribute");
  return value;
}

/// Null if the device has none left.
void* allocate_on(const CudaDevice& device, size_t bytes) {
  const ContextScope scope(device.context);
  CUdeviceptr address = 0;
  const CUresult status = api().cuMemAlloc(&address, bytes);
  if (status == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  check(status, "cuMemAlloc");
  return reinterpret_cast<void*>(address);
}

devices::MemorySource source_of(CudaDevice& device) {
  return {.call = "cuMemAlloc",
          .total_bytes = device.total_bytes,
          .allocate = [&device](size_t bytes) { return allocate_on(device, bytes); },
          .free =
              [&device](void* memory) {
                const ContextScope scope(device.context);
                api().cuMemFree(reinterpret_cast<CUdeviceptr>(memory));
              },
          .finish = [&device] { finish(device); }};
}

devices::HostSource pinned_source_of(CudaDevice& device) {
  const auto allocate = [&device](size_t bytes) {
    const ContextScope scope(device.context);
    void* memory = nullptr;
    const CUresult status = api().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (status == CUDA_ERROR_OUT_OF_MEMORY) {
      throw devices::NoMemory(str("cuMemHostAlloc: no ", bytes, " bytes"));
    }
    check(status, "cuMemHostAlloc");
    return memory;
  };
  const auto free = [&device](void* memory) {
    const ContextScope scope(device.context);
    api().cuMemFreeHost(memory);
  };
  return {allocate, free};
}

devices::Traits traits_of(const CudaDevice& device) {
  constexpr uint32_t kGroup = 256;
  const int items =
      attribute(device.id, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / int{kGroup};
  return {.has_float64 = true,
          .is_cpu = false,
          .group_size = kGroup,
          .units = static_cast<uint32_t>(device.units * std::max(items, 1))};
}

std::unique_ptr<CudaDevice> make_device(int index) {
  auto device = std::make_unique<CudaDevice>();
  check(api().cuDeviceGet(&device->id, index), "cuDeviceGet");
  std::array<char, 256> name{};
  check(api().cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device->id),
        "cuDeviceGetName");
  device->name = name.data();
  check(api().cuDriverGetVersion(&device->driver_version), "cuDriverGetVersion");
  device->major = attribute(device->id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  device->minor = attribute(device->id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  device->units = attribute(device->id, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  size_t total = 0;
  check(api().cuDeviceTotalMem(&total, device->id), "cuDeviceTotalMem");
  device->total_bytes = total;
  device->traits = traits_of(*device);
  check(api().cuDevicePrimaryCtxRetain(&device->context, device->id), "cuDevicePrimaryCtxRetain");
  device->memory = std::make_unique<devices::MemoryPool>(source_of(*device));
  device->staging = std::make_unique<devices::StagingPool>(pinned_source_of(*device));
  new_stream(*device);
  return device;
}

using Devices = std::vector<std::unique_ptr<CudaDevice>>;

Devices* make_all() {
  auto* const devices = new Devices();  // streams live as long as the process
  if (find_api() == nullptr) return devices;
  const CUresult status = api().cuInit(0);
  if (status == CUDA_ERROR_NO_DEVICE) return devices;
  check(status, "cuInit");
  int count = 0;
  check(api().cuDeviceGetCount(&count), "cuDeviceGetCount");
  for (int index = 0; index < count; ++index) devices->push_back(make_device(index));
  devices::watch_forks("CUDA");
  return devices;
}

}  // namespace

const Devices& all_devices() {
  static const Devices* const devices = make_all();
  return *devices;
}

CudaDevice& device_at(int index) { return *all_devices()[static_cast<size_t>(index)]; }

CudaStream& new_stream(CudaDevice& device) {
  const ContextScope scope(device.context);
  auto stream = std::make_unique<CudaStream>();
  stream->device = &device;
  check(api().cuStreamCreate(&stream->handle, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  const std::lock_guard lock(device.mutex);
  device.streams.push_back(std::move(stream));
  return *device.streams.back();
}

void wait_if_asked(const CudaStream& stream) {
  if (devices::is_synchronous()) {
    check(api().cuStreamSynchronize(stream.handle), "cuStreamSynchronize");
  }
}

void finish(CudaDevice& device) {
  std::vector<CUstream> streams;
  {
    const std::lock_guard lock(device.mutex);
    for (const auto& stream : device.streams) streams.push_back(stream->handle);
  }
  const ContextScope scope(device.context);
  for (const CUstream stream : streams) {
    check(api().cuStreamSynchronize(stream), "cuStreamSynchronize");
  }
}

}  // namespace ebb::cuda
