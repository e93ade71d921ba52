// ebb/devices/opencl/plugin.cpp -- the functions that ebb calls (docs/devices.md).
#include "ebb/devices/launch/plugin.h"

#include <algorithm>

#include "ebb/devices/common/register.h"
#include "ebb/devices/opencl/device.h"
#include "ebb/devices/opencl/opencl_driver.h"

namespace ebb::opencl {
namespace {

/// An event; null until it is recorded.
struct Event {
  std::mutex mutex;
  OwnedEvent point;

  /// A reference of its own to the point, or null.
  OwnedEvent current() {
    const std::lock_guard lock(mutex);
    if (point.get() != nullptr) check(clRetainEvent(point.get()), "clRetainEvent");
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

void copy(Queue& queue, void* to, const void* from, size_t bytes, cl_event* event) {
  check(clEnqueueSVMMemcpy(queue.handle, CL_FALSE, to, from, bytes, 0, nullptr, event),
        "clEnqueueSVMMemcpy");
  queue.note_command();
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

std::unique_ptr<EventCopy> queue_copy(Queue& queue, void* to, const void* from, size_t bytes) {
  cl_event done = nullptr;
  copy(queue, to, from, bytes, &done);
  return std::make_unique<EventCopy>(OwnedEvent(done));
}

cl_context context_of(cl_event event) {
  cl_context context = nullptr;
  check(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, nullptr),
        "clGetEventInfo");
  return context;
}

struct Functions : devices::CommonFunctions {
  static void device_count(int* count) { *count = static_cast<int>(all_devices().size()); }

  static void memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
    OpenclDevice& own = device_at(device);
    *total_bytes = own.total_bytes;
    *free_bytes = own.total_bytes - std::min(own.total_bytes, own.memory->bytes().reserved);
  }

  static void copy_to_device(int device, void* to, const void* from, size_t bytes,
                             NativeStream stream) {
    Queue& queue = queue_of(stream);
    device_at(device).staging->send(
        from, bytes, [&](const void* staged) { return queue_copy(queue, to, staged, bytes); });
    wait_if_asked(queue);
  }
  static void copy_from_pinned(int, void* to, const void* from, size_t bytes, NativeStream stream) {
    Queue& queue = queue_of(stream);
    devices::pinned_pool().send_lent(
        from, [&](const void* lent) { return queue_copy(queue, to, lent, bytes); });
    wait_if_asked(queue);
  }
  static void copy_to_host(int, void* to, const void* from, size_t bytes, NativeStream stream) {
    Queue& queue = queue_of(stream);
    copy(queue, to, from, bytes, nullptr);
    wait_if_asked(queue);
  }
  static void copy_on_device(int, void* to, int from_device, const void* from, size_t bytes,
                             NativeStream stream) {
    Queue& queue = queue_of(stream);
    const auto part = [&](void* target, const void* source) {
      copy(queue, target, source, bytes, nullptr);
    };
    devices::copy_within(*device_at(from_device).memory, stream, to, from, bytes, part);
    wait_if_asked(queue);
  }
  static void fill(int, void* memory, unsigned char value, size_t bytes, NativeStream stream) {
    Queue& queue = queue_of(stream);
    check(clEnqueueSVMMemFill(queue.handle, memory, &value, 1, bytes, 0, nullptr, nullptr),
          "clEnqueueSVMMemFill");
    queue.note_command();
    wait_if_asked(queue);
  }

  static void default_stream(int device, NativeStream* stream) {
    *stream = device_at(device).queues.front().get();
  }
  static void create_stream(int device, NativeStream* stream) {
    *stream = &new_queue(device_at(device));
  }
  static void synchronize_stream(int, NativeStream stream) {
    Queue& queue = queue_of(stream);
    const uint64_t commands = queue.commands.load();
    check(clFinish(queue.handle), "clFinish");
    const std::lock_guard lock(queue.mutex);
    queue.finished = commands;
  }
  static void query_stream(int, NativeStream stream, int* is_done) {
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
  }

  static void create_event(int, NativeEvent* event) { *event = new Event(); }
  static void destroy_event(int, NativeEvent event) {
    delete &event_of(event);  // what waits for its point holds a reference of its own
  }
  static void record_event(int, NativeEvent event, NativeStream stream) {
    OwnedEvent point = marker_on(queue_of(stream));
    Event& own = event_of(event);
    const std::lock_guard lock(own.mutex);
    own.point = std::move(point);
  }
  static void wait_event(int, NativeStream stream, NativeEvent event) {
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
  }
  static void query_event(int, NativeEvent event, int* is_done) {
    const OwnedEvent point = event_of(event).current();
    *is_done = point.get() == nullptr || is_reached(point.get()) ? 1 : 0;
  }
  static void synchronize_event(int, NativeEvent event) {
    const OwnedEvent point = event_of(event).current();
    cl_event handle = point.get();
    if (handle != nullptr) check(clWaitForEvents(1, &handle), "clWaitForEvents");
  }
};

constexpr DevicePlugin kPlugin = devices::plugin_struct<Functions>("opencl");
constexpr DeviceExtras kExtras = devices::extras_struct<Functions>();

}  // namespace
}  // namespace ebb::opencl

extern "C" EBB_API const ebb::DevicePlugin* ebb_device_plugin() { return &ebb::opencl::kPlugin; }

extern "C" EBB_API const ebb::DeviceExtras* ebb_device_extras() { return &ebb::opencl::kExtras; }

extern "C" EBB_API void ebb_device_loaded(ebb::DeviceType type) {
  static ebb::opencl::OpenclDriver driver(type);
  ebb::devices::register_kernels(type, driver);
}
