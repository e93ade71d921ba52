// ebb/core/device/cudnn_switch.cpp -- the switch, also by EBB_CUDNN.
#include "ebb/core/device/cudnn_switch.h"

#include <atomic>
#include <string>

#include "ebb/core/base/flags.h"

namespace ebb {
namespace {

std::atomic<bool> allowed{flag_in_environment("cudnn", true)};

const FlagEntry entry({
    .name = "cudnn",
    .type = FlagType::boolean,
    .fallback = "true",
    .doc = "Whether convolutions on GPUs may be cuDNN's; else they are ebb's own.",
    .get = [] { return std::string(allowed ? "true" : "false"); },
    .set = [](std::string_view value) { allowed = value == "true"; },
});

}  // namespace

bool is_cudnn_allowed() { return allowed.load(std::memory_order_relaxed); }

}  // namespace ebb
