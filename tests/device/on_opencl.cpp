// tests/device/on_opencl.cpp -- runs the tests of this folder on OpenCL, apart from those below.
//
// Two devices: PoCL is asked for two. A layer between the plug-in and the driver counts and fails
// (tests/devices/opencl/layer.cpp); an event that the program sets holds a queue up. Work is not
// slowed down at random, for PoCL's own threads are slow enough to show what was not ordered.
#include <cstdlib>
#include <map>

#include "ebb/devices/opencl/device.h"
#include "tests/device/device_test_support.h"

namespace ebb {
namespace {

struct Stays {
  const char* test;
  const char* reason;
};
// Tests that stay with the simulator.
constexpr Stays kStays[] = {
    {"Plugin.*", "they spoil the struct of a plug-in, the same for any"},
    {"Registry.*", "they need no device"},
    {"Fallback.KeepsTheErrorsOfTheCpu", "OpenCL's come when waited for: test_index_errors.py"},
    {"Transfer.ItsMemoryFaultsWhenTheCpuReadsIt", "the CPU may read PoCL's memory"},
    {"Transfer.FullMemoryIsAnErrorThatTells", "names the simulator's text; test_failures.py"},
    {"DeviceThreads.AreStartedAnewInAForkedChild", "it may not use OpenCL: test_device.py"},
    {"Fallback.WarnsOncePerOp", "OpenCL has kernels for its ops"},
    {"Fallback.IsSaidToTheWarningSink", "OpenCL has kernels for its ops"},
    {"Fallback.CanBeRefused", "OpenCL has kernels for its ops: test_device.py"},
    {"Transfer.FailedCopyIsAnErrorThatTells", "names the simulator's text; test_failures.py"},
};

/// The filter that a run has which names none.
std::string all_others() {
  std::string filter = "*-";
  for (const Stays& one : kStays) filter += std::string(one.test) + ":";
  return filter;
}

void (*layer_fail)(const char* name, int64_t calls_before, int64_t failures, int status);
int64_t (*layer_calls)(const char* name);

std::map<NativeStream, cl_event> holds;

void hold(NativeStream stream) {
  const opencl::Queue& queue = opencl::queue_of(stream);
  cl_event let_go = clCreateUserEvent(queue.device->context, nullptr);
  clEnqueueBarrierWithWaitList(queue.handle, 1, &let_go, nullptr);
  clFlush(queue.handle);
  holds[stream] = let_go;
}
void release(NativeStream stream) {
  const auto held = holds.find(stream);
  if (held == holds.end()) return;
  clSetUserEventStatus(held->second, CL_COMPLETE);
  clReleaseEvent(held->second);
  holds.erase(held);
}

/// Kernels that PoCL's threads still compile need LLVM's objects, which go when main() has
/// returned.
class Finish : public ::testing::Environment {
  void TearDown() override {
    synchronize(sim().first);
    synchronize(sim().second);
  }
};

}  // namespace

const Sim& sim() {
  static const Sim loaded = [] {
    const DeviceType type = load_device_plugin(EBB_OPENCL_PLUGIN);
    find_function(EBB_OPENCL_LAYER, "layer_fail", layer_fail);
    find_function(EBB_OPENCL_LAYER, "layer_calls", layer_calls);
    Sim found{};
    found.path = EBB_OPENCL_PLUGIN;
    found.first = {type, 0};
    found.second = {type, 1};
    found.set_delay = [](int64_t, uint32_t) {};
    found.set_memory_limit = [](int64_t) {};
    found.fail_next_copy = [] { layer_fail("clEnqueueSVMMemcpy", 0, 1, CL_OUT_OF_RESOURCES); };
    found.live_bytes = [](int device) {
      return device_memory_stats({sim().first.type, static_cast<int8_t>(device)}).live;
    };
    found.kernel_count = [] { return layer_calls("clEnqueueNDRangeKernel"); };
    found.copy_count = [] { return layer_calls("clEnqueueSVMMemcpy"); };
    found.hold = hold;
    found.release = release;
    found.has_kernels_of_cpu = false;
    return found;
  }();
  return loaded;
}

}  // namespace ebb

int main(int count, char** arguments) {
  setenv("POCL_DEVICES", "pthread pthread", 1);  // the environment is read at OpenCL's first call
  setenv("OPENCL_LAYERS", EBB_OPENCL_LAYER, 1);
  setenv("EBB_KERNEL_CACHE", "0", 1);  // as in tests/python/opencl
  setenv("POCL_CACHE_DIR", EBB_POCL_CACHE, 0);
  GTEST_FLAG_SET(filter, ebb::all_others());
  ::testing::InitGoogleTest(&count, arguments);
  ::testing::AddGlobalTestEnvironment(new ebb::Finish());
  return RUN_ALL_TESTS();
}
