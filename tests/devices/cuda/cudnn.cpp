// tests/devices/cuda/cudnn.cpp -- the functions of cuDNN that the plug-in calls, by
// cuDNN's own header. See stand_in.h.
//
// A convolution is computed in double from what its tensors hold when its turn on the stream comes,
// and rounded at its end. Only algorithms with one order of sums are taken.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/devices/cuda/cudnn_parts.h"

using namespace stand_in;  // NOLINT: functions of C cannot be in a namespace

namespace {

/// A tensor, or a filter.
struct Sizes {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> sizes;

  size_t count() const {
    size_t count = 1;
    for (const int size : sizes) count *= static_cast<size_t>(size);
    return count;
  }
  size_t bytes() const { return count() * item_size(kind()); }
  Kind kind() const { return kind_of(type); }
};
struct Map {
  std::vector<int> padding, stride, dilation;
  int groups = 1;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

template <typename Object, typename Pointer>
cudnnStatus_t make(Pointer* made) {
  auto* const object = new Object();
  state().library_objects.insert(object);
  *made = reinterpret_cast<Pointer>(object);
  return CUDNN_STATUS_SUCCESS;
}
template <typename Object, typename Pointer>
cudnnStatus_t drop(const char* call, Pointer object) {
  if (!is_known(call, object)) return CUDNN_STATUS_BAD_PARAM;
  state().library_objects.erase(object);
  delete reinterpret_cast<Object*>(object);
  return CUDNN_STATUS_SUCCESS;
}
template <typename Object, typename Pointer>
Object& at(Pointer pointer) {
  return *reinterpret_cast<Object*>(pointer);
}

/// One call: the sizes of the three tensors and where they are.
struct Call {
  Sizes input, weight, output;
  Map map;
  char *input_data, *weight_data, *output_data;
  double alpha, beta;

  using Index = std::array<int, CUDNN_DIM_MAX>;
  struct Planes {
    int number, out, in;  // of the batch, of the output, of the weight
  };

  /// Calls use(input, weight, output) with the number of an element of each, wherever a product of
  /// two of them is part of the third.
  template <typename Use>
  void for_each_product(const Use& use) const {
    Index place{}, tap{};
    for (int number = 0; number < input.sizes[0]; ++number) {
      for (int out = 0; out < weight.sizes[0]; ++out) {
        for (int in = 0; in < weight.sizes[1]; ++in) {
          do {
            do {
              use_product({number, out, in}, place, tap, use);
            } while (next(tap, weight.sizes));
          } while (next(place, output.sizes));
        }
      }
    }
  }

  /// Calls use() for one place of the output and one of the weight, unless it reads the padding.
  template <typename Use>
  void use_product(Planes of, const Index& place, const Index& tap, const Use& use) const {
    const int out_group = weight.sizes[0] / map.groups;
    const int in = of.out / out_group * weight.sizes[1] + of.in;
    auto from = static_cast<size_t>(of.number * input.sizes[1] + in);
    auto by = static_cast<size_t>(of.out * weight.sizes[1] + of.in);
    auto to = static_cast<size_t>(of.number * weight.sizes[0] + of.out);
    for (size_t dim = 0; dim < map.stride.size(); ++dim) {
      const int at = place[dim] * map.stride[dim] + tap[dim] * map.dilation[dim] - map.padding[dim];
      if (at < 0 || at >= input.sizes[dim + 2]) return;
      from = from * static_cast<size_t>(input.sizes[dim + 2]) + static_cast<size_t>(at);
      by = by * static_cast<size_t>(weight.sizes[dim + 2]) + static_cast<size_t>(tap[dim]);
      to = to * static_cast<size_t>(output.sizes[dim + 2]) + static_cast<size_t>(place[dim]);
    }
    use(from, by, to);
  }
  /// Counts on; false, and zeros again, after the last.
  static bool next(Index& index, const std::vector<int>& sizes) {
    for (size_t dim = sizes.size() - 2; dim-- > 0;) {
      if (++index[dim] < sizes[dim + 2]) return true;
      index[dim] = 0;
    }
    return false;
  }
  double element(const Sizes& of, const char* data, size_t number) const {
    const double value = load(data + number * item_size(of.kind()), of.kind());
    const bool is_narrow = of.type == CUDNN_DATA_FLOAT && map.math == CUDNN_DEFAULT_MATH;
    return is_narrow ? tf32(static_cast<float>(value)) : value;
  }
  void write(const Sizes& of, char* data, const std::vector<double>& sums) const {
    for (size_t number = 0; number < sums.size(); ++number) {
      char* const place = data + number * item_size(of.kind());
      const double before = beta == 0 ? 0 : beta * load(place, of.kind());  // 0 reads nothing
      store(place, of.kind(), alpha * sums[number] + before);
    }
  }
};

void run_output(const Call& call) {
  std::vector<double> sums(call.output.count());
  call.for_each_product([&](size_t from, size_t by, size_t to) {
    sums[to] += call.element(call.input, call.input_data, from) *
                call.element(call.weight, call.weight_data, by);
  });
  call.write(call.output, call.output_data, sums);
}
void run_input(const Call& call) {
  std::vector<double> sums(call.input.count());
  call.for_each_product([&](size_t from, size_t by, size_t to) {
    sums[from] += call.element(call.output, call.output_data, to) *
                  call.element(call.weight, call.weight_data, by);
  });
  call.write(call.input, call.input_data, sums);
}
void run_weight(const Call& call) {
  std::vector<double> sums(call.weight.count());
  call.for_each_product([&](size_t from, size_t by, size_t to) {
    sums[by] += call.element(call.output, call.output_data, to) *
                call.element(call.input, call.input_data, from);
  });
  call.write(call.weight, call.weight_data, sums);
}

/// Whether the three sizes and the map belong together.
bool agree(const Sizes& input, const Sizes& weight, const Sizes& output, const Map& map) {
  const size_t spatial = map.stride.size();
  if (input.sizes.size() != spatial + 2 || weight.sizes.size() != spatial + 2 ||
      output.sizes.size() != spatial + 2 || spatial < 2 || spatial > 3) {
    return false;
  }
  bool good =
      input.type == weight.type && input.type == output.type &&
      map.type == (input.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT) &&
      input.sizes[0] == output.sizes[0] && output.sizes[1] == weight.sizes[0] &&
      input.sizes[1] == weight.sizes[1] * map.groups && weight.sizes[0] % map.groups == 0;
  for (size_t dim = 0; dim < spatial; ++dim) {
    const int reach = map.dilation[dim] * (weight.sizes[dim + 2] - 1) + 1;
    const int room = input.sizes[dim + 2] + 2 * map.padding[dim] - reach;
    good = good && room >= 0 && room / map.stride[dim] + 1 == output.sizes[dim + 2];
  }
  const bool is_half = input.type == CUDNN_DATA_HALF || input.type == CUDNN_DATA_BFLOAT16;
  return good && (map.math == CUDNN_TENSOR_OP_MATH) == is_half;
}

/// As much as is asked for; tests look whether it is given.
constexpr size_t kWorkspace = 1000;

double number_at(const void* place, cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(place)
                                   : *static_cast<const float*>(place);
}

cudnnStatus_t launch(const char* name, cudnnHandle_t handle, Call call, const void* alpha,
                     const void* beta, bool is_in_order, const void* workspace, size_t bytes,
                     void (*run)(const Call&)) {
  if (!is_known(name, handle)) return CUDNN_STATUS_BAD_PARAM;
  const CudnnHandle& own = at<CudnnHandle>(handle);
  if (!is_in_order) violate(std::string(name) + ": an algorithm without an order of sums");
  if (!agree(call.input, call.weight, call.output, call.map)) {
    violate(std::string(name) + ": sizes or types");
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (bytes != kWorkspace) violate(std::string(name) + ": workspace");
  const auto need = [&](const void* data, size_t count) {
    need_range(name, reinterpret_cast<CUdeviceptr>(data), count, own.device);
  };
  need(workspace, bytes);
  need(call.input_data, call.input.bytes());
  need(call.weight_data, call.weight.bytes());
  need(call.output_data, call.output.bytes());
  call.alpha = number_at(alpha, call.map.type);
  call.beta = number_at(beta, call.map.type);
  auto* const scratch = static_cast<char*>(const_cast<void*>(workspace));
  const auto work = [=] {
    std::memset(scratch, 0x7f, bytes);  // so that whoever else uses it sees
    run(call);
  };
  return queue(name, own.stream, work) == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS
                                                       : CUDNN_STATUS_EXECUTION_FAILED;
}

/// A tensor, or a filter, as a call of cuDNN gives it.
template <typename Descriptor>
struct Given {
  Descriptor sizes;
  const void* data;

  char* bytes() const { return static_cast<char*>(const_cast<void*>(data)); }
};

Call call_of(Given<cudnnTensorDescriptor_t> input, Given<cudnnFilterDescriptor_t> weight,
             Given<cudnnTensorDescriptor_t> output, cudnnConvolutionDescriptor_t map) {
  return {at<Sizes>(input.sizes),
          at<Sizes>(weight.sizes),
          at<Sizes>(output.sizes),
          at<Map>(map),
          input.bytes(),
          weight.bytes(),
          output.bytes(),
          0,
          0};
}

cudnnStatus_t workspace_of(cudnnTensorDescriptor_t input, cudnnFilterDescriptor_t weight,
                           cudnnTensorDescriptor_t output, cudnnConvolutionDescriptor_t map,
                           size_t* bytes) {
  *bytes = kWorkspace;
  const bool good = agree(at<Sizes>(input), at<Sizes>(weight), at<Sizes>(output), at<Map>(map));
  return good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

}  // namespace

extern "C" {

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED"
                                                 : "CUDNN_STATUS_INTERNAL_ERROR";
}
size_t cudnnGetVersion(void) {
  return static_cast<size_t>(number_in_environment("STAND_IN_CUDNN_VERSION", 91900));
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  STAND_IN_CALL("cudnnCreate");
  need_context("cudnnCreate");
  const cudnnStatus_t status = make<CudnnHandle>(handle);
  at<CudnnHandle>(*handle).device = contexts().empty() ? 0 : contexts().back();
  return status;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  STAND_IN_CALL("cudnnDestroy");
  return drop<CudnnHandle>("cudnnDestroy", handle);
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  STAND_IN_CALL("cudnnSetStream");
  if (!is_known("cudnnSetStream", handle)) return CUDNN_STATUS_BAD_PARAM;
  at<CudnnHandle>(handle).stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  STAND_IN_CALL("cudnnCreateTensorDescriptor");
  return make<Sizes>(made);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  STAND_IN_CALL("cudnnDestroyTensorDescriptor");
  return drop<Sizes>("cudnnDestroyTensorDescriptor", tensor);
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type,
                                         int ndim, const int* sizes, const int* strides) {
  STAND_IN_CALL("cudnnSetTensorNdDescriptor");
  at<Sizes>(tensor) = {type, {sizes, sizes + ndim}};
  int step = 1;
  for (int dim = ndim - 1; dim >= 0; --dim) {
    if (strides[dim] != step) violate("cudnnSetTensorNdDescriptor: not dense");
    step *= sizes[dim];
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) {
  STAND_IN_CALL("cudnnCreateFilterDescriptor");
  return make<Sizes>(made);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  STAND_IN_CALL("cudnnDestroyFilterDescriptor");
  return drop<Sizes>("cudnnDestroyFilterDescriptor", filter);
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int ndim, const int* sizes) {
  STAND_IN_CALL("cudnnSetFilterNdDescriptor");
  if (format != CUDNN_TENSOR_NCHW) violate("cudnnSetFilterNdDescriptor: format");
  at<Sizes>(filter) = {type, {sizes, sizes + ndim}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  STAND_IN_CALL("cudnnCreateConvolutionDescriptor");
  return make<Map>(made);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t map) {
  STAND_IN_CALL("cudnnDestroyConvolutionDescriptor");
  return drop<Map>("cudnnDestroyConvolutionDescriptor", map);
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t map, int ndim,
                                              const int* padding, const int* stride,
                                              const int* dilation, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type) {
  STAND_IN_CALL("cudnnSetConvolutionNdDescriptor");
  if (mode != CUDNN_CROSS_CORRELATION) violate("cudnnSetConvolutionNdDescriptor: mode");
  Map& own = at<Map>(map);
  own.padding = {padding, padding + ndim};
  own.stride = {stride, stride + ndim};
  own.dilation = {dilation, dilation + ndim};
  own.type = type;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t map, int groups) {
  STAND_IN_CALL("cudnnSetConvolutionGroupCount");
  at<Map>(map).groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t map, cudnnMathType_t math) {
  STAND_IN_CALL("cudnnSetConvolutionMathType");
  at<Map>(map).math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t input,
                                                      cudnnFilterDescriptor_t weight,
                                                      cudnnConvolutionDescriptor_t map,
                                                      cudnnTensorDescriptor_t output,
                                                      cudnnConvolutionFwdAlgo_t, size_t* bytes) {
  STAND_IN_CALL("cudnnGetConvolutionForwardWorkspaceSize");
  return workspace_of(input, weight, output, map, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t weight, cudnnTensorDescriptor_t output,
    cudnnConvolutionDescriptor_t map, cudnnTensorDescriptor_t input, cudnnConvolutionBwdDataAlgo_t,
    size_t* bytes) {
  STAND_IN_CALL("cudnnGetConvolutionBackwardDataWorkspaceSize");
  return workspace_of(input, weight, output, map, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t input, cudnnTensorDescriptor_t output,
    cudnnConvolutionDescriptor_t map, cudnnFilterDescriptor_t weight,
    cudnnConvolutionBwdFilterAlgo_t, size_t* bytes) {
  STAND_IN_CALL("cudnnGetConvolutionBackwardFilterWorkspaceSize");
  return workspace_of(input, weight, output, map, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      cudnnTensorDescriptor_t input, const void* x,
                                      cudnnFilterDescriptor_t weight, const void* w,
                                      cudnnConvolutionDescriptor_t map,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t output, void* y) {
  STAND_IN_CALL("cudnnConvolutionForward");
  const Call call = call_of({input, x}, {weight, w}, {output, y}, map);
  const bool is_in_order = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
                           algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  return launch("cudnnConvolutionForward", handle, call, alpha, beta, is_in_order, workspace, bytes,
                run_output);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t weight, const void* w,
                                           cudnnTensorDescriptor_t output, const void* y,
                                           cudnnConvolutionDescriptor_t map,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t bytes, const void* beta,
                                           cudnnTensorDescriptor_t input, void* x) {
  STAND_IN_CALL("cudnnConvolutionBackwardData");
  const Call call = call_of({input, x}, {weight, w}, {output, y}, map);
  return launch("cudnnConvolutionBackwardData", handle, call, alpha, beta,
                algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, workspace, bytes, run_input);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t input, const void* x,
                                             cudnnTensorDescriptor_t output, const void* y,
                                             cudnnConvolutionDescriptor_t map,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                             void* workspace, size_t bytes, const void* beta,
                                             cudnnFilterDescriptor_t weight, void* w) {
  STAND_IN_CALL("cudnnConvolutionBackwardFilter");
  const Call call = call_of({input, x}, {weight, w}, {output, y}, map);
  return launch("cudnnConvolutionBackwardFilter", handle, call, alpha, beta,
                algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, workspace, bytes, run_weight);
}

}  // extern "C"
