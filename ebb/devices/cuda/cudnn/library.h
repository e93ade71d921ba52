// ebb/devices/cuda/cudnn/library.h -- opens cuDNN, and declares what is called of it.
//
// EBB_CUDNN_LIBRARY names the file, or says 0 for none; else libcudnn is looked for among the
// system's libraries and in the toolkit's usual folder. Each stream has a handle of its own.
// Its header comes with another download than the toolkit, so what is used of its interface of C is
// declared here: tensors, filters and convolutions, and the parts of a graph (graph.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ebb/core/base/dtype.h"
#include "ebb/devices/cuda/device.h"
#include "ebb/devices/launch/convolution.h"

namespace ebb::cuda {

// What cudnn.h names.
using Status = int;
using Descriptor = void*;
using Handle = cudnnContext*;
constexpr Status kSuccess = 0;
/// CUDNN_STATUS_NOT_SUPPORTED, which since cuDNN 9 has a number for each reason.
inline bool is_unsupported(Status status) { return status == 9 || status / 1000 == 3; }

using Make = Status (*)(Descriptor*);
using Drop = Status (*)(Descriptor);
// Both take three descriptors in the order of their pass, then those of the convolution.
using Measure = Status (*)(Handle, Descriptor, Descriptor, Descriptor convolution,
                           Descriptor result, int algorithm, size_t* bytes);
using Run = Status (*)(Handle, const void* alpha, Descriptor, const void*, Descriptor, const void*,
                       Descriptor convolution, int algorithm, void* workspace, size_t bytes,
                       const void* beta, Descriptor result, void*);

/// The functions for one pass.
struct PassCalls {
  Measure measure = nullptr;
  Run run = nullptr;
};

/// The functions for graphs.
struct GraphCalls {
  Status (*make)(int type, Descriptor*) = nullptr;
  Drop drop = nullptr;
  Status (*set)(Descriptor, int name, int type, int64_t count, const void* values) = nullptr;
  Status (*get)(Descriptor, int name, int type, int64_t most, int64_t* count,
                void* values) = nullptr;
  Status (*finalize)(Descriptor) = nullptr;
  Status (*execute)(Handle, Descriptor plan, Descriptor pack) = nullptr;
};

struct Cudnn {
  size_t (*version)() = nullptr;
  Status (*create)(Handle*) = nullptr;
  Status (*destroy)(Handle) = nullptr;
  Status (*set_stream)(Handle, CUstream) = nullptr;
  const char* (*text_of)(Status) = nullptr;
  Make make_tensor = nullptr, make_filter = nullptr, make_convolution = nullptr;
  Drop drop_tensor = nullptr, drop_filter = nullptr, drop_convolution = nullptr;
  Status (*set_tensor)(Descriptor, int type, int ndim, const int* sizes,
                       const int* strides) = nullptr;
  Status (*set_filter)(Descriptor, int type, int format, int ndim, const int* sizes) = nullptr;
  Status (*set_convolution)(Descriptor, int ndim, const int* padding, const int* stride,
                            const int* dilation, int mode, int type) = nullptr;
  Status (*set_groups)(Descriptor, int groups) = nullptr;
  Status (*set_math)(Descriptor, int math) = nullptr;
  PassCalls output, input, weight;
  std::optional<GraphCalls> graph;  // of cuDNN 8 and later

  const PassCalls& of(devices::ConvPass pass) const {
    return pass == devices::ConvPass::output  ? output
           : pass == devices::ConvPass::input ? input
                                              : weight;
  }
};

/// The library, opened at the first call; empty where there is none.
const std::optional<Cudnn>& cudnn();
/// Whether there is one.
bool has_cudnn();
/// As it counts itself, 90102 of cuDNN 9.1.2; 0 if there is none.
uint64_t cudnn_version();
/// Throws Failure, naming the call, unless it was a success.
void check_cudnn(Status status, const char* call);
/// The stream's handle, made when first asked for. Needs the device's context and the stream's
/// lock.
Handle cudnn_handle(CudaStream& stream);
/// cuDNN's number of a type; null where it has no such type.
std::optional<int> cudnn_type(DType dtype);

}  // namespace ebb::cuda
