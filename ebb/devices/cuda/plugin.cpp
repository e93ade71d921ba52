// ebb/devices/cuda/plugin.cpp -- the structs of functions that ebb calls (docs/devices.md).
//
// Each function runs inside guarded(), which turns exceptions into a status and a text.
#include <algorithm>
#include <cstring>

#include "ebb/core/base/str.h"
#include "ebb/core/device/device_extras.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/devices/common/register.h"
#include "ebb/devices/cuda/cuda_driver.h"
#include "ebb/devices/cuda/device.h"

namespace ebb::cuda {
namespace {

std::string& last_failure() {
  static thread_local std::string text = "nothing failed";
  return text;
}

/// Runs `body`; 1 and the text for last_error() if it throws.
template <typename Body>
int guarded(const Body& body) {
  try {
    refuse_fork();
    body();
    return 0;
  } catch (const std::exception& failure) {
    last_failure() = failure.what();
    return 1;
  }
}

/// The same with the device's context current.
template <typename Body>
int guarded_on(int device, const Body& body) {
  return guarded([&] {
    const ContextScope scope(device_at(device).context);
    body();
  });
}

CudaStream& stream_of(NativeStream stream) { return *static_cast<CudaStream*>(stream); }
CUevent event_of(NativeEvent event) { return static_cast<CUevent>(event); }
CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// Whether a query found all done; throws if the work failed.
int is_reached(CUresult status, const char* call) {
  if (status == CUDA_ERROR_NOT_READY) return 0;
  check(status, call);
  return 1;
}

/// An event for as long as a copy runs.
class EventCopy final : public devices::PendingCopy {
 public:
  explicit EventCopy(const CudaStream& stream) : device_(*stream.device) {
    check(api().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  }
  ~EventCopy() override {
    const ContextScope scope(device_.context);
    api().cuEventDestroy(event_);
  }
  CUevent get() const { return event_; }
  bool is_over() override {
    const ContextScope scope(device_.context);
    return api().cuEventQuery(event_) != CUDA_ERROR_NOT_READY;
  }

 private:
  const CudaDevice& device_;
  CUevent event_ = nullptr;
};

int device_count(int* count) {
  return guarded([&] { *count = static_cast<int>(all_devices().size()); });
}
const char* last_error() { return last_failure().c_str(); }

int allocate(int device, size_t bytes, NativeStream stream, void** memory) {
  return guarded([&] { *memory = device_at(device).memory->take(bytes, stream); });
}
int deallocate(int device, void* memory, size_t bytes, NativeStream stream) {
  return guarded([&] { device_at(device).memory->give(memory, bytes, stream); });
}
int memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  return guarded_on(device,
                    [&] { check(api().cuMemGetInfo(free_bytes, total_bytes), "cuMemGetInfo"); });
}

int copy_to_device(int device, void* to, const void* from, size_t bytes, NativeStream native) {
  return guarded_on(device, [&] {
    const CudaStream& stream = stream_of(native);
    devices::StagingPool& staging = *device_at(device).staging;
    auto copy = std::make_unique<EventCopy>(stream);
    void* const staged = staging.take(bytes);
    try {
      std::memcpy(staged, from, bytes);
      check(api().cuMemcpyHtoDAsync(address_of(to), staged, bytes, stream.handle),
            "cuMemcpyHtoDAsync");
      const CUresult status = api().cuEventRecord(copy->get(), stream.handle);
      if (status != CUDA_SUCCESS) {  // the copy runs, and nothing tells when it is done
        api().cuStreamSynchronize(stream.handle);
        check(status, "cuEventRecord");
      }
    } catch (const Failure&) {
      staging.free(staged, bytes);
      throw;
    }
    staging.busy(staged, bytes, std::move(copy));
    wait_if_asked(stream);
  });
}
int copy_to_host(int device, void* to, const void* from, size_t bytes, NativeStream native) {
  return guarded_on(device, [&] {
    const CudaStream& stream = stream_of(native);
    check(api().cuMemcpyDtoHAsync(to, address_of(from), bytes, stream.handle), "cuMemcpyDtoHAsync");
    wait_if_asked(stream);
  });
}

void copy_within(const CudaStream& stream, void* to, const void* from, size_t bytes) {
  check(api().cuMemcpyDtoDAsync(address_of(to), address_of(from), bytes, stream.handle),
        "cuMemcpyDtoDAsync");
}
/// Ranges that overlap, which CUDA leaves undefined, go by way of a block in between.
void copy_overlapping(const CudaStream& stream, void* to, const void* from, size_t bytes) {
  devices::MemoryPool& memory = *stream.device->memory;
  void* const between = memory.take(bytes, &stream);
  try {
    copy_within(stream, between, from, bytes);
    copy_within(stream, to, between, bytes);
  } catch (const Failure&) {
    memory.give(between, bytes, &stream);
    throw;
  }
  memory.give(between, bytes, &stream);
}
int copy_on_device(int to_device, void* to, int from_device, const void* from, size_t bytes,
                   NativeStream native) {
  return guarded_on(from_device, [&] {
    const CudaStream& stream = stream_of(native);
    const auto distance = static_cast<const char*>(to) - static_cast<const char*>(from);
    const auto length = static_cast<ptrdiff_t>(bytes);
    if (to_device != from_device) {
      check(api().cuMemcpyPeerAsync(address_of(to), device_at(to_device).context, address_of(from),
                                    device_at(from_device).context, bytes, stream.handle),
            "cuMemcpyPeerAsync");
    } else if (distance >= length || distance <= -length) {
      copy_within(stream, to, from, bytes);
    } else if (distance != 0) {
      copy_overlapping(stream, to, from, bytes);
    }
    wait_if_asked(stream);
  });
}
int fill(int device, void* memory, unsigned char value, size_t bytes, NativeStream native) {
  return guarded_on(device, [&] {
    const CudaStream& stream = stream_of(native);
    check(api().cuMemsetD8Async(address_of(memory), value, bytes, stream.handle),
          "cuMemsetD8Async");
    wait_if_asked(stream);
  });
}

int default_stream(int device, NativeStream* stream) {
  return guarded([&] { *stream = device_at(device).streams.front().get(); });
}
int create_stream(int device, NativeStream* stream) {
  return guarded([&] { *stream = &new_stream(device_at(device)); });
}
int synchronize_stream(int device, NativeStream stream) {
  return guarded_on(device, [&] {
    check(api().cuStreamSynchronize(stream_of(stream).handle), "cuStreamSynchronize");
  });
}
int query_stream(int device, NativeStream stream, int* is_done) {
  return guarded_on(device, [&] {
    *is_done = is_reached(api().cuStreamQuery(stream_of(stream).handle), "cuStreamQuery");
  });
}

int create_event(int device, NativeEvent* event) {
  return guarded_on(device, [&] {
    CUevent made = nullptr;
    check(api().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    *event = made;
  });
}
int destroy_event(int device, NativeEvent event) {
  return guarded_on(device,
                    [&] { check(api().cuEventDestroy(event_of(event)), "cuEventDestroy"); });
}
int record_event(int device, NativeEvent event, NativeStream stream) {
  return guarded_on(device, [&] {
    check(api().cuEventRecord(event_of(event), stream_of(stream).handle), "cuEventRecord");
  });
}
int wait_event(int device, NativeStream stream, NativeEvent event) {
  return guarded_on(device, [&] {
    check(api().cuStreamWaitEvent(stream_of(stream).handle, event_of(event), 0),
          "cuStreamWaitEvent");
  });
}
int query_event(int device, NativeEvent event, int* is_done) {
  return guarded_on(
      device, [&] { *is_done = is_reached(api().cuEventQuery(event_of(event)), "cuEventQuery"); });
}
int synchronize_event(int device, NativeEvent event) {
  return guarded_on(
      device, [&] { check(api().cuEventSynchronize(event_of(event)), "cuEventSynchronize"); });
}

int describe(int device, DeviceDescription* description) {
  return guarded([&] {
    const CudaDevice& own = device_at(device);
    *description = {};
    own.name.copy(description->name, sizeof description->name - 1);
    description->major = own.capability_major;
    description->minor = own.capability_minor;
    description->units = own.multiprocessors;
  });
}
int empty_cache(int device) {
  return guarded([&] {
    device_at(device).memory->release_kept();
    device_at(device).staging->release_kept();
  });
}
int reserved_bytes(int device, ReservedBytes* bytes) {
  return guarded([&] {
    const devices::PoolBytes held = device_at(device).memory->bytes();
    *bytes = {held.reserved, held.peak};
  });
}
int reset_peak_reserved(int device) {
  return guarded([&] { device_at(device).memory->reset_peak(); });
}

constexpr DevicePlugin kPlugin = {
    .abi_version = kDeviceAbiVersion,
    .struct_size = sizeof(DevicePlugin),
    .name = "cuda",
    .device_count = device_count,
    .last_error = last_error,
    .allocate = allocate,
    .deallocate = deallocate,
    .memory_info = memory_info,
    .copy_to_device = copy_to_device,
    .copy_to_host = copy_to_host,
    .copy_on_device = copy_on_device,
    .fill = fill,
    .default_stream = default_stream,
    .create_stream = create_stream,
    .synchronize_stream = synchronize_stream,
    .query_stream = query_stream,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .record_event = record_event,
    .wait_event = wait_event,
    .query_event = query_event,
    .synchronize_event = synchronize_event,
};

constexpr DeviceExtras kExtras = {
    .struct_size = sizeof(DeviceExtras),
    .describe = describe,
    .empty_cache = empty_cache,
    .reserved_bytes = reserved_bytes,
    .reset_peak_reserved = reset_peak_reserved,
};

}  // namespace
}  // namespace ebb::cuda

extern "C" EBB_API const ebb::DevicePlugin* ebb_device_plugin() { return &ebb::cuda::kPlugin; }

extern "C" EBB_API const ebb::DeviceExtras* ebb_device_extras() { return &ebb::cuda::kExtras; }

extern "C" EBB_API void ebb_device_loaded(ebb::DeviceType type) {
  static ebb::cuda::CudaDriver driver(type);
  ebb::devices::register_kernels(type, driver);
}
