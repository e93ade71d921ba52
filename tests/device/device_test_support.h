// tests/device/device_test_support.h -- what the tests of devices share: the loaded plug-in.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/core/base/log.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/device/stream.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/ops/fallback.h"
#include "tests/device/sim_device.h"
#include "tests/ops/op_test_support.h"

namespace ebb {

/// The file of the plug-in.
const char* sim_path();

/// The simulated device, loaded once, and the functions that steer it.
struct Sim {
  Device first;
  Device second;
  decltype(&ebb_sim_set_delay) set_delay;
  decltype(&ebb_sim_set_memory_limit) set_memory_limit;
  decltype(&ebb_sim_fail_next_copy) fail_next_copy;
  decltype(&ebb_sim_live_bytes) live_bytes;
  decltype(&ebb_sim_kernel_count) kernel_count;
  decltype(&ebb_sim_copy_count) copy_count;
  decltype(&ebb_sim_hold) hold;
  decltype(&ebb_sim_release) release;
};

inline const Sim& sim() {
  static const Sim loaded = [] {
    const DeviceType type = load_device_plugin(sim_path());
    void* const library = dlopen(sim_path(), RTLD_NOW | RTLD_NOLOAD);
    Sim found{};
    found.first = {type, 0};
    found.second = {type, 1};
    const auto find = [&]<typename Function>(Function& function, const char* name) {
      function = reinterpret_cast<Function>(dlsym(library, name));
    };
    find(found.set_delay, "ebb_sim_set_delay");
    find(found.set_memory_limit, "ebb_sim_set_memory_limit");
    find(found.fail_next_copy, "ebb_sim_fail_next_copy");
    find(found.live_bytes, "ebb_sim_live_bytes");
    find(found.kernel_count, "ebb_sim_kernel_count");
    find(found.copy_count, "ebb_sim_copy_count");
    find(found.hold, "ebb_sim_hold");
    find(found.release, "ebb_sim_release");
    found.set_delay(200, 7);
    return found;
  }();
  return loaded;
}

/// Holds up a stream of the simulated device for the length of a scope.
class Hold {
 public:
  explicit Hold(Stream stream) : native_(native_stream(stream)) { sim().hold(native_); }
  ~Hold() { let_go(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void let_go() { sim().release(native_); }

 private:
  NativeStream native_;
};

/// Loads the device before, and puts the switches back after.
class OnSim : public ::testing::Test {
 protected:
  void TearDown() override {
    ops::set_kernel_fallback(true);
    sim().set_memory_limit(0);
    set_log_level(0);
    set_log_sink(nullptr);
  }
  static std::vector<float> back(const Tensor& tensor) { return floats(to_device(tensor, {})); }

  const Device device_ = sim().first;
  const Device other_ = sim().second;
};

}  // namespace ebb
