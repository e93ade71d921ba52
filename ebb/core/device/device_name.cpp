// ebb/core/device/device_name.cpp -- devices to and from text.
#include <array>
#include <charconv>

#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/device/bundled_device.h"
#include "ebb/core/device/device.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/device/meta_device.h"

namespace ebb {
namespace {

constexpr std::array<const char*, kDeviceTypeCount> kNames = {"cpu", "cuda", "pinned", "custom",
                                                              "second_custom"};

/// What a type is called: as its plug-in says, if it has one.
const char* name_of_type(DeviceType type) {
  const DevicePlugin* const plugin = find_plugin(type);
  return plugin != nullptr ? plugin->name : kNames[static_cast<size_t>(type)];
}

[[noreturn]] void throw_bad_device(const std::string& text) {
  std::string names = "'cpu', 'cuda', 'meta', 'opencl'";
  for (const DeviceType type : {DeviceType::custom, DeviceType::second_custom}) {
    const bool is_named = is_meta({type}) || std::string_view(name_of_type(type)) == "opencl";
    if (find_plugin(type) != nullptr && !is_named) names += str(", '", name_of_type(type), '\'');
  }
  // The text may be anything a user typed: show a bounded part of it.
  throw ValueError(str("device: needs ", names,
                       " or the name of a loaded plug-in, with an optional ",
                       "':index' from 0 to 127, got ", in_quotes(text.substr(0, 40))));
}

}  // namespace

std::string to_string(Device device) {
  device = revealed(device);
  const std::string name = name_of_type(device.type);
  const bool is_only_one = device.type == DeviceType::cpu || is_meta(device);
  return is_only_one ? name : str(name, ':', int{device.index});
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
    if (!is_number || index < 0 || index >= kMaxDevices) throw_bad_device(text);
  }
  detail::load_bundled_plugin(name);
  if (name == "meta") return {meta_device_type(), static_cast<int8_t>(index)};
  for (int type = 0; type < kDeviceTypeCount; ++type) {
    const auto kind = static_cast<DeviceType>(type);
    if (name == name_of_type(kind)) return {kind, static_cast<int8_t>(index)};
  }
  throw_bad_device(text);
}

}  // namespace ebb
