// ebb/devices/launch/driver.cpp -- which back end this library is.
#include "ebb/devices/launch/driver.h"

#include "ebb/core/base/flags.h"

namespace ebb::devices {
namespace {

Driver* current = nullptr;  // set while the plug-in is loaded, before there is another thread

}  // namespace

Driver& driver() { return *current; }
void set_driver(Driver& driver) { current = &driver; }

bool is_synchronous() {
  static const bool is_asked = flag_in_environment("device_sync", false);
  return is_asked;
}

}  // namespace ebb::devices
