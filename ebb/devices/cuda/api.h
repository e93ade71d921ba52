// ebb/devices/cuda/api.h -- CUDA's driver, found while the program runs, and its errors as text.
//
// Only the toolkit's headers are needed to build; no library of CUDA is linked. The functions are
// those of libcuda.so.1, or of the file that EBB_CUDA_LIBRARY names.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "ebb/devices/launch/failure.h"

namespace ebb::cuda {

using devices::Failure;

// What is used of the driver. cuda.h gives some names a version, which the macros below keep.
#define EBB_CUDA_FUNCTIONS(use)                                                                    \
  use(cuInit) use(cuDriverGetVersion) use(cuGetErrorName) use(cuGetErrorString)                    \
      use(cuDeviceGetCount) use(cuDeviceGet) use(cuDeviceGetName) use(cuDeviceGetAttribute)        \
          use(cuDeviceTotalMem) use(cuDevicePrimaryCtxRetain) use(cuCtxPushCurrent)                \
              use(cuCtxPopCurrent) use(cuStreamCreate) use(cuStreamSynchronize) use(cuStreamQuery) \
                  use(cuStreamWaitEvent) use(cuEventCreate) use(cuEventDestroy) use(cuEventRecord) \
                      use(cuEventQuery) use(cuEventSynchronize) use(cuMemAlloc) use(cuMemFree)     \
                          use(cuMemGetInfo) use(cuMemHostAlloc) use(cuMemFreeHost)                 \
                              use(cuMemcpyHtoDAsync) use(cuMemcpyDtoHAsync) use(cuMemcpyDtoDAsync) \
                                  use(cuMemcpyPeerAsync) use(cuMemsetD8Async)                      \
                                      use(cuModuleLoadData) use(cuModuleUnload)                    \
                                          use(cuModuleGetFunction) use(cuLaunchKernel)

/// The driver's functions.
struct Api {
#define EBB_MEMBER(name) decltype(&::name) name = nullptr;
  EBB_CUDA_FUNCTIONS(EBB_MEMBER)
#undef EBB_MEMBER
};

/// The library in the file that a flag names, or else in the first of these files that is there.
/// Null if there is none, or if the flag says 0. It stays open.
void* open_library(std::string_view flag, std::initializer_list<const char*> files);

/// Finds functions by their names, and remembers one that is missing.
class FunctionFinder {
 public:
  explicit FunctionFinder(void* library) : library_(library) {}
  template <class Function>
  void operator()(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) missing_ = name;
  }
  const char* missing() const { return missing_; }
  /// Whether all were found; else the log says that the library is not used.
  bool has_all(std::string_view library) const;

 private:
  void* library_;
  const char* missing_ = nullptr;
};

/// Null where the library is missing, or too old to have all of them.
const Api* find_api();
/// Throws Failure instead.
const Api& api();

/// Throws Failure, naming the call, unless the status is that of success.
void check(CUresult status, const char* call);

/// Makes a context the current one for the length of a scope; that of the caller comes back.
class ContextScope {
 public:
  explicit ContextScope(CUcontext context) {
    check(api().cuCtxPushCurrent(context), "cuCtxPushCurrent");
  }
  ~ContextScope() {
    CUcontext popped = nullptr;
    api().cuCtxPopCurrent(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
};

}  // namespace ebb::cuda
