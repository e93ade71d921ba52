// ebb/core/device.cpp -- devices to and from text.
#include "ebb/core/device.h"

#include <array>
#include <charconv>

#include "ebb/core/error.h"

namespace ebb {
namespace {

constexpr std::array<const char*, 4> kNames = {"cpu", "cuda", "pinned", "custom"};

[[noreturn]] void throw_bad_device(const std::string& text) {
  // The text may be anything a user typed: show a bounded part of it.
  throw ValueError(str("device: needs 'cpu', 'cuda', 'pinned' or 'custom', with an optional ",
                       "':index' from 0 to 127, got '", text.substr(0, 40), "'"));
}

}  // namespace

std::string to_string(Device device) {
  const std::string name = kNames[static_cast<int>(device.type)];
  return device.type == DeviceType::cpu ? name : str(name, ':', int{device.index});
}

Device parse_device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  int index = 0;
  if (colon != std::string::npos) {
    const char* first = text.data() + colon + 1;
    const char* last = text.data() + text.size();
    const auto [end, status] = std::from_chars(first, last, index);
    const bool is_number = first != last && end == last && status == std::errc{};
    if (!is_number || index < 0 || index > 127) throw_bad_device(text);
  }
  for (size_t type = 0; type < kNames.size(); ++type) {
    if (name == kNames[type]) {
      return {static_cast<DeviceType>(type), static_cast<int8_t>(index)};
    }
  }
  throw_bad_device(text);
}

}  // namespace ebb
