// tests/devices/opencl/layer.cpp -- a layer of OpenCL: it counts calls and objects, and lets calls
// fail where it is told to.
//
// A layer (CL/cl_layer.h) stands between a program and its drivers: OPENCL_LAYERS names the file to
// the loader, which gives it the table of the real functions and takes a table in return. Nothing
// of the plug-in knows of it. Tests call the functions at the end (tests/python/opencl/layer.py).
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_layer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace {

cl_icd_dispatch real;   // the functions below this layer
cl_icd_dispatch table;  // those that the program calls

/// What is known of one function.
struct Calls {
  int64_t count = 0;
  int64_t until_failure = 0;  // calls that go well before the first that fails
  int64_t failures = 0;       // calls that are to fail
  cl_int status = CL_SUCCESS;
};

std::atomic<bool> is_idle{false};  // launches do nothing

std::mutex mutex;
std::map<std::string, Calls, std::less<>> calls;
std::map<std::string, int64_t, std::less<>> live;

/// Counts a call; the status that it must fail with, or success.
cl_int note_call(const char* name) {
  const std::lock_guard lock(mutex);
  Calls& own = calls[name];
  ++own.count;
  if (own.failures == 0 || own.until_failure-- > 0) return CL_SUCCESS;
  --own.failures;
  return own.status;
}

void note_live(const char* kind, int64_t change) {
  const std::lock_guard lock(mutex);
  live[kind] += change;
}

/// The last argument, if it is where a call puts a `Value`.
template <typename Value, typename... Arguments>
Value* place_of(Arguments... arguments) {
  if constexpr (sizeof...(Arguments) > 0) {
    const auto last = std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(last)>, Value*>) return last;
  }
  return nullptr;
}

/// Whether the function at `member` is called for each launch.
template <auto member>
constexpr bool is_of_launch = false;
template <>
constexpr bool is_of_launch<&cl_icd_dispatch::clEnqueueNDRangeKernel> = true;
template <>
constexpr bool is_of_launch<&cl_icd_dispatch::clSetKernelArg> = true;
template <>
constexpr bool is_of_launch<&cl_icd_dispatch::clSetKernelArgSVMPointer> = true;

/// Stands in for the function at `member`; `made` is what it makes one more (or, with change -1,
/// one less) of, or null.
template <auto member, typename Function>
struct Between;
template <auto member, typename Result, typename... Arguments>
struct Between<member, Result(CL_API_CALL*)(Arguments...)> {
  static inline const char* name = "";
  static inline const char* made = nullptr;
  static inline int64_t change = 1;

  static Result CL_API_CALL call(Arguments... arguments) {
    if constexpr (is_of_launch<member>) {
      if (is_idle.load(std::memory_order_relaxed)) return CL_SUCCESS;
    }
    const cl_int status = note_call(name);
    if constexpr (std::is_void_v<Result>) {
      (real.*member)(arguments...);
      note_live(made, change);
    } else {
      Result result{};
      if (status == CL_SUCCESS) {
        result = (real.*member)(arguments...);
      } else if constexpr (std::is_integral_v<Result>) {
        return status;
      } else if (cl_int* const place = place_of<cl_int>(arguments...)) {
        *place = status;
      }
      const bool is_good = std::is_integral_v<Result> == (result == Result{});
      if (is_good && made != nullptr) note_live(made, change);
      if (is_good && place_of<cl_event>(arguments...) != nullptr) note_live("events", 1);
      return result;
    }
  }
};

template <auto member>
void stand_between(const char* name, const char* made = nullptr, int64_t change = 1) {
  using Own = Between<member, std::remove_reference_t<decltype(real.*member)>>;
  Own::name = name;
  Own::made = made;
  Own::change = change;
  table.*member = &Own::call;
}

void fill_table() {
#define BETWEEN(name, ...) stand_between<&cl_icd_dispatch::name>(#name __VA_OPT__(, ) __VA_ARGS__)
  BETWEEN(clBuildProgram);
  BETWEEN(clCreateCommandQueueWithProperties, "queues");
  BETWEEN(clReleaseCommandQueue, "queues", -1);
  BETWEEN(clCreateContext);
  BETWEEN(clCreateKernel, "kernels");
  BETWEEN(clReleaseKernel, "kernels", -1);
  BETWEEN(clCreateProgramWithBinary, "programs");
  BETWEEN(clCreateProgramWithSource, "programs");
  BETWEEN(clReleaseProgram, "programs", -1);
  BETWEEN(clCreateBuffer, "buffers");
  BETWEEN(clReleaseMemObject, "buffers", -1);
  BETWEEN(clCreateSubDevices);
  BETWEEN(clEnqueueBarrierWithWaitList);
  BETWEEN(clEnqueueMapBuffer);
  BETWEEN(clEnqueueMarkerWithWaitList);
  BETWEEN(clEnqueueNDRangeKernel);
  BETWEEN(clEnqueueSVMMemFill);
  BETWEEN(clEnqueueSVMMemcpy);
  BETWEEN(clFinish);
  BETWEEN(clFlush);
  BETWEEN(clGetDeviceInfo);
  BETWEEN(clGetEventInfo);
  BETWEEN(clRetainEvent, "events");
  BETWEEN(clReleaseEvent, "events", -1);
  BETWEEN(clSVMAlloc, "memory");
  BETWEEN(clSVMFree, "memory", -1);
  BETWEEN(clSetKernelArg);
  BETWEEN(clSetKernelArgSVMPointer);
  BETWEEN(clWaitForEvents);
#undef BETWEEN
}

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void* value,
                                               size_t* size_needed) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (what != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (size_needed != nullptr) *size_needed = sizeof version;
  if (value == nullptr) return CL_SUCCESS;
  if (size < sizeof version) return CL_INVALID_VALUE;
  std::memcpy(value, &version, sizeof version);
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target,
                                            cl_uint* entries_here, const cl_icd_dispatch** here) {
  constexpr size_t kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
  std::memcpy(&real, target, std::min<size_t>(entries, kEntries) * sizeof(void*));
  table = real;
  fill_table();
  *entries_here = kEntries;
  *here = &table;
  return CL_SUCCESS;
}

extern "C" {
/// Lets later calls of this name fail: `failures` of them after `calls_before` that go well.
CL_API_ENTRY void layer_fail(const char* name, int64_t calls_before, int64_t failures, int status) {
  const std::lock_guard lock(mutex);
  Calls& own = calls[name];
  own.until_failure = calls_before;
  own.failures = failures;
  own.status = status;
}
/// Lets no call fail that has not failed by now.
CL_API_ENTRY void layer_forget_failures() {
  const std::lock_guard lock(mutex);
  for (auto& [name, own] : calls) own.failures = 0;
}
/// Whether launches return at once and do nothing, which leaves the plug-in's own time.
CL_API_ENTRY void layer_set_idle(int idle) { is_idle = idle != 0; }
/// How often the function was called.
CL_API_ENTRY int64_t layer_calls(const char* name) {
  const std::lock_guard lock(mutex);
  return calls[name].count;
}
/// How many there are of "memory", "buffers", "events", "queues", "programs" or "kernels".
CL_API_ENTRY int64_t layer_live(const char* kind) {
  const std::lock_guard lock(mutex);
  return live[kind];
}
}
