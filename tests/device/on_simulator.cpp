// tests/device/on_simulator.cpp -- runs the tests of this folder on the simulated device.
#include "tests/device/device_test_support.h"

namespace ebb {

const Sim& sim() {
  static const Sim loaded = [] {
    const char* const path = EBB_SIM_DEVICE;  // where the build put it
    const DeviceType type = load_device_plugin(path);
    Sim found{};
    found.path = path;
    found.first = {type, 0};
    found.second = {type, 1};
    find_function(path, "ebb_sim_set_delay", found.set_delay);
    find_function(path, "ebb_sim_set_memory_limit", found.set_memory_limit);
    find_function(path, "ebb_sim_fail_next_copy", found.fail_next_copy);
    find_function(path, "ebb_sim_live_bytes", found.live_bytes);
    find_function(path, "ebb_sim_kernel_count", found.kernel_count);
    find_function(path, "ebb_sim_copy_count", found.copy_count);
    find_function(path, "ebb_sim_hold", found.hold);
    find_function(path, "ebb_sim_release", found.release);
    found.has_kernels_of_cpu = true;
    found.set_delay(200, 7);
    return found;
  }();
  return loaded;
}

}  // namespace ebb
