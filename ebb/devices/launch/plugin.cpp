// ebb/devices/launch/plugin.cpp -- what the plug-in's functions do in the same way everywhere.
#include "ebb/devices/launch/plugin.h"

namespace ebb::devices {
namespace {

BaseDevice& device_at(int device) { return driver().device_at(device); }

}  // namespace

std::string& last_failure() {
  static thread_local std::string text = "nothing failed";
  return text;
}

const char* CommonFunctions::last_error() { return last_failure().c_str(); }

void CommonFunctions::describe(int device, DeviceDescription* description) {
  const BaseDevice& own = device_at(device);
  *description = {};
  own.name.copy(description->name, sizeof description->name - 1);
  description->major = own.major;
  description->minor = own.minor;
  description->units = own.units;
}
void CommonFunctions::empty_cache(int device) {
  device_at(device).memory->release_kept();
  device_at(device).staging->release_kept();
}
void CommonFunctions::reserved_bytes(int device, ReservedBytes* bytes) {
  const PoolBytes held = device_at(device).memory->bytes();
  *bytes = {held.reserved, held.peak};
}
void CommonFunctions::reset_peak_reserved(int device) { device_at(device).memory->reset_peak(); }

StagingPool& pinned_pool() { return *device_at(0).staging; }

void CommonFunctions::allocate_pinned(size_t bytes, void** memory) {
  *memory = pinned_pool().lend(bytes);
}
void CommonFunctions::release_pinned(void* memory) { pinned_pool().give_back(memory); }

}  // namespace ebb::devices
