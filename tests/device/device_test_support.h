// tests/device/device_test_support.h -- what the tests of devices share: the loaded plug-in.
//
// One set of tests, two programs: device_tests runs them on the simulator, device_opencl_tests on
// OpenCL.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
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

/// The devices that the tests run on, loaded once, and the functions that steer them: those of
/// sim_device.h, or for OpenCL what does the same.
struct Sim {
  const char* path;  // the file of the plug-in
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
  bool has_kernels_of_cpu;  // results are the CPU's bit by bit
};

/// In on_simulator.cpp and on_opencl.cpp: a program has one of them.
const Sim& sim();

/// A function that the library at `path`, which is loaded, exports.
template <typename Function>
void find_function(const char* path, const char* name, Function& function) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  function = reinterpret_cast<Function>(dlsym(library, name));
}

/// Holds up a stream for the length of a scope.
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
  /// Equal, or, where kernels are the device's own, within what their order of sums may change.
  static void expect_as_on_cpu(const Floats& found, const Floats& wanted) {
    if (sim().has_kernels_of_cpu) {
      EXPECT_EQ(found, wanted);
      return;
    }
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t at = 0; at < found.size(); ++at) {
      EXPECT_NEAR(found[at], wanted[at], 1e-6f * std::abs(wanted[at])) << at;
    }
  }
  static std::vector<float> back(const Tensor& tensor) { return floats(to_device(tensor, {})); }

  const Device device_ = sim().first;
  const Device other_ = sim().second;
  const std::string name_ = to_string(device_);  // as errors have it
  const std::string other_name_ = to_string(other_);
};

}  // namespace ebb
