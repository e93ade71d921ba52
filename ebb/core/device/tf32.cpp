// ebb/core/device/tf32.cpp -- the switch, also by EBB_TF32.
#include "ebb/core/device/tf32.h"

#include <atomic>
#include <string>

#include "ebb/core/base/flags.h"

namespace ebb {
namespace {

std::atomic<bool> allowed{flag_in_environment("tf32", false)};

const FlagEntry entry({
    .name = "tf32",
    .type = FlagType::boolean,
    .fallback = "false",
    .doc = "Whether products of float32 on GPUs may round their factors to TF32.",
    .get = [] { return std::string(allowed ? "true" : "false"); },
    .set = [](std::string_view value) { allowed = value == "true"; },
});

}  // namespace

bool is_tf32_allowed() { return allowed.load(std::memory_order_relaxed); }
void set_tf32_allowed(bool is_allowed) { allowed.store(is_allowed, std::memory_order_relaxed); }

}  // namespace ebb
