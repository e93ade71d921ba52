// ebb/devices/opencl/plugin.cpp -- the struct of functions that ebb calls (docs/devices.md).
//
// Each function runs inside guarded(), which turns exceptions into a status and a text.
#include <algorithm>
#include <cstring>

#include "ebb/core/base/str.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/devices/common/register.h"
#include "ebb/devices/opencl/device.h"
#include "ebb/devices/opencl/opencl_driver.h"

namespace ebb::opencl {
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

Queue& queue_of(NativeStream stream) { return *static_cast<Queue*>(stream); }

/// An event; null until it is recorded.
struct Event {
  std::mutex mutex;
  OwnedEvent point;

  /// A reference of its own to the point, or null.
  OwnedEvent current() {
    const std::lock_guard lock(mutex);
    if (point.get() != nullptr) clRetainEvent(point.get());
    return OwnedEvent(point.get());
  }
};
Event& event_of(NativeEvent event) { return *static_cast<Event*>(event); }

/// Whether the event is reached; throws if what it waits for failed.
bool is_reached(cl_event event) {
  cl_int status = CL_QUEUED;
  check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
        "clGetEventInfo");
  if (status < 0) check(status, "the work of a stream");
  return status == CL_COMPLETE;
}

OwnedEvent marker_on(Queue& queue) {
  cl_event event = nullptr;
  check(clEnqueueMarkerWithWaitList(queue.handle, 0, nullptr, &event),
        "clEnqueueMarkerWithWaitList");
  OwnedEvent owned(event);
  check(clFlush(queue.handle), "clFlush");  // another queue, or the host, may wait for it
  return owned;
}

int device_count(int* count) {
  return guarded([&] { *count = static_cast<int>(all_devices().size()); });
}
const char* last_error() { return last_failure().c_str(); }

int allocate(int device, size_t bytes, NativeStream stream, void** memory) {
  return guarded([&] { *memory = device_at(device).memory->take(bytes, &queue_of(stream)); });
}
int deallocate(int device, void* memory, size_t bytes, NativeStream stream) {
  return guarded([&] { device_at(device).memory->give(memory, bytes, &queue_of(stream)); });
}
int memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  return guarded([&] {
    OpenclDevice& own = device_at(device);
    *total_bytes = own.total_bytes;
    *free_bytes = own.total_bytes - std::min(own.total_bytes, own.memory->bytes().reserved);
  });
}

void copy(Queue& queue, void* to, const void* from, size_t bytes, cl_event* event) {
  check(clEnqueueSVMMemcpy(queue.handle, CL_FALSE, to, from, bytes, 0, nullptr, event),
        "clEnqueueSVMMemcpy");
  queue.note_command();
  wait_if_asked(queue);
}

/// Done when its event is.
class EventCopy final : public devices::PendingCopy {
 public:
  explicit EventCopy(OwnedEvent event) : event_(std::move(event)) {}
  bool is_over() override {
    cl_int status = CL_QUEUED;
    clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                   nullptr);
    return status <= CL_COMPLETE;
  }

 private:
  OwnedEvent event_;
};

int copy_to_device(int device, void* to, const void* from, size_t bytes, NativeStream stream) {
  return guarded([&] {
    devices::StagingPool& staging = *device_at(device).staging;
    void* const staged = staging.take(bytes);
    std::memcpy(staged, from, bytes);
    cl_event done = nullptr;
    try {
      copy(queue_of(stream), to, staged, bytes, &done);
    } catch (const Failure&) {
      staging.free(staged, bytes);
      throw;
    }
    staging.busy(staged, bytes, std::make_unique<EventCopy>(OwnedEvent(done)));
  });
}
int copy_to_host(int, void* to, const void* from, size_t bytes, NativeStream stream) {
  return guarded([&] { copy(queue_of(stream), to, from, bytes, nullptr); });
}
int copy_on_device(int, void* to, int from_device, const void* from, size_t bytes,
                   NativeStream stream) {
  return guarded([&] {
    Queue& queue = queue_of(stream);
    const auto distance = static_cast<const char*>(to) - static_cast<const char*>(from);
    const auto length = static_cast<ptrdiff_t>(bytes);
    if (distance == 0) return;
    if (distance >= length || distance <= -length) return copy(queue, to, from, bytes, nullptr);
    devices::MemoryPool& memory =
        *device_at(from_device).memory;  // they overlap, which OpenCL refuses
    void* const between = memory.take(bytes, &queue);
    copy(queue, between, from, bytes, nullptr);
    copy(queue, to, between, bytes, nullptr);
    memory.give(between, bytes, &queue);
  });
}
int fill(int, void* memory, unsigned char value, size_t bytes, NativeStream stream) {
  return guarded([&] {
    Queue& queue = queue_of(stream);
    check(clEnqueueSVMMemFill(queue.handle, memory, &value, 1, bytes, 0, nullptr, nullptr),
          "clEnqueueSVMMemFill");
    queue.note_command();
    wait_if_asked(queue);
  });
}

int default_stream(int device, NativeStream* stream) {
  return guarded([&] { *stream = device_at(device).queues.front().get(); });
}
int create_stream(int device, NativeStream* stream) {
  return guarded([&] { *stream = &new_queue(device_at(device)); });
}
int synchronize_stream(int, NativeStream stream) {
  return guarded([&] {
    Queue& queue = queue_of(stream);
    const uint64_t commands = queue.commands.load();
    check(clFinish(queue.handle), "clFinish");
    const std::lock_guard lock(queue.mutex);
    queue.finished = commands;
  });
}
int query_stream(int, NativeStream stream, int* is_done) {
  return guarded([&] {
    Queue& queue = queue_of(stream);
    const std::lock_guard lock(queue.mutex);
    // A marker counts until more is queued: asking again must not put off the answer.
    const uint64_t commands = queue.commands.load();
    if (queue.finished == commands) {
      *is_done = 1;
      return;
    }
    if (queue.marker.get() == nullptr || queue.marked != commands) {
      queue.marker = marker_on(queue);
      queue.marked = commands;
    }
    *is_done = is_reached(queue.marker.get()) ? 1 : 0;
  });
}

int create_event(int, NativeEvent* event) {
  return guarded([&] { *event = new Event(); });
}
int destroy_event(int, NativeEvent event) {
  delete &event_of(event);  // what waits for its point holds a reference of its own
  return 0;
}
int record_event(int, NativeEvent event, NativeStream stream) {
  return guarded([&] {
    OwnedEvent point = marker_on(queue_of(stream));
    Event& own = event_of(event);
    const std::lock_guard lock(own.mutex);
    own.point = std::move(point);
  });
}

cl_context context_of(cl_event event) {
  cl_context context = nullptr;
  check(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, nullptr),
        "clGetEventInfo");
  return context;
}
int wait_event(int, NativeStream stream, NativeEvent event) {
  return guarded([&] {
    const OwnedEvent point = event_of(event).current();
    cl_event handle = point.get();
    if (handle == nullptr) return;
    Queue& queue = queue_of(stream);
    if (context_of(handle) != queue.device->context) {  // of another platform: nothing else can
      return check(clWaitForEvents(1, &handle), "clWaitForEvents");
    }
    check(clEnqueueBarrierWithWaitList(queue.handle, 1, &handle, nullptr),
          "clEnqueueBarrierWithWaitList");
    queue.note_command();
  });
}
int query_event(int, NativeEvent event, int* is_done) {
  return guarded([&] {
    const OwnedEvent point = event_of(event).current();
    *is_done = point.get() == nullptr || is_reached(point.get()) ? 1 : 0;
  });
}
int synchronize_event(int, NativeEvent event) {
  return guarded([&] {
    const OwnedEvent point = event_of(event).current();
    cl_event handle = point.get();
    if (handle != nullptr) check(clWaitForEvents(1, &handle), "clWaitForEvents");
  });
}

constexpr DevicePlugin kPlugin = {
    .abi_version = kDeviceAbiVersion,
    .struct_size = sizeof(DevicePlugin),
    .name = "opencl",
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

}  // namespace
}  // namespace ebb::opencl

extern "C" EBB_API const ebb::DevicePlugin* ebb_device_plugin() { return &ebb::opencl::kPlugin; }

extern "C" EBB_API void ebb_device_loaded(ebb::DeviceType type) {
  static ebb::opencl::OpenclDriver driver(type);
  ebb::devices::register_kernels(type, driver);
}
