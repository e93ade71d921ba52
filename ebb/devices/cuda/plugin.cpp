// ebb/devices/cuda/plugin.cpp -- the functions that ebb calls (docs/devices.md). Each has the
// device's context current.
#include "ebb/devices/launch/plugin.h"

#include "ebb/devices/common/register.h"
#include "ebb/devices/cuda/cuda_driver.h"
#include "ebb/devices/cuda/cudnn/library.h"
#include "ebb/devices/cuda/device.h"

namespace ebb::cuda {
namespace {

/// Makes the context of a device current for the length of a scope.
ContextScope scope_of(int device) { return ContextScope(device_at(device).context); }

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

/// Queues a copy from pinned memory. Should nothing tell when it is done, it is waited for.
std::unique_ptr<EventCopy> queue_copy(const CudaStream& stream, void* to, const void* from,
                                      size_t bytes) {
  auto copy = std::make_unique<EventCopy>(stream);
  check(api().cuMemcpyHtoDAsync(address_of(to), from, bytes, stream.handle), "cuMemcpyHtoDAsync");
  const CUresult status = api().cuEventRecord(copy->get(), stream.handle);
  if (status != CUDA_SUCCESS) {
    api().cuStreamSynchronize(stream.handle);
    check(status, "cuEventRecord");
  }
  return copy;
}

struct Functions : devices::CommonFunctions {
  static void device_count(int* count) { *count = static_cast<int>(all_devices().size()); }

  static void memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
    const ContextScope scope = scope_of(device);
    check(api().cuMemGetInfo(free_bytes, total_bytes), "cuMemGetInfo");
  }

  static void copy_to_device(int device, void* to, const void* from, size_t bytes,
                             NativeStream native) {
    const ContextScope scope = scope_of(device);
    const CudaStream& stream = stream_of(native);
    device_at(device).staging->send(
        from, bytes, [&](const void* staged) { return queue_copy(stream, to, staged, bytes); });
    wait_if_asked(stream);
  }
  static void copy_from_pinned(int device, void* to, const void* from, size_t bytes,
                               NativeStream native) {
    const ContextScope scope = scope_of(device);
    const CudaStream& stream = stream_of(native);
    devices::pinned_pool().send_lent(
        from, [&](const void* lent) { return queue_copy(stream, to, lent, bytes); });
    wait_if_asked(stream);
  }
  static void copy_to_host(int device, void* to, const void* from, size_t bytes,
                           NativeStream native) {
    const ContextScope scope = scope_of(device);
    const CudaStream& stream = stream_of(native);
    check(api().cuMemcpyDtoHAsync(to, address_of(from), bytes, stream.handle), "cuMemcpyDtoHAsync");
    wait_if_asked(stream);
  }
  static void copy_on_device(int to_device, void* to, int from_device, const void* from,
                             size_t bytes, NativeStream native) {
    const ContextScope scope = scope_of(from_device);
    const CudaStream& stream = stream_of(native);
    if (to_device != from_device) {
      check(api().cuMemcpyPeerAsync(address_of(to), device_at(to_device).context, address_of(from),
                                    device_at(from_device).context, bytes, stream.handle),
            "cuMemcpyPeerAsync");
    } else {
      const auto part = [&](void* target, const void* source) {
        check(api().cuMemcpyDtoDAsync(address_of(target), address_of(source), bytes, stream.handle),
              "cuMemcpyDtoDAsync");
      };
      devices::copy_within(*stream.device->memory, native, to, from, bytes, part);
    }
    wait_if_asked(stream);
  }
  static void fill(int device, void* memory, unsigned char value, size_t bytes,
                   NativeStream native) {
    const ContextScope scope = scope_of(device);
    const CudaStream& stream = stream_of(native);
    check(api().cuMemsetD8Async(address_of(memory), value, bytes, stream.handle),
          "cuMemsetD8Async");
    wait_if_asked(stream);
  }

  static void default_stream(int device, NativeStream* stream) {
    *stream = device_at(device).streams.front().get();
  }
  static void create_stream(int device, NativeStream* stream) {
    *stream = &new_stream(device_at(device));
  }
  static void synchronize_stream(int device, NativeStream stream) {
    const ContextScope scope = scope_of(device);
    check(api().cuStreamSynchronize(stream_of(stream).handle), "cuStreamSynchronize");
  }
  static void query_stream(int device, NativeStream stream, int* is_done) {
    const ContextScope scope = scope_of(device);
    *is_done = is_reached(api().cuStreamQuery(stream_of(stream).handle), "cuStreamQuery");
  }

  static void convolution_library(uint64_t* version) { *version = cudnn_version(); }

  static void create_event(int device, NativeEvent* event) {
    const ContextScope scope = scope_of(device);
    CUevent made = nullptr;
    check(api().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    *event = made;
  }
  static void destroy_event(int device, NativeEvent event) {
    const ContextScope scope = scope_of(device);
    check(api().cuEventDestroy(event_of(event)), "cuEventDestroy");
  }
  static void record_event(int device, NativeEvent event, NativeStream stream) {
    const ContextScope scope = scope_of(device);
    check(api().cuEventRecord(event_of(event), stream_of(stream).handle), "cuEventRecord");
  }
  static void wait_event(int device, NativeStream stream, NativeEvent event) {
    const ContextScope scope = scope_of(device);
    check(api().cuStreamWaitEvent(stream_of(stream).handle, event_of(event), 0),
          "cuStreamWaitEvent");
  }
  static void query_event(int device, NativeEvent event, int* is_done) {
    const ContextScope scope = scope_of(device);
    *is_done = is_reached(api().cuEventQuery(event_of(event)), "cuEventQuery");
  }
  static void synchronize_event(int device, NativeEvent event) {
    const ContextScope scope = scope_of(device);
    check(api().cuEventSynchronize(event_of(event)), "cuEventSynchronize");
  }
};

constexpr DevicePlugin kPlugin = devices::plugin_struct<Functions>("cuda");
constexpr DeviceExtras kExtras = devices::extras_struct<Functions>();

}  // namespace
}  // namespace ebb::cuda

extern "C" EBB_API const ebb::DevicePlugin* ebb_device_plugin() { return &ebb::cuda::kPlugin; }

extern "C" EBB_API const ebb::DeviceExtras* ebb_device_extras() { return &ebb::cuda::kExtras; }

extern "C" EBB_API void ebb_device_loaded(ebb::DeviceType type) {
  static ebb::cuda::CudaDriver driver(type);
  ebb::devices::register_kernels(type, driver);
}
