// ebb/core/device/stream.cpp -- the pool of streams a device, events, and the thread's current
// ones.
//
// Streams are made once and kept: an id stays good for as long as the process runs.
#include "ebb/core/device/stream.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "ebb/core/base/error.h"
#include "ebb/core/device/stream_checks.h"

namespace ebb {

namespace {

constexpr uint16_t kPooled = 32;

// Held while streams and sets of streams are made. A fork must not catch another thread with it.
constinit std::mutex making;
[[maybe_unused]] const int fork_handlers =
    pthread_atfork([] { making.lock(); }, [] { making.unlock(); }, [] { making.unlock(); });

/// The streams of one device; id 0 is the default one.
struct Streams {
  std::array<std::atomic<NativeStream>, kPooled + 1> native{};
  std::atomic<uint16_t> count{0};  // ids below it are there
  std::atomic<uint16_t> turn{0};
};

/// Made on first use and kept for good: worker threads may outlive static objects.
constinit std::atomic<Streams*> all_streams[kDeviceTypeCount][kMaxDevices];

Streams& streams_of(Device device) {
  std::atomic<Streams*>& slot = all_streams[static_cast<int>(device.type)][device.index];
  Streams* found = slot.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  const std::lock_guard lock(making);
  found = slot.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = new Streams();
    slot.store(found, std::memory_order_release);
  }
  return *found;
}

/// Makes the streams up to `id`.
void make_streams(const DevicePlugin& plugin, Device device, Streams& streams, uint16_t id) {
  const std::lock_guard lock(making);
  for (uint16_t next = streams.count; next <= id; ++next) {
    NativeStream made = nullptr;
    const int status = next == 0 ? plugin.default_stream(device.index, &made)
                                 : plugin.create_stream(device.index, &made);
    check_device_call(status, next == 0 ? "default_stream" : "create_stream", device);
    streams.native[next].store(made, std::memory_order_relaxed);
    streams.count.store(static_cast<uint16_t>(next + 1), std::memory_order_release);
  }
}

/// Every set that was ever current, by number. None is forgotten: recorded nodes name them.
class StreamSets {
 public:
  std::span<const Stream> get(StreamSet set) const {
    if (set == 0) return {};
    return *sets_[set - 1].load(std::memory_order_acquire);
  }
  /// The number of a set, which is sorted by device.
  StreamSet number_of(std::vector<Stream> streams) {
    if (streams.empty()) return 0;
    const std::lock_guard lock(making);
    for (StreamSet known = 0; known < count_; ++known) {
      if (*sets_[known].load(std::memory_order_relaxed) == streams) return known + 1;
    }
    if (count_ == kMost) {
      throw ValueError(
          str("stream: at most ", kMost, " combinations of current streams, got one more"));
    }
    auto made = std::make_unique<std::vector<Stream>>(std::move(streams));
    sets_[count_].store(made.release(), std::memory_order_release);
    return ++count_;
  }

 private:
  static constexpr StreamSet kMost = 1 << 16;
  StreamSet count_ = 0;  // guarded by `making`
  std::atomic<const std::vector<Stream>*> sets_[kMost] = {};
};
constinit StreamSets stream_sets;

thread_local constinit Device default_device_of_thread;

constinit std::atomic<int64_t> waits{0};

bool comes_before(const Stream& a, const Stream& b) {
  return std::pair(a.device.type, a.device.index) < std::pair(b.device.type, b.device.index);
}

/// What native_stream() does for a stream that was not made yet.
NativeStream first_native_stream(Stream stream) {
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

}  // namespace

NativeStream native_stream(Stream stream) {
  const Device device = stream.device;
  const Streams* const known = is_hidden(device)
                                   ? nullptr
                                   : all_streams[static_cast<int>(device.type)][device.index].load(
                                         std::memory_order_acquire);
  const bool is_made = known != nullptr && stream.id < known->count.load(std::memory_order_acquire);
  if (!is_made) return first_native_stream(stream);
  return known->native[stream.id].load(std::memory_order_relaxed);
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

std::span<const Stream> streams_in(StreamSet set) { return stream_sets.get(set); }

Stream stream_in(StreamSet set, Device device) {
  if (set == 0) return {device, 0};
  for (const Stream& stream : streams_in(set)) {
    if (stream.device == device) return stream;
  }
  return {device, 0};
}

Stream current_stream(Device device) {
  const StreamSet set = current_streams();
  if (set == 0) [[likely]]
    return {device, 0};
  return stream_in(set, device);
}

void set_current_stream(Stream stream) {
  if (is_on_host(stream.device)) return;
  native_stream(stream);  // throws unless it is there
  const std::span<const Stream> now = streams_in(current_streams());
  std::vector<Stream> streams(now.begin(), now.end());
  std::erase_if(streams, [&](const Stream& other) { return other.device == stream.device; });
  if (stream.id != 0) streams.push_back(stream);
  std::sort(streams.begin(), streams.end(), comes_before);
  set_current_streams(stream_sets.number_of(std::move(streams)));
}

void synchronize(Stream stream) {
  if (is_on_host(stream.device)) return;
  const DevicePlugin& plugin = plugin_of("synchronize", stream.device);
  const NativeStream native = native_stream(stream);
  detail::FindingRead read(stream, native);
  waits.fetch_add(1, std::memory_order_relaxed);
  check_device_call(plugin.synchronize_stream(stream.device.index, native), "synchronize",
                    stream.device);
  read.raise_if_found();
}

int64_t detail::device_waits() { return waits.load(std::memory_order_relaxed); }

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
  waits.fetch_add(1, std::memory_order_relaxed);
  check_device_call(plugin_of("event", device_).synchronize_event(device_.index, native_),
                    "synchronize_event", device_);
  const std::optional<Stream> found = detail::stream_with_finding(device_);
  if (found) ebb::synchronize(*found);  // reads it in order, and throws
}

void order_streams(Stream before, Stream after) {
  if (before == after || is_on_host(before.device)) return;
  Event event(before.device);
  event.record(before);
  event.wait(after);
}

Device default_device() { return default_device_of_thread; }

void set_default_device(Device device) {
  if (device != Device{}) plugin_of("set_default_device", device);
  default_device_of_thread = device;
}

DeviceModes device_modes() { return {default_device(), current_streams()}; }

void set_device_modes(const DeviceModes& modes) {
  default_device_of_thread = modes.default_device;
  set_current_streams(modes.streams);
}

}  // namespace ebb
