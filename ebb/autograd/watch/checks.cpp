// ebb/autograd/watch/checks.cpp -- checks that the environment asks for, on from the start.
//
// They hold for the thread that loads the library and for those that work for it, as modes do.
#include "ebb/autograd/watch/checks.h"

#include <cstdlib>
#include <string_view>

namespace ebb {
namespace {

/// What a variable says; "" if it is not set, or off.
std::string_view setting(const char* variable) {
  const char* const text = std::getenv(variable);
  const std::string_view value = text == nullptr ? "" : text;
  return value == "0" ? "" : value;
}

uint32_t modes_asked_for() {
  uint32_t modes = 0;
  const std::string_view finite = setting("EBB_CHECK_NAN_INF");
  if (!finite.empty()) modes |= gate::kNanCheck | gate::kGradCheck;
  if (finite == "nan") modes |= gate::kAllowInf;
  if (!setting("EBB_DETECT_ANOMALY").empty()) modes |= gate::kAnomaly | gate::kGradCheck;
  return modes;
}

[[maybe_unused]] const uint32_t modes_at_start = thread_state.modes |= modes_asked_for();

}  // namespace
}  // namespace ebb
