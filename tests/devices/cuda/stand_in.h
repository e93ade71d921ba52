// tests/devices/cuda/stand_in.h -- a library in place of libcuda, libnvrtc, libcublas and
// libcudnn, for machines without a GPU.
//
// It has the functions that the plug-in looks for, keeps "device" memory in the host's, and runs
// kernels there, compiled by the C++ compiler. Work on streams is done as late as it may be: when
// somebody waits for it. So what is not ordered by an event, or was given back too early, shows in
// the values. Each call checks its arguments; what is wrong is a violation, which tests read.
// Failures are injected by the name of a call. The tests' side is the functions stand_in_*() below,
// which Python calls through ctypes.
//
// STAND_IN_DEVICES: how many devices (1); STAND_IN_CAPABILITY: 90 for 9.0;
// STAND_IN_INIT_STATUS: what cuInit() returns (0);
// STAND_IN_MEMORY: bytes of a device (2^34); STAND_IN_NVRTC: the true libnvrtc, which then
// compiles each kernel, too, for sm_80 and sm_90; STAND_IN_CUDNN: the true libcudnn, which is then
// asked for an engine for each graph; STAND_IN_CUDNN_COMPILES: 1 lets that compile its kernels;
// STAND_IN_CUDNN_VERSION: what cuDNN's stand-in says that it is (91900).
#pragma once

#include <cuda.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace stand_in {

struct Stream;
/// How much of a stream was queued.
struct Point {
  Stream* stream = nullptr;
  uint64_t commands = 0;
};
struct Stream {
  int device = 0;
  std::deque<std::function<void()>> queued;
  uint64_t done = 0;
  bool is_running = false;
};
struct Event {
  int device = 0;
  Point point;
};
struct Kernel;
struct Module {
  int device = 0;
  void* library = nullptr;
  std::set<Kernel*> kernels;
};
struct Kernel {
  Module* module = nullptr;
  void* library = nullptr;
  bool has_barriers = false;
};
struct Block {
  size_t bytes = 0;
  int device = 0;
};
struct Failing {
  int calls_before = 0;
  CUresult status = CUDA_SUCCESS;
};

/// All that the stand-in knows. Each call holds the lock.
struct State {
  std::recursive_mutex mutex;
  bool is_initialized = false;
  std::map<uintptr_t, Block> memory;
  std::map<uintptr_t, Block> host_memory;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Module*> modules;
  std::map<std::string, Failing> failing;
  std::map<std::string, int> calls;
  std::set<const void*> library_objects;  // handles and descriptors of cuBLAS and cuDNN
  std::vector<std::string> violations;
};
State& state();

void violate(const std::string& text);
/// Counts a call; what it is to fail with.
CUresult enter(const char* call);
int number_in_environment(const char* name, int fallback);

/// The contexts that this thread pushed, as devices.
std::vector<int>& contexts();
/// Notes a violation unless a context of the device is current; -1 takes any.
void need_context(const char* call, int device = -1);

/// Notes a violation unless a live block of the device holds the range.
void need_range(const char* call, CUdeviceptr address, size_t bytes, int device);
/// The stream; null, and a violation, if there is none.
Stream* known(const char* call, CUstream handle);
/// Queues work on a stream of the current context.
CUresult queue(const char* call, CUstream handle, std::function<void()> work);

void run_to(const Point& point);
void run_all();

/// The image of a module, by the compiler of C++.
bool compile_for_host(const std::string& source, std::string* image, std::string* log);
CUresult load_image(const void* image, Module* module);
CUresult find_kernel(Module* module, const char* name, Kernel** kernel);
/// What runs the kernel later, with its arguments as they are now.
std::function<void()> make_launch(Kernel* kernel, unsigned groups, unsigned items, void** places);

}  // namespace stand_in

// What tests call.
extern "C" {
/// The call after `calls_before` more of this name fails with `status`.
void stand_in_fail(const char* call, int calls_before, int status);
/// Violations so far, a line each; forgets them.
const char* stand_in_violations();
/// How many there are of "memory", "host_memory", "streams", "events", "modules",
/// "library_objects".
int stand_in_live(const char* kind);
/// How often a function was called.
int stand_in_calls(const char* call);
}
