// ebb/core/device/cudnn_switch.cpp -- the switch, also by EBB_CUDNN.
#include "ebb/core/device/cudnn_switch.h"

#include <atomic>

#include "ebb/core/base/flags.h"

namespace ebb {
namespace {

std::atomic<bool> allowed{flag_in_environment("cudnn", true)};

const FlagEntry entry(switch_flag<allowed>(
    "cudnn", true,
    "Whether convolutions and attention on GPUs may be cuDNN's; else they are ebb's own."));

}  // namespace

bool is_cudnn_allowed() { return allowed.load(std::memory_order_relaxed); }

}  // namespace ebb
