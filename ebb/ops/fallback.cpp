// ebb/ops/fallback.cpp -- the switch, the warning given once per op, and writing results back.
#include "ebb/ops/fallback.h"

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "ebb/core/base/flags.h"
#include "ebb/core/base/log.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/ops/prepare.h"

namespace ebb::ops {
namespace {

std::atomic<bool> fallback_enabled{flag_in_environment("kernel_fallback", true)};

const FlagEntry entry(switch_flag<fallback_enabled>(
    "kernel_fallback", true, "Whether an op that a device has no kernel for runs on the CPU."));

std::mutex& warned_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::set<std::string>& warned_ops() {
  static std::set<std::string> ops;
  return ops;
}

void warn_once(const char* op, Device device) {
  {
    const std::lock_guard lock(warned_mutex());
    if (!warned_ops().insert(op).second) return;
  }
  warn(str(op, ": no kernel on ", to_string(device),
           ", running on the cpu with copies there and back"));
}

}  // namespace

bool is_kernel_fallback_enabled() { return fallback_enabled; }
void set_kernel_fallback(bool enabled) { fallback_enabled = enabled; }

void forget_fallback_warnings() {
  const std::lock_guard lock(warned_mutex());
  warned_ops().clear();
}

CpuFallback::CpuFallback(const char* op, DType dtype, Device device) : op_(op), device_(device) {
  if (is_meta(device)) throw_no_elements(op);
  if (!fallback_enabled) {
    throw NotImplementedError(
        str(op, ": no kernel for dtype ", dtype, " on ", to_string(device),
            ", and kernel_fallback is off\nhint: set_kernel_fallback(true) runs it on the cpu"));
  }
  warn_once(op, device);
}

void CpuFallback::write_back(const Tensor& host, const Tensor& target) const {
  ebb::write_back(host, target);
  note_write(op_, target);
}

}  // namespace ebb::ops
