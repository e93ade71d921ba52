// ebb/kernels/cpu/network/conv.cpp -- which engine runs a convolution: oneDNN if it can, else
// gemm().
//
// Half types that oneDNN has no kernel for are copied to float32 and back.
#include "ebb/kernels/cpu/network/conv.h"

#include <algorithm>
#include <optional>

#include "ebb/core/runtime/allocator.h"
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

/// An array of float32 that stands for a view of a half type.
class FloatCopy {
 public:
  explicit FloatCopy(const TensorView& view)
      : scratch_(static_cast<size_t>(view.numel) * sizeof(float)), view_(view) {
    view_.data = scratch_.as<void>();
    view_.dtype = DType::float32;
  }
  void* data() const { return view_.data; }
  void read(const Context& context, const TensorView& from) const { cast(context, from, view_); }
  void write(const Context& context, const TensorView& to) const { cast(context, view_, to); }

 private:
  Scratch scratch_;
  TensorView view_;
};

void run_float32(ConvPass pass, const ConvShape& shape, const ConvArrays& arrays) {
  if (onednn_convolve(pass, shape, DType::float32, arrays)) return;
  gemm_convolve(pass, shape, DType::float32, arrays);
}

void convolve_in_float32(const Context& context, const Operands& operands) {
  const TensorView* const views[] = {&operands.output, &operands.input, &operands.weight};
  const FloatCopy copies[] = {FloatCopy(*views[0]), FloatCopy(*views[1]), FloatCopy(*views[2])};
  const auto written = static_cast<size_t>(operands.pass);  // ConvPass names them in this order
  for (size_t i = 0; i < 3; ++i) {
    if (i != written) copies[i].read(context, *views[i]);
  }
  std::optional<FloatCopy> bias;
  if (operands.bias != nullptr) {
    bias.emplace(*operands.bias);
    bias->read(context, *operands.bias);
  }
  run_float32(
      operands.pass, operands.shape,
      {copies[1].data(), copies[2].data(), bias ? bias->data() : nullptr, copies[0].data()});
  copies[written].write(context, *views[written]);
}

/// By oneDNN's own kernels for bfloat16, if there are any; sums are float32.
bool convolve_in_bfloat16(const Context& context, const Operands& operands) {
  ConvArrays arrays = operands.arrays();
  if (operands.pass != ConvPass::weight) {
    return onednn_convolve(operands.pass, operands.shape, DType::bfloat16, arrays);
  }
  const FloatCopy weight(operands.weight);
  arrays.weight = weight.data();
  if (!onednn_convolve(operands.pass, operands.shape, DType::bfloat16, arrays)) return false;
  weight.write(context, operands.weight);
  return true;
}

void convolve(const Context& context, const Operands& operands) {
  const DType dtype = operands.input.dtype;
  if (dtype == DType::float32) return run_float32(operands.pass, operands.shape, operands.arrays());
  if (dtype == DType::bfloat16 && convolve_in_bfloat16(context, operands)) return;
  if (is_half(dtype)) return convolve_in_float32(context, operands);
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
