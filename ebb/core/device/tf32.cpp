// ebb/core/device/tf32.cpp -- the switch, also by EBB_TF32.
#include "ebb/core/device/tf32.h"

#include <atomic>

#include "ebb/core/base/flags.h"

namespace ebb {
namespace {

std::atomic<bool> allowed{flag_in_environment("tf32", false)};

const FlagEntry entry(switch_flag<allowed>(
    "tf32", false, "Whether products of float32 on GPUs may round their factors to TF32."));

}  // namespace

bool is_tf32_allowed() { return allowed.load(std::memory_order_relaxed); }

}  // namespace ebb
