// tests/device/device_test_support.cpp -- where the build put the simulated device.
#include "tests/device/device_test_support.h"

namespace ebb {

const char* sim_path() { return EBB_SIM_DEVICE; }

}  // namespace ebb
