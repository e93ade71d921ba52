// ebb/kernels/cpu/network/conv.cpp -- which engine runs a convolution: oneDNN if it can, else
// gemm().
//
// Half types that oneDNN has no fast kernel for are convolved in float32, some images at a time: of
// a whole tensor there is never a copy, but of the weight and its gradient.
#include "ebb/kernels/cpu/network/conv.h"

#include <algorithm>
#include <optional>

#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/conv_forward.h"
#include "ebb/kernels/tables/conv_input.h"
#include "ebb/kernels/tables/conv_weight.h"

namespace ebb::kernels::cpu {
namespace {

/// The operands of a pass; the weight or an image side is written.
struct Operands {
  ConvPass pass;
  const ConvShape& shape;
  const TensorView& input;
  const TensorView& weight;
  const TensorView* bias;
  const TensorView& output;

  ConvArrays arrays() const {
    return {input.data, weight.data, bias == nullptr ? nullptr : bias->data, output.data};
  }
};

void cast(const Context& context, const TensorView& from, const TensorView& to) {
  cast_kernels.find_cpu(from.dtype)(context, from, to);
}

// Elements of images that are widened at a time, or twice as many as a larger weight has: each time
// its layout is made again.
constexpr int64_t kWidened = int64_t{1} << 21;

/// Float32 numbers that stand for those of a half type, side by side in both.
class FloatCopy {
 public:
  FloatCopy(DType dtype, const void* data, int64_t count)
      : scratch_(static_cast<size_t>(std::max<int64_t>(1, count)) * sizeof(float)),
        count_(count),
        narrow_{const_cast<void*>(data), &count_, &kStep, count, 1, dtype, true},
        wide_{scratch_.as<void>(), &count_, &kStep, count, 1, DType::float32, true} {}
  explicit FloatCopy(const TensorView& view) : FloatCopy(view.dtype, view.data, view.numel) {}
  FloatCopy(const FloatCopy&) = delete;
  FloatCopy& operator=(const FloatCopy&) = delete;

  float* data() const { return scratch_.as<float>(); }
  void read(const Context& context) const { cast(context, narrow_, wide_); }
  void write(const Context& context) const { cast(context, wide_, narrow_); }

 private:
  static constexpr int64_t kStep = 1;
  Scratch scratch_;
  int64_t count_;
  TensorView narrow_, wide_;
};

void run_float32(ConvPass pass, const ConvShape& shape, const ConvArrays& arrays) {
  if (onednn_convolve(pass, shape, DType::float32, arrays)) return;
  gemm_convolve(pass, shape, DType::float32, arrays);
}

/// Images `first` and on of a batch, of `numel` elements each.
FloatCopy images(const TensorView& batch, int64_t first, int64_t count, int64_t numel) {
  const char* const data = static_cast<const char*>(batch.data);
  return {batch.dtype, data + first * numel * static_cast<int64_t>(item_size(batch.dtype)),
          count * numel};
}

/// How many images are widened at a time: about as many each time.
int64_t images_at_a_time(const ConvShape& shape) {
  const int64_t both =
      shape.in_channels * shape.input_numel() + shape.out_channels * shape.output_numel();
  const int64_t most = std::max<int64_t>(
      1, std::max(kWidened, 2 * shape.weight_numel()) / std::max<int64_t>(1, both));
  const int64_t times = std::max<int64_t>(1, (shape.batch + most - 1) / most);
  return std::max<int64_t>(1, (shape.batch + times - 1) / times);
}

/// One pass over some images after the other.
class WidenedPass {
 public:
  WidenedPass(const Context& context, const Operands& operands)
      : context_(context), operands_(operands), weight_(operands.weight) {
    if (operands.pass != ConvPass::weight) weight_.read(context);
    if (operands.bias == nullptr) return;
    bias_.emplace(*operands.bias);
    bias_->read(context);
  }

  void run() const {
    const int64_t batch = operands_.shape.batch, step = images_at_a_time(operands_.shape);
    for (int64_t first = 0; first < batch; first += step) {
      run_images(first, std::min(step, batch - first));
    }
    if (operands_.pass == ConvPass::weight) weight_.write(context_);
  }

 private:
  void run_images(int64_t first, int64_t count) const {
    ConvShape shape = operands_.shape;
    shape.batch = count;
    const ConvPass pass = operands_.pass;
    const FloatCopy input =
        images(operands_.input, first, count, shape.in_channels * shape.input_numel());
    const FloatCopy output =
        images(operands_.output, first, count, shape.out_channels * shape.output_numel());
    if (pass != ConvPass::input) input.read(context_);
    if (pass != ConvPass::output) output.read(context_);
    ConvArrays arrays{input.data(), weight_.data(), bias_ ? bias_->data() : nullptr, output.data()};
    if (pass == ConvPass::weight && first > 0) return add_weight(shape, arrays);
    run_float32(pass, shape, arrays);
    if (pass == ConvPass::input) input.write(context_);
    if (pass == ConvPass::output) output.write(context_);
  }

  void add_weight(const ConvShape& shape, ConvArrays arrays) const {
    const Scratch share(static_cast<size_t>(shape.weight_numel()) * sizeof(float));
    arrays.weight = share.as<void>();
    run_float32(ConvPass::weight, shape, arrays);
    add_arrays(weight_.data(), share.as<float>(), shape.weight_numel());
  }

  const Context& context_;
  const Operands& operands_;
  FloatCopy weight_;
  std::optional<FloatCopy> bias_;
};

/// By oneDNN's own kernels for bfloat16, if there are fast ones; sums are float32.
bool convolve_in_bfloat16(const Context& context, const Operands& operands) {
  if (!has_bfloat16_products()) return false;
  ConvArrays arrays = operands.arrays();
  if (operands.pass != ConvPass::weight) {
    return onednn_convolve(operands.pass, operands.shape, DType::bfloat16, arrays);
  }
  const FloatCopy weight(operands.weight);
  arrays.weight = weight.data();
  if (!onednn_convolve(operands.pass, operands.shape, DType::bfloat16, arrays)) return false;
  weight.write(context);
  return true;
}

void convolve(const Context& context, const Operands& operands) {
  const DType dtype = operands.input.dtype;
  if (dtype == DType::float32) return run_float32(operands.pass, operands.shape, operands.arrays());
  if (dtype == DType::bfloat16 && convolve_in_bfloat16(context, operands)) return;
  if (is_half(dtype)) return WidenedPass(context, operands).run();
  gemm_convolve(operands.pass, operands.shape, dtype, operands.arrays());
}

void forward_kernel(const Context& context, const ConvShape& shape, const TensorView& input,
                    const TensorView& weight, const TensorView* bias, const TensorView& output) {
  convolve(context, {ConvPass::output, shape, input, weight, bias, output});
}

void input_kernel(const Context& context, const ConvShape& shape, const TensorView& output,
                  const TensorView& weight, const TensorView* bias, const TensorView& input) {
  convolve(context, {ConvPass::input, shape, input, weight, bias, output});
}

void weight_kernel(const Context& context, const ConvShape& shape, const TensorView& output,
                   const TensorView& input, const TensorView& weight) {
  convolve(context, {ConvPass::weight, shape, input, weight, nullptr, output});
}

}  // namespace

void fill_conv() {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    conv_forward_kernels.set_cpu(dtype, &forward_kernel);
    conv_input_kernels.set_cpu(dtype, &input_kernel);
    conv_weight_kernels.set_cpu(dtype, &weight_kernel);
  }
}

}  // namespace ebb::kernels::cpu
