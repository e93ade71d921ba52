// tests/devices/cuda/true_cudnn.cpp -- puts graphs to the true cuDNN, which needs no GPU
// to say whether it has an engine for one: the GPU is described to it. See stand_in.h.
//
// Engines that compile their kernels want a driver library, of which the toolkit has one that does
// nothing: kernels are compiled, and then cannot be loaded. No plan gets further here.
#include <dlfcn.h>

#include <cstdlib>

#include "tests/devices/cuda/cudnn_parts.h"

namespace stand_in {
namespace {

/// A GPU as cuDNN writes it: of an A100 and of an H100, what it asks for.
struct Described {
  const char* target;
  const char* text;
};
constexpr Described kDevices[] = {
    {"sm_80", R"({"deviceVer": 800, "driverVer": 13000, "cudaDeviceId": 0,
      "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
      "regsPerBlock": 65536, "multiProcessorCount": 108, "warpSize": 32,
      "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 166912,
      "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
      "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
      "supportCoopLaunch": 1, "smClockRateKHz": 1410000, "memClockRateKHz": 1593000,
      "l2CacheSize": 41943040, "totalGlobalMem": 85000000000, "deviceName": "A100"})"},
    {"sm_90", R"({"deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
      "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
      "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32,
      "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
      "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
      "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
      "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
      "l2CacheSize": 52428800, "totalGlobalMem": 85000000000, "deviceName": "H100"})"}};

class TrueCudnn {
 public:
  explicit TrueCudnn(const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/'));
    dlopen((folder + "/stubs/libcuda.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  bool is_there() const { return library_ != nullptr; }
  template <typename Function>
  Function* call(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

 private:
  void* library_ = nullptr;
};
#define TRUE_CALL(name) cudnn_.call<decltype(name)>(#name)

/// The parts of one graph for one device, made as the plug-in made them.
class Replay {
 public:
  Replay(const TrueCudnn& cudnn, const Described& device) : cudnn_(cudnn), device_(device) {}
  ~Replay() {
    while (!made_.empty()) {
      TRUE_CALL(cudnnBackendDestroyDescriptor)(made_.back());
      made_.pop_back();
    }
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void run(const Part& heuristics) {
    ++state().calls[std::string("cuDNN ") + device_.target];
    const cudnnBackendDescriptor_t own = copy(heuristics);
    int64_t count = 0;
    cudnnBackendDescriptor_t config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    check(TRUE_CALL(cudnnBackendGetAttribute)(own, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &config),
          "results");
    if (count < 1) return complain("no engine");
    if (number_in_environment("STAND_IN_CUDNN_COMPILES", 0) == 1) compile(heuristics, config);
  }

 private:
  void complain(const std::string& text) {
    violate(std::string("cuDNN for ") + device_.target + ": " + text);
  }
  std::string last_error() const {
    char text[300] = "";
    TRUE_CALL(cudnnGetLastErrorString)(text, sizeof text);
    return text;
  }
  void check(cudnnStatus_t status, const std::string& what) {
    if (status == CUDNN_STATUS_SUCCESS) return;
    complain(what + ": " + TRUE_CALL(cudnnGetErrorString)(status) + ", " + last_error());
  }
  cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t own = nullptr;
    check(TRUE_CALL(cudnnBackendCreateDescriptor)(type, &own), "create");
    made_.push_back(own);
    return own;
  }
  void set(cudnnBackendDescriptor_t own, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
    check(TRUE_CALL(cudnnBackendSetAttribute)(own, name, type, count, elements),
          "attribute " + std::to_string(name));
  }

  cudnnBackendDescriptor_t copy(const Part& part) {
    if (const auto found = copies_.find(&part); found != copies_.end()) return found->second;
    const cudnnBackendDescriptor_t own = copies_[&part] = make(part.type);
    for (const Values& values : part.values) {
      if (values.name == CUDNN_ATTR_DEVICEPROP_HANDLE) {
        set(own, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
            static_cast<int64_t>(std::strlen(device_.text)), device_.text);
      } else if (values.parts.empty()) {
        set(own, values.name, values.type, values.count, values.bytes.data());
      } else {
        std::vector<cudnnBackendDescriptor_t> named;
        for (const auto& one : values.parts) named.push_back(copy(*one));
        set(own, values.name, values.type, values.count, named.data());
      }
    }
    check(TRUE_CALL(cudnnBackendFinalize)(own), "part of type " + std::to_string(part.type));
    return own;
  }

  void compile(const Part& heuristics, cudnnBackendDescriptor_t config) {
    const cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    const cudnnBackendDescriptor_t device =
        copy(*heuristics.part(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP));
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
    const cudnnStatus_t status = TRUE_CALL(cudnnBackendFinalize)(plan);
    const bool is_compiled = status == CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER &&
                             last_error().rfind("cuLibraryLoadData", 0) == 0;
    if (!is_compiled) check(status, "plan");
    state().calls[std::string("cuDNN compiled for ") + device_.target] += is_compiled;
  }

  const TrueCudnn& cudnn_;
  const Described& device_;
  std::vector<cudnnBackendDescriptor_t> made_;
  std::map<const Part*, cudnnBackendDescriptor_t> copies_;
};

}  // namespace

void ask_true_cudnn(const Part& heuristics) {
  const char* const path = std::getenv("STAND_IN_CUDNN");
  if (path == nullptr || *path == 0) return;
  static const TrueCudnn cudnn(path);
  if (!cudnn.is_there()) return violate("STAND_IN_CUDNN: cannot be opened");
  for (const Described& device : kDevices) Replay(cudnn, device).run(heuristics);
}

}  // namespace stand_in
