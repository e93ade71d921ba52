// tests/devices/cuda/stand_in.cpp -- the functions of libcuda. See stand_in.h.
#include "tests/devices/cuda/stand_in.h"

#include <cstdlib>
#include <cstring>
#include <memory>

using namespace stand_in;  // NOLINT: functions of C cannot be in a namespace

// Opens each function: holds the lock, counts the call, fails it if a test says so.
#define STAND_IN_CALL(name)                           \
  const std::lock_guard stand_in_lock(state().mutex); \
  if (const CUresult injected = enter(name); injected != CUDA_SUCCESS) return injected

namespace {

constexpr int kMostDevices = 8;
int device_numbers[kMostDevices];  // their addresses are the contexts

int device_count() { return number_in_environment("STAND_IN_DEVICES", 1); }
size_t total_bytes() {
  const char* const text = std::getenv("STAND_IN_MEMORY");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : size_t{1} << 34;
}
CUcontext context_of(int device) { return reinterpret_cast<CUcontext>(&device_numbers[device]); }
int device_of(CUcontext context) {
  return static_cast<int>(reinterpret_cast<int*>(context) - device_numbers);
}

size_t used_bytes(int device) {
  size_t used = 0;
  for (const auto& [address, block] : state().memory) {
    if (block.device == device) used += block.bytes;
  }
  return used;
}

Event* known(const char* call, CUevent handle) {
  auto* const event = reinterpret_cast<Event*>(handle);
  if (state().events.count(event) != 0) return event;
  violate(std::string(call) + ": no such event");
  return nullptr;
}

char* host(CUdeviceptr address) { return reinterpret_cast<char*>(address); }

/// Does one more command of the stream, so that whoever asks again and again sees an end.
CUresult answer(const Point& point) {
  if (point.stream == nullptr || point.stream->done >= point.commands) return CUDA_SUCCESS;
  run_to({point.stream, point.stream->done + 1});
  return point.stream->done >= point.commands ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
Point now(Stream* stream) { return {stream, stream->done + stream->queued.size()}; }

}  // namespace

extern "C" {

// --- the library and its devices ---

CUresult cuInit(unsigned flags) {
  STAND_IN_CALL("cuInit");
  if (flags != 0) violate("cuInit: flags");
  // Of a driver that is there and cannot start.
  const int status = number_in_environment("STAND_IN_INIT_STATUS", CUDA_SUCCESS);
  if (status != CUDA_SUCCESS) return static_cast<CUresult>(status);
  state().is_initialized = true;
  return device_count() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuDriverGetVersion(int* version) {
  STAND_IN_CALL("cuDriverGetVersion");
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult status, const char** text) {
  switch (status) {
    case CUDA_ERROR_INVALID_VALUE: *text = "CUDA_ERROR_INVALID_VALUE"; break;
    case CUDA_ERROR_OUT_OF_MEMORY: *text = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case CUDA_ERROR_INVALID_IMAGE: *text = "CUDA_ERROR_INVALID_IMAGE"; break;
    case CUDA_ERROR_LAUNCH_FAILED: *text = "CUDA_ERROR_LAUNCH_FAILED"; break;
    case CUDA_ERROR_NOT_FOUND: *text = "CUDA_ERROR_NOT_FOUND"; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "says the stand-in";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  STAND_IN_CALL("cuDeviceGetCount");
  if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  *count = device_count();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  STAND_IN_CALL("cuDeviceGet");
  *device = index;
  return index >= 0 && index < device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  STAND_IN_CALL("cuDeviceGetName");
  std::strncpy(name, "Stand-in of a GPU", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute what, CUdevice) {
  STAND_IN_CALL("cuDeviceGetAttribute");
  const int capability = number_in_environment("STAND_IN_CAPABILITY", 90);
  switch (what) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 4; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    default: violate("cuDeviceGetAttribute: an attribute that the stand-in lacks"); *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) {
  STAND_IN_CALL("cuDeviceTotalMem");
  *bytes = total_bytes();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  STAND_IN_CALL("cuDevicePrimaryCtxRetain");
  *context = context_of(device);
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
  STAND_IN_CALL("cuCtxPushCurrent");
  contexts().push_back(device_of(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  STAND_IN_CALL("cuCtxPopCurrent");
  if (contexts().empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = context_of(contexts().back());
  contexts().pop_back();
  return CUDA_SUCCESS;
}

// --- memory ---

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  STAND_IN_CALL("cuMemAlloc");
  need_context("cuMemAlloc");
  const int device = contexts().empty() ? 0 : contexts().back();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > total_bytes() - used_bytes(device)) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  state().memory[*address] = {bytes, device};
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  STAND_IN_CALL("cuMemFree");
  run_all();  // as the true one waits
  const auto found = state().memory.find(address);
  if (found == state().memory.end()) {
    violate("cuMemFree: no such block");
    return CUDA_ERROR_INVALID_VALUE;
  }
  need_context("cuMemFree", found->second.device);
  std::free(host(address));
  state().memory.erase(found);
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(size_t* free_bytes, size_t* total) {
  STAND_IN_CALL("cuMemGetInfo");
  need_context("cuMemGetInfo");
  *total = total_bytes();
  *free_bytes = *total - used_bytes(contexts().empty() ? 0 : contexts().back());
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  STAND_IN_CALL("cuMemHostAlloc");
  need_context("cuMemHostAlloc");
  constexpr size_t kPage = 4096;  // the smallest that the driver locks
  *memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (*memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  state().host_memory[reinterpret_cast<uintptr_t>(*memory)] = {bytes, 0};
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* memory) {
  STAND_IN_CALL("cuMemFreeHost");
  run_all();
  if (state().host_memory.erase(reinterpret_cast<uintptr_t>(memory)) == 0) {
    violate("cuMemFreeHost: no such block");
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::free(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  STAND_IN_CALL("cuMemcpyHtoDAsync");
  need_range("cuMemcpyHtoDAsync", to, bytes, contexts().empty() ? 0 : contexts().back());
  return queue("cuMemcpyHtoDAsync", stream, [=] { std::memcpy(host(to), from, bytes); });
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  STAND_IN_CALL("cuMemcpyDtoHAsync");
  need_range("cuMemcpyDtoHAsync", from, bytes, contexts().empty() ? 0 : contexts().back());
  return queue("cuMemcpyDtoHAsync", stream, [=] { std::memcpy(to, host(from), bytes); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  STAND_IN_CALL("cuMemcpyDtoDAsync");
  const int device = contexts().empty() ? 0 : contexts().back();
  need_range("cuMemcpyDtoDAsync", to, bytes, device);
  need_range("cuMemcpyDtoDAsync", from, bytes, device);
  if (to < from + bytes && from < to + bytes) violate("cuMemcpyDtoDAsync: ranges overlap");
  return queue("cuMemcpyDtoDAsync", stream, [=] { std::memcpy(host(to), host(from), bytes); });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream) {
  STAND_IN_CALL("cuMemcpyPeerAsync");
  need_range("cuMemcpyPeerAsync", to, bytes, device_of(to_context));
  need_range("cuMemcpyPeerAsync", from, bytes, device_of(from_context));
  return queue("cuMemcpyPeerAsync", stream, [=] { std::memcpy(host(to), host(from), bytes); });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  STAND_IN_CALL("cuMemsetD8Async");
  need_range("cuMemsetD8Async", to, bytes, contexts().empty() ? 0 : contexts().back());
  return queue("cuMemsetD8Async", stream, [=] { std::memset(host(to), value, bytes); });
}

// --- streams and events ---

CUresult cuStreamCreate(CUstream* handle, unsigned flags) {
  STAND_IN_CALL("cuStreamCreate");
  need_context("cuStreamCreate");
  if (flags != CU_STREAM_NON_BLOCKING) violate("cuStreamCreate: blocks the default stream");
  auto* const stream = new Stream();
  stream->device = contexts().empty() ? 0 : contexts().back();
  state().streams.insert(stream);
  *handle = reinterpret_cast<CUstream>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream handle) {
  STAND_IN_CALL("cuStreamSynchronize");
  Stream* const stream = known("cuStreamSynchronize", handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  run_to(now(stream));
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream handle) {
  STAND_IN_CALL("cuStreamQuery");
  Stream* const stream = known("cuStreamQuery", handle);
  return stream != nullptr ? answer(now(stream)) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned) {
  STAND_IN_CALL("cuStreamWaitEvent");
  Event* const event = known("cuStreamWaitEvent", handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return queue("cuStreamWaitEvent", stream, [point = event->point] { run_to(point); });
}
CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  STAND_IN_CALL("cuEventCreate");
  need_context("cuEventCreate");
  if (flags != CU_EVENT_DISABLE_TIMING) violate("cuEventCreate: takes times that nobody reads");
  auto* const event = new Event();
  event->device = contexts().empty() ? 0 : contexts().back();
  state().events.insert(event);
  *handle = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent handle) {
  STAND_IN_CALL("cuEventDestroy");
  Event* const event = known("cuEventDestroy", handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state().events.erase(event);
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
  STAND_IN_CALL("cuEventRecord");
  Event* const event = known("cuEventRecord", handle);
  Stream* const stream = known("cuEventRecord", stream_handle);
  if (event == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->device != stream->device) violate("cuEventRecord: a stream of another device");
  event->point = now(stream);
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent handle) {
  STAND_IN_CALL("cuEventQuery");
  Event* const event = known("cuEventQuery", handle);
  return event != nullptr ? answer(event->point) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventSynchronize(CUevent handle) {
  STAND_IN_CALL("cuEventSynchronize");
  Event* const event = known("cuEventSynchronize", handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  run_to(event->point);
  return CUDA_SUCCESS;
}

// --- kernels ---

CUresult cuModuleLoadData(CUmodule* handle, const void* image) {
  STAND_IN_CALL("cuModuleLoadData");
  need_context("cuModuleLoadData");
  auto module = std::make_unique<Module>();
  module->device = contexts().empty() ? 0 : contexts().back();
  if (const CUresult status = load_image(image, module.get())) return status;
  state().modules.insert(module.get());
  *handle = reinterpret_cast<CUmodule>(module.release());
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule handle) {
  STAND_IN_CALL("cuModuleUnload");
  auto* const module = reinterpret_cast<Module*>(handle);
  if (state().modules.erase(module) == 0) {
    violate("cuModuleUnload: no such module");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  run_all();
  for (Kernel* const kernel : module->kernels) delete kernel;
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  STAND_IN_CALL("cuModuleGetFunction");
  auto* const module = reinterpret_cast<Module*>(handle);
  if (state().modules.count(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  Kernel* kernel = nullptr;
  if (const CUresult status = find_kernel(module, name, &kernel)) return status;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** places, void** extra) {
  STAND_IN_CALL("cuLaunchKernel");
  auto* const kernel = reinterpret_cast<Kernel*>(function);
  const bool is_line = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
  if (!is_line || shared != 0 || extra != nullptr || places == nullptr || grid_x == 0 ||
      grid_x > 0x7fffffff || block_x == 0 || block_x > 1024) {
    violate("cuLaunchKernel: sizes or arguments");
    return CUDA_ERROR_INVALID_VALUE;
  }
  need_context("cuLaunchKernel", kernel->module->device);
  return queue("cuLaunchKernel", stream, make_launch(kernel, grid_x, block_x, places));
}

}  // extern "C"
