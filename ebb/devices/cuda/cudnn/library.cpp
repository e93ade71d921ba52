// ebb/devices/cuda/cudnn/library.cpp -- finds the functions, and makes a handle for each stream.
#include "ebb/devices/cuda/cudnn/library.h"

#include "ebb/core/base/str.h"

namespace ebb::cuda {
namespace {

std::optional<GraphCalls> find_graph(void* library) {
  FunctionFinder find(library);
  GraphCalls found;
  find(found.make, "cudnnBackendCreateDescriptor");
  find(found.drop, "cudnnBackendDestroyDescriptor");
  find(found.set, "cudnnBackendSetAttribute");
  find(found.get, "cudnnBackendGetAttribute");
  find(found.finalize, "cudnnBackendFinalize");
  find(found.execute, "cudnnBackendExecute");
  if (find.missing() != nullptr) return std::nullopt;
  return found;
}

std::optional<Cudnn> load() {
  void* const library = open_library(
      "cudnn_library",
      {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so", "/usr/local/cuda/lib64/libcudnn.so"});
  if (library == nullptr) return std::nullopt;
  Cudnn found;
  FunctionFinder find(library);
  find(found.version, "cudnnGetVersion");
  find(found.create, "cudnnCreate");
  find(found.destroy, "cudnnDestroy");
  find(found.set_stream, "cudnnSetStream");
  find(found.text_of, "cudnnGetErrorString");
  find(found.make_tensor, "cudnnCreateTensorDescriptor");
  find(found.drop_tensor, "cudnnDestroyTensorDescriptor");
  find(found.set_tensor, "cudnnSetTensorNdDescriptor");
  find(found.make_filter, "cudnnCreateFilterDescriptor");
  find(found.drop_filter, "cudnnDestroyFilterDescriptor");
  find(found.set_filter, "cudnnSetFilterNdDescriptor");
  find(found.make_convolution, "cudnnCreateConvolutionDescriptor");
  find(found.drop_convolution, "cudnnDestroyConvolutionDescriptor");
  find(found.set_convolution, "cudnnSetConvolutionNdDescriptor");
  find(found.set_groups, "cudnnSetConvolutionGroupCount");
  find(found.set_math, "cudnnSetConvolutionMathType");
  find(found.output.measure, "cudnnGetConvolutionForwardWorkspaceSize");
  find(found.output.run, "cudnnConvolutionForward");
  find(found.input.measure, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  find(found.input.run, "cudnnConvolutionBackwardData");
  find(found.weight.measure, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  find(found.weight.run, "cudnnConvolutionBackwardFilter");
  if (!find.has_all("cuDNN")) return std::nullopt;
  found.graph = find_graph(library);
  return found;
}

}  // namespace

const std::optional<Cudnn>& cudnn() {
  static const std::optional<Cudnn> found = load();
  return found;
}

bool has_cudnn() { return cudnn().has_value(); }

uint64_t cudnn_version() { return has_cudnn() ? cudnn()->version() : 0; }

void check_cudnn(Status status, const char* call) {
  if (status == kSuccess) return;
  throw Failure(str(call, ": ", cudnn()->text_of(status),
                    "\nhint: with EBB_CUDNN_LIBRARY=0 ebb's own kernels are used"));
}

Handle cudnn_handle(CudaStream& stream) {
  if (stream.cudnn != nullptr) return stream.cudnn;
  Handle made = nullptr;
  check_cudnn(cudnn()->create(&made), "cudnnCreate");
  if (const Status status = cudnn()->set_stream(made, stream.handle); status != kSuccess) {
    cudnn()->destroy(made);
    check_cudnn(status, "cudnnSetStream");
  }
  return stream.cudnn = made;
}

std::optional<int> cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return 0;
    case DType::float64: return 1;
    case DType::float16: return 2;
    case DType::bfloat16: return 9;
    default: return std::nullopt;
  }
}

}  // namespace ebb::cuda
