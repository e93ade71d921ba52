// tests/device/sim_device.cpp -- a plug-in for a device that is simulated on the CPU's threads.
//
// It uses the public struct only. Two devices; memory comes from the C library, at addresses with
// one more bit set, which no CPU follows; freed memory is overwritten. Kernels are in
// sim_kernels.cpp.
#include "tests/device/sim_device.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/device/sim_memory.h"
#include "tests/device/sim_queue.h"

namespace ebb::sim {
namespace {

constexpr int kDevices = 2;

struct Sim {
  Delay delay;
  std::array<std::atomic<int64_t>, kDevices> live{};
  std::atomic<int64_t> limit{0};
  std::atomic<int64_t> copies{0};
  std::atomic<bool> fails_next{false};
};

Sim& sim() {
  static auto* const instance = new Sim();  // its queues' threads outlive static objects
  return *instance;
}

thread_local const char* last_error = "nothing failed";

int failed(const char* text) {
  last_error = text;
  return 1;
}

Queue& queue_of(NativeStream stream) { return *static_cast<Queue*>(stream); }
std::shared_ptr<Event>& event_of(NativeEvent event) {
  return *static_cast<std::shared_ptr<Event>*>(event);
}

int device_count(int* count) {
  *count = kDevices;
  return 0;
}
const char* last_error_text() { return last_error; }

int allocate(int device, size_t bytes, NativeStream, void** memory) {
  std::atomic<int64_t>& live = sim().live[static_cast<size_t>(device)];
  const int64_t limit = sim().limit;
  const auto wanted = static_cast<int64_t>(bytes);
  if (live.fetch_add(wanted) + wanted > limit && limit > 0) {
    live -= wanted;
    failed("the simulated memory is full");
    return kNoMemoryLeft;
  }
  void* const block = std::aligned_alloc(64, (bytes + 63) & ~size_t{63});
  if (block == nullptr) {
    failed("the host's memory is full");
    return kNoMemoryLeft;
  }
  *memory = tagged(block);
  return 0;
}

int deallocate(int device, void* memory, size_t bytes, NativeStream stream) {
  sim().live[static_cast<size_t>(device)] -= static_cast<int64_t>(bytes);
  queue_of(stream).push([memory, bytes] {
    std::memset(untagged(memory), 0xdd, bytes);  // whoever reads it later shall notice
    std::free(untagged(memory));
  });
  return 0;
}

int memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  constexpr int64_t kTotal = int64_t{1} << 30;
  const int64_t limit = sim().limit;
  const int64_t total = limit > 0 ? limit : kTotal;
  *total_bytes = static_cast<size_t>(total);
  *free_bytes = static_cast<size_t>(total - sim().live[static_cast<size_t>(device)]);
  return 0;
}

bool must_fail() { return sim().fails_next.exchange(false); }

int copy_to_device(int, void* to, const void* from, size_t bytes, NativeStream stream) {
  if (must_fail()) return failed("the copy was told to fail");
  ++sim().copies;
  const auto* const first = static_cast<const char*>(from);
  std::vector<char> staged(first, first + bytes);
  queue_of(stream).push([to, staged = std::move(staged)] {
    std::memcpy(untagged(to), staged.data(), staged.size());
  });
  return 0;
}
int copy_to_host(int, void* to, const void* from, size_t bytes, NativeStream stream) {
  if (must_fail()) return failed("the copy was told to fail");
  ++sim().copies;
  queue_of(stream).push([=] { std::memcpy(to, untagged(from), bytes); });
  return 0;
}
int copy_on_device(int, void* to, int, const void* from, size_t bytes, NativeStream stream) {
  queue_of(stream).push([=] { std::memmove(untagged(to), untagged(from), bytes); });
  return 0;
}
int fill(int, void* memory, unsigned char value, size_t bytes, NativeStream stream) {
  queue_of(stream).push([=] { std::memset(untagged(memory), value, bytes); });
  return 0;
}

int create_stream(int, NativeStream* stream) {
  *stream = new Queue(sim().delay);
  return 0;
}
int default_stream(int device, NativeStream* stream) {
  static const std::array<Queue*, kDevices> queues{new Queue(sim().delay), new Queue(sim().delay)};
  *stream = queues[static_cast<size_t>(device)];
  return 0;
}
int synchronize_stream(int, NativeStream stream) {
  queue_of(stream).wait_until_empty();
  return 0;
}
int query_stream(int, NativeStream stream, int* is_done) {
  *is_done = queue_of(stream).is_empty() ? 1 : 0;
  return 0;
}

int create_event(int, NativeEvent* event) {
  *event = new std::shared_ptr<Event>(std::make_shared<Event>());
  return 0;
}
int destroy_event(int, NativeEvent event) {
  delete &event_of(event);  // queues that still use it share it
  return 0;
}
int record_event(int, NativeEvent event, NativeStream stream) {
  const uint64_t point = event_of(event)->promise();
  queue_of(stream).push([shared = event_of(event), point] { shared->reach(point); });
  return 0;
}
int wait_event(int, NativeStream stream, NativeEvent event) {
  const uint64_t point = event_of(event)->promised();
  queue_of(stream).push([shared = event_of(event), point] { shared->wait(point); });
  return 0;
}
int query_event(int, NativeEvent event, int* is_done) {
  *is_done = event_of(event)->is_reached() ? 1 : 0;
  return 0;
}
int synchronize_event(int, NativeEvent event) {
  const std::shared_ptr<Event> shared = event_of(event);
  shared->wait(shared->promised());
  return 0;
}

constexpr DevicePlugin kPlugin = {
    .abi_version = kDeviceAbiVersion,
    .struct_size = sizeof(DevicePlugin),
    .name = "sim",
    .device_count = device_count,
    .last_error = last_error_text,
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
}  // namespace ebb::sim

const ebb::DevicePlugin* ebb_device_plugin() { return &ebb::sim::kPlugin; }

void ebb_sim_set_delay(int64_t most, uint32_t seed) {
  ebb::sim::Delay& delay = ebb::sim::sim().delay;
  const std::lock_guard lock(delay.mutex);
  delay.most = most;
  delay.numbers.seed(seed);
}
void ebb_sim_set_memory_limit(int64_t bytes) { ebb::sim::sim().limit = bytes; }
void ebb_sim_fail_next_copy() { ebb::sim::sim().fails_next = true; }
int64_t ebb_sim_live_bytes(int device) { return ebb::sim::sim().live[static_cast<size_t>(device)]; }
int64_t ebb_sim_copy_count() { return ebb::sim::sim().copies; }
void ebb_sim_hold(ebb::NativeStream stream) { ebb::sim::queue_of(stream).hold(true); }
void ebb_sim_release(ebb::NativeStream stream) { ebb::sim::queue_of(stream).hold(false); }
