// ebb/devices/cuda/api.h -- CUDA's driver, found while the program runs, and its errors as text.
//
// Only the toolkit's headers are needed to build; no library of CUDA is linked. The functions are
// those of libcuda.so.1, or of the file that EBB_CUDA_LIBRARY names.
#pragma once

#include <cuda.h>

#include <string>

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

/// Null where the library is missing, or too old to have all of them.
const Api* find_api();
/// Throws Failure instead.
const Api& api();

/// "CUDA_ERROR_OUT_OF_MEMORY: out of memory", or the number.
std::string text_of_status(CUresult status);
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
