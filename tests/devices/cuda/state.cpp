// tests/devices/cuda/state.cpp -- what the stand-in knows, the order of its work, and what
// tests ask. See stand_in.h.
#include <cstdlib>

#include "tests/devices/cuda/stand_in.h"

namespace stand_in {

State& state() {
  static auto* const instance = new State();
  return *instance;
}

void violate(const std::string& text) { state().violations.push_back(text); }

CUresult enter(const char* call) {
  State& all = state();
  ++all.calls[call];
  const bool is_first = std::string(call) == "cuInit" || std::string(call) == "cuDriverGetVersion";
  if (!all.is_initialized && !is_first) violate(std::string(call) + ": before cuInit");
  const auto failing = all.failing.find(call);
  if (failing == all.failing.end() || failing->second.calls_before-- > 0) return CUDA_SUCCESS;
  const CUresult status = failing->second.status;
  all.failing.erase(failing);
  return status;
}

int number_in_environment(const char* name, int fallback) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : fallback;
}

std::vector<int>& contexts() {
  static thread_local std::vector<int> pushed;
  return pushed;
}
void need_context(const char* call, int device) {
  if (contexts().empty()) return violate(std::string(call) + ": no context is current");
  if (device >= 0 && contexts().back() != device) {
    violate(std::string(call) + ": the context of another device is current");
  }
}

namespace {

/// The device of the block that holds the range; -1, and a violation, if none does.
int holder_of(const char* call, CUdeviceptr address, size_t bytes) {
  auto next = state().memory.upper_bound(address);
  if (next != state().memory.begin()) {
    const auto& [start, block] = *--next;
    if (address + bytes <= start + block.bytes) return block.device;
  }
  violate(std::string(call) + ": no live block holds the range");
  return -1;
}

}  // namespace

void need_range(const char* call, CUdeviceptr address, size_t bytes, int device) {
  const int holder = holder_of(call, address, bytes);
  if (holder >= 0 && holder != device) violate(std::string(call) + ": memory of another device");
}

Stream* known(const char* call, CUstream handle) {
  auto* const stream = reinterpret_cast<Stream*>(handle);
  if (state().streams.count(stream) != 0) return stream;
  violate(std::string(call) + ": no such stream");
  return nullptr;
}
CUresult queue(const char* call, CUstream handle, std::function<void()> work) {
  Stream* const stream = known(call, handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  need_context(call, stream->device);
  stream->queued.push_back(std::move(work));
  return CUDA_SUCCESS;
}

void run_to(const Point& point) {
  if (point.stream == nullptr) return;
  Stream& stream = *point.stream;
  if (stream.is_running && stream.done < point.commands) {
    return violate("a stream waits for itself");
  }
  while (stream.done < point.commands) {
    const std::function<void()> work = std::move(stream.queued.front());
    stream.queued.pop_front();
    stream.is_running = true;
    work();
    stream.is_running = false;
    ++stream.done;
  }
}
void run_all() {
  for (Stream* const stream : state().streams) {
    run_to({stream, stream->done + stream->queued.size()});
  }
}

}  // namespace stand_in

using namespace stand_in;  // NOLINT: functions of C cannot be in a namespace

extern "C" {

void stand_in_fail(const char* call, int calls_before, int status) {
  const std::lock_guard lock(state().mutex);
  state().failing[call] = {calls_before, static_cast<CUresult>(status)};
}

const char* stand_in_violations() {
  const std::lock_guard lock(state().mutex);
  static std::string text;
  text.clear();
  for (const std::string& one : state().violations) text += one + '\n';
  state().violations.clear();
  return text.c_str();
}

int stand_in_live(const char* kind) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const std::map<std::string, size_t> counts = {
      {"memory", all.memory.size()},   {"host_memory", all.host_memory.size()},
      {"streams", all.streams.size()}, {"events", all.events.size()},
      {"modules", all.modules.size()}, {"library_objects", all.library_objects.size()}};
  const auto found = counts.find(kind);
  return found != counts.end() ? static_cast<int>(found->second) : -1;
}

int stand_in_calls(const char* call) {
  const std::lock_guard lock(state().mutex);
  return state().calls[call];
}

}  // extern "C"
