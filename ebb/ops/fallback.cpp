// ebb/ops/fallback.cpp -- the registered copies, the switch, and the warning given once per op.
#include "ebb/ops/fallback.h"

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "ebb/core/log.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops {
namespace {

struct State {
  std::mutex mutex;
  DeviceCopies copies[kBackendCount];
  std::set<std::string> warned;
};

State& state() {
  static State instance;
  return instance;
}

std::atomic<bool> fallback_enabled{true};

void warn_once(const char* op, Device device) {
  if (!state().warned.insert(op).second) return;
  EBB_LOG_AT(1, op, ": no kernel on ", to_string(device),
             ", running on the cpu with copies there and back");
}

}  // namespace

void set_device_copies(Backend backend, const DeviceCopies& copies) {
  const std::lock_guard lock(state().mutex);
  state().copies[static_cast<int>(backend)] = copies;
}

bool is_kernel_fallback_enabled() { return fallback_enabled; }
void set_kernel_fallback(bool enabled) { fallback_enabled = enabled; }

CpuFallback::CpuFallback(const char* op, DType dtype, Device device) : device_(device) {
  const Backend backend = backend_of(device);
  const std::lock_guard lock(state().mutex);
  copies_ = state().copies[static_cast<int>(backend)];
  const bool is_possible = backend != Backend::cpu && copies_.to_cpu != nullptr;
  if (!is_possible || !fallback_enabled) throw_no_kernel(op, dtype, device);
  warn_once(op, device);
}

}  // namespace ebb::ops
