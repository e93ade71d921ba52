// ebb/devices/cuda/cudnn/convolution.cpp -- says convolutions in cuDNN's terms.
//
// Only algorithms that multiply matrices and add up in a fixed order are asked for.
#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "ebb/core/device/tf32.h"
#include "ebb/devices/cuda/cudnn/cudnn.h"
#include "ebb/devices/cuda/cudnn/library.h"
#include "ebb/devices/launch/memory_pool.h"

namespace ebb::cuda {
namespace {

using devices::Convolution;
using devices::ConvPass;

// What cudnn.h names.
constexpr int kCrossCorrelation = 1;
constexpr int kRowMajor = 0;                                      // CUDNN_TENSOR_NCHW
constexpr int kDefaultMath = 0, kTensorMath = 1, kPlainMath = 3;  // cudnnMathType_t
constexpr int kImplicitGemm = 0, kPrecomputedGemm = 1;            // cudnnConvolutionFwdAlgo_t
constexpr int kInputInOrder = 1, kWeightInOrder = 1;  // CUDNN_CONVOLUTION_BWD_..._ALGO_1

/// A descriptor for the length of a scope.
class Described {
 public:
  Described(Make make, Drop drop, const char* call) : drop_(drop) {
    check_cudnn(make(&value_), call);
  }
  ~Described() { drop_(value_); }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  Descriptor get() const { return value_; }

 private:
  Drop drop_;
  Descriptor value_ = nullptr;
};

int compute_type_of(DType dtype) { return dtype == DType::float64 ? 1 : 0; }

int math_of(DType dtype) {
  if (dtype == DType::float32) return is_tf32_allowed() ? kDefaultMath : kPlainMath;
  return dtype == DType::float64 ? kDefaultMath : kTensorMath;
}

/// How many spatial dims cuDNN is told of, which has no fewer than two.
int spatial_dims(const kernels::ConvShape& shape) { return shape.spatial == 3 ? 3 : 2; }

/// The last `count` of three numbers, behind `first` and `second`.
struct Numbers {
  int values[5];
  const int* spatial() const { return values + 2; }
};
Numbers numbers(int64_t first, int64_t second, const int64_t (&three)[kernels::kMaxSpatial],
                int count) {
  Numbers made{{static_cast<int>(first), static_cast<int>(second)}};
  for (int dim = 0; dim < count; ++dim) {
    made.values[dim + 2] = static_cast<int>(three[kernels::kMaxSpatial - count + dim]);
  }
  return made;
}

void set_dense(Descriptor tensor, int type, const Numbers& sizes, int ndim) {
  int strides[5];
  int step = 1;
  for (int dim = ndim - 1; dim >= 0; --dim) {
    strides[dim] = step;
    step *= sizes.values[dim];
  }
  check_cudnn(cudnn()->set_tensor(tensor, type, ndim, sizes.values, strides),
              "cudnnSetTensorNdDescriptor");
}

/// All that describes a convolution.
struct Description {
  Described input{cudnn()->make_tensor, cudnn()->drop_tensor, "cudnnCreateTensorDescriptor"};
  Described output{cudnn()->make_tensor, cudnn()->drop_tensor, "cudnnCreateTensorDescriptor"};
  Described weight{cudnn()->make_filter, cudnn()->drop_filter, "cudnnCreateFilterDescriptor"};
  Described map{cudnn()->make_convolution, cudnn()->drop_convolution,
                "cudnnCreateConvolutionDescriptor"};

  explicit Description(const Convolution& convolution) {
    const kernels::ConvShape& shape = *convolution.shape;
    const int spatial = spatial_dims(shape), ndim = spatial + 2;
    const int type = *cudnn_type(convolution.dtype);
    set_dense(input.get(), type, numbers(shape.batch, shape.in_channels, shape.input, spatial),
              ndim);
    set_dense(output.get(), type, numbers(shape.batch, shape.out_channels, shape.output, spatial),
              ndim);
    const Numbers kernel =
        numbers(shape.out_channels, shape.in_channels / shape.groups, shape.kernel, spatial);
    check_cudnn(cudnn()->set_filter(weight.get(), type, kRowMajor, ndim, kernel.values),
                "cudnnSetFilterNdDescriptor");
    check_cudnn(cudnn()->set_convolution(map.get(), spatial,
                                         numbers(0, 0, shape.padding, spatial).spatial(),
                                         numbers(0, 0, shape.stride, spatial).spatial(),
                                         numbers(0, 0, shape.dilation, spatial).spatial(),
                                         kCrossCorrelation, compute_type_of(convolution.dtype)),
                "cudnnSetConvolutionNdDescriptor");
    check_cudnn(cudnn()->set_groups(map.get(), static_cast<int>(shape.groups)),
                "cudnnSetConvolutionGroupCount");
    check_cudnn(cudnn()->set_math(map.get(), math_of(convolution.dtype)),
                "cudnnSetConvolutionMathType");
  }
};

/// What a pass reads, in the order in which cuDNN takes it, and what it writes.
struct Sides {
  Descriptor first, second, result;
  const void *first_data, *second_data;
  void* result_data;
};
Sides sides_of(const Convolution& one, const Description& all) {
  const Descriptor input = all.input.get(), weight = all.weight.get(), output = all.output.get();
  switch (one.pass) {
    case ConvPass::output: return {input, weight, output, one.input, one.weight, one.output};
    case ConvPass::input: return {weight, output, input, one.weight, one.output, one.input};
    default: return {input, output, weight, one.input, one.output, one.weight};
  }
}

const char* name_of(ConvPass pass) {
  constexpr const char* kNames[] = {"cudnnConvolutionForward", "cudnnConvolutionBackwardData",
                                    "cudnnConvolutionBackwardFilter"};
  return kNames[static_cast<int>(pass)];
}

struct Algorithm {
  int number;
  size_t workspace;
};
/// The first that cuDNN has for the convolution.
std::optional<Algorithm> choose(Handle handle, ConvPass pass, const Sides& sides, Descriptor map) {
  static constexpr int kOutput[] = {kPrecomputedGemm, kImplicitGemm};
  static constexpr int kInput[] = {kInputInOrder};
  static constexpr int kWeight[] = {kWeightInOrder};
  const std::span<const int> known = pass == ConvPass::output  ? std::span<const int>(kOutput)
                                     : pass == ConvPass::input ? std::span<const int>(kInput)
                                                               : std::span<const int>(kWeight);
  for (const int number : known) {
    size_t bytes = 0;
    const Status status = cudnn()->of(pass).measure(handle, sides.first, sides.second, map,
                                                    sides.result, number, &bytes);
    if (status == kSuccess) return Algorithm{number, bytes};
  }
  return std::nullopt;
}

/// Whether all sizes are numbers that cuDNN takes.
bool fits(const Convolution& convolution) {
  const kernels::ConvShape& shape = *convolution.shape;
  const int64_t sizes[] = {shape.batch * shape.in_channels * shape.input_numel(),
                           shape.batch * shape.out_channels * shape.output_numel(),
                           shape.weight_numel()};
  return std::all_of(std::begin(sizes), std::end(sizes), [](int64_t size) {
    return size > 0 && size <= std::numeric_limits<int>::max();
  });
}

}  // namespace

bool queue_by_cudnn(CudaStream& stream, const Convolution& convolution) {
  if (!cudnn_type(convolution.dtype) || !fits(convolution)) return false;
  const ContextScope scope(stream.device->context);
  const std::unique_lock lock(stream.library_mutex);
  const Handle handle = cudnn_handle(stream);
  const Description all(convolution);
  const Sides sides = sides_of(convolution, all);
  const auto algorithm = choose(handle, convolution.pass, sides, all.map.get());
  if (!algorithm) return false;
  const devices::PoolBlock workspace(*stream.device->memory,
                                     std::max<size_t>(algorithm->workspace, 1), &stream);
  if (convolution.write_first) convolution.write_first();
  const bool adds = static_cast<bool>(convolution.write_first);
  const double wide[] = {1, adds ? 1.0 : 0.0};
  const float narrow[] = {1, adds ? 1.0f : 0.0f};
  const bool is_wide = convolution.dtype == DType::float64;
  const void* const alpha = is_wide ? static_cast<const void*>(&wide[0]) : &narrow[0];
  const void* const beta = is_wide ? static_cast<const void*>(&wide[1]) : &narrow[1];
  const Status status =
      cudnn()
          ->of(convolution.pass)
          .run(handle, alpha, sides.first, sides.first_data, sides.second, sides.second_data,
               all.map.get(), algorithm->number, workspace.data(), algorithm->workspace, beta,
               sides.result, sides.result_data);
  if (is_unsupported(status)) return false;  // some cases are refused only now
  check_cudnn(status, name_of(convolution.pass));
  return true;
}

}  // namespace ebb::cuda
