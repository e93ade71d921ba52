// ebb/autograd/watch/checks.cpp -- checks that the environment asks for, on from the start.
//
// They hold for the thread that loads the library and for those that work for it, as modes do.
#include "ebb/autograd/watch/checks.h"

#include <string>
#include <string_view>

#include "ebb/core/base/error.h"
#include "ebb/core/base/flags.h"

namespace ebb {
namespace {

constexpr uint32_t kFinite = gate::kNanCheck | gate::kAllowInf;

/// Modes with the check of gradients that the others ask for.
void set_modes(uint32_t modes) {
  const bool checks = (modes & (gate::kNanCheck | gate::kAnomaly)) != 0;
  thread_state.modes = (modes & ~gate::kGradCheck) | (checks ? gate::kGradCheck : 0);
}

void check_nan_inf(std::string_view value) {
  const bool is_off = value.empty() || value == "0";
  const uint32_t modes = is_off ? 0 : value == "nan" ? kFinite : gate::kNanCheck;
  set_modes((thread_state.modes & ~kFinite) | modes);
}

void detect_anomaly(std::string_view value) {
  set_modes((thread_state.modes & ~gate::kAnomaly) | (value == "true" ? gate::kAnomaly : 0));
}

const FlagEntry kFlags[] = {
    FlagEntry({
        .name = "check_nan_inf",
        .type = FlagType::text,
        .fallback = "0",
        .doc = "1: the first op or node with a NaN or an infinity is an error; nan: NaN alone.",
        .get =
            [] {
              if ((thread_state.modes & gate::kNanCheck) == 0) return std::string("0");
              return std::string((thread_state.modes & gate::kAllowInf) != 0 ? "nan" : "1");
            },
        .set =
            [](std::string_view value) {
              if (value != "0" && value != "1" && value != "nan") {
                throw ValueError(str("check_nan_inf: needs 0, 1 or nan, got ", value));
              }
              check_nan_inf(value);
            },
    }),
    FlagEntry({
        .name = "detect_anomaly",
        .type = FlagType::boolean,
        .fallback = "false",
        .doc = "Whether errors of a backward run show the call that recorded the node.",
        .get = [] { return std::string(is_anomaly_enabled() ? "true" : "false"); },
        .set = detect_anomaly,
    }),
};

uint32_t modes_at_start() {
  check_nan_inf(flag_in_environment("check_nan_inf"));
  if (flag_in_environment("detect_anomaly", false)) detect_anomaly("true");
  return thread_state.modes;
}

[[maybe_unused]] const uint32_t at_start = modes_at_start();

}  // namespace
}  // namespace ebb
