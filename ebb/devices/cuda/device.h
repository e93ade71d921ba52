// ebb/devices/cuda/device.h -- the GPUs in use, their streams and their memory.
//
// All devices that the driver shows are used (CUDA_VISIBLE_DEVICES chooses), through their primary
// contexts, which other libraries in the process share. Streams do not wait for CUDA's own default
// stream. A child of a fork must not use what its parent made.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "ebb/core/device/device_plugin.h"
#include "ebb/devices/cuda/api.h"
#include "ebb/devices/launch/base_device.h"

struct cublasContext;  // of cublas_api.h
struct cudnnContext;   // of cudnn.h

namespace ebb::cuda {

struct CudaDevice;

/// Lives as long as the process.
struct CudaStream {
  CudaDevice* device = nullptr;
  CUstream handle = nullptr;
  std::mutex library_mutex;  // held by who calls a library on the stream
  cublasContext* cublas = nullptr;
  cudnnContext* cudnn = nullptr;
};

struct CudaDevice : devices::BaseDevice {
  CUdevice id = 0;
  CUcontext context = nullptr;
  int driver_version = 0;
  std::mutex mutex;                                  // guards `streams`
  std::vector<std::unique_ptr<CudaStream>> streams;  // the first is the default one
};

/// All devices, found at the first call; none where there is no driver. Throws Failure if the
/// driver is there and fails.
const std::vector<std::unique_ptr<CudaDevice>>& all_devices();
CudaDevice& device_at(int index);

inline CudaStream& stream_of(NativeStream stream) { return *static_cast<CudaStream*>(stream); }
CudaStream& new_stream(CudaDevice& device);
/// Waits for the stream if EBB_DEVICE_SYNC asks for it.
void wait_if_asked(const CudaStream& stream);
/// Waits for all streams of the device. Throws Failure.
void finish(CudaDevice& device);

}  // namespace ebb::cuda
