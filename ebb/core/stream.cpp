// ebb/core/stream.cpp -- the pool of streams a device, events, and the thread's current ones.
//
// Streams are made once and kept: an id stays good for as long as the process runs.
#include "ebb/core/stream.h"

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "ebb/core/error.h"

namespace ebb {
namespace {

constexpr uint16_t kPooled = 32;

/// The streams of one device; id 0 is the default one.
struct Streams {
  std::array<std::atomic<NativeStream>, kPooled + 1> native{};
  std::atomic<uint16_t> count{0};  // ids below it are there
  std::atomic<uint16_t> turn{0};
  std::mutex making;
};

/// Made on first use and kept for good: worker threads may outlive static objects.
Streams& streams_of(Device device) {
  static std::mutex mutex;
  static std::atomic<Streams*> all[kDeviceTypeCount][kMaxDevices];
  std::atomic<Streams*>& slot = all[static_cast<int>(device.type)][device.index];
  Streams* found = slot.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  const std::lock_guard lock(mutex);
  found = slot.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = new Streams();
    slot.store(found, std::memory_order_release);
  }
  return *found;
}

/// Makes the streams up to `id`.
void make_streams(const DevicePlugin& plugin, Device device, Streams& streams, uint16_t id) {
  const std::lock_guard lock(streams.making);
  for (uint16_t next = streams.count; next <= id; ++next) {
    NativeStream made = nullptr;
    const int status = next == 0 ? plugin.default_stream(device.index, &made)
                                 : plugin.create_stream(device.index, &made);
    check_device_call(status, next == 0 ? "default_stream" : "create_stream", device);
    streams.native[next].store(made, std::memory_order_relaxed);
    streams.count.store(static_cast<uint16_t>(next + 1), std::memory_order_release);
  }
}

struct ThreadStreams {
  Device default_device;
  std::vector<Stream> current;  // at most one a device; default streams are not listed
};

ThreadStreams& of_thread() {
  thread_local ThreadStreams streams;
  return streams;
}

}  // namespace

NativeStream native_stream(Stream stream) {
  if (is_on_host(stream.device)) return nullptr;
  const DevicePlugin& plugin = plugin_of("stream", stream.device);
  Streams& streams = streams_of(stream.device);
  if (stream.id >= streams.count.load(std::memory_order_acquire)) {
    if (stream.id != 0) {
      throw ValueError(str("stream: needs one that new_stream() made, got ", stream.id, " of ",
                           to_string(stream.device)));
    }
    make_streams(plugin, stream.device, streams, 0);
  }
  return streams.native[stream.id].load(std::memory_order_relaxed);
}

Stream new_stream(Device device) {
  if (is_on_host(device)) return {device, 0};
  const DevicePlugin& plugin = plugin_of("stream", device);
  Streams& streams = streams_of(device);
  const auto id = static_cast<uint16_t>(1 + streams.turn.fetch_add(1) % kPooled);
  if (id >= streams.count.load(std::memory_order_acquire)) {
    make_streams(plugin, device, streams, id);
  }
  return {device, id};
}

Stream current_stream(Device device) {
  if (!is_on_host(device)) {
    for (const Stream& stream : of_thread().current) {
      if (stream.device == device) return stream;
    }
  }
  return {device, 0};
}

void set_current_stream(Stream stream) {
  if (is_on_host(stream.device)) return;
  native_stream(stream);  // throws unless it is there
  std::vector<Stream>& current = of_thread().current;
  std::erase_if(current, [&](const Stream& other) { return other.device == stream.device; });
  if (stream.id != 0) current.push_back(stream);
}

void synchronize(Stream stream) {
  if (is_on_host(stream.device)) return;
  const DevicePlugin& plugin = plugin_of("synchronize", stream.device);
  check_device_call(plugin.synchronize_stream(stream.device.index, native_stream(stream)),
                    "synchronize", stream.device);
}

void synchronize(Device device) {
  if (is_on_host(device)) return;
  synchronize(Stream{device, 0});
  const uint16_t count = streams_of(device).count.load(std::memory_order_acquire);
  for (uint16_t id = 1; id < count; ++id) synchronize(Stream{device, id});
}

bool is_idle(Stream stream) {
  if (is_on_host(stream.device)) return true;
  const DevicePlugin& plugin = plugin_of("stream", stream.device);
  int is_done = 0;
  check_device_call(plugin.query_stream(stream.device.index, native_stream(stream), &is_done),
                    "query_stream", stream.device);
  return is_done != 0;
}

Event::Event(Device device) : device_(device) {
  if (is_on_host(device)) return;
  const DevicePlugin& plugin = plugin_of("event", device);
  check_device_call(plugin.create_event(device.index, &native_), "create_event", device);
}

Event::~Event() {
  if (native_ != nullptr) find_plugin(device_.type)->destroy_event(device_.index, native_);
}

Event::Event(Event&& other) noexcept
    : device_(other.device_), native_(std::exchange(other.native_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(native_, other.native_);
  return *this;
}

void Event::record(Stream stream) {
  if (stream.device != device_) {
    throw ValueError(str("event: needs a stream of ", to_string(device_), ", got one of ",
                         to_string(stream.device)));
  }
  if (native_ == nullptr) return;
  const DevicePlugin& plugin = plugin_of("event", device_);
  check_device_call(plugin.record_event(device_.index, native_, native_stream(stream)),
                    "record_event", device_);
}

void Event::wait(Stream stream) const {
  if (native_ == nullptr) return;
  // Two plug-ins know nothing of each other's events: the host is between them.
  if (stream.device.type != device_.type) return synchronize();
  const DevicePlugin& plugin = plugin_of("event", device_);
  check_device_call(plugin.wait_event(stream.device.index, native_stream(stream), native_),
                    "wait_event", stream.device);
}

bool Event::is_reached() const {
  if (native_ == nullptr) return true;
  int is_done = 0;
  check_device_call(plugin_of("event", device_).query_event(device_.index, native_, &is_done),
                    "query_event", device_);
  return is_done != 0;
}

void Event::synchronize() const {
  if (native_ == nullptr) return;
  check_device_call(plugin_of("event", device_).synchronize_event(device_.index, native_),
                    "synchronize_event", device_);
}

void order_streams(Stream before, Stream after) {
  if (before == after || is_on_host(before.device)) return;
  Event event(before.device);
  event.record(before);
  event.wait(after);
}

Device default_device() { return of_thread().default_device; }

void set_default_device(Device device) {
  if (device != Device{}) plugin_of("set_default_device", device);
  of_thread().default_device = device;
}

DeviceModes device_modes() { return {of_thread().default_device, of_thread().current}; }

void set_device_modes(const DeviceModes& modes) {
  of_thread().default_device = modes.default_device;
  of_thread().current = modes.streams;
}

}  // namespace ebb
