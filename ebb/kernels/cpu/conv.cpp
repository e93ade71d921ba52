// ebb/kernels/cpu/conv.cpp -- which engine runs a convolution.
#include "ebb/kernels/cpu/conv.h"

#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/tables.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
void convolve(ConvPass pass, const ConvShape& shape, const TensorView& input,
              const TensorView& weight, const TensorView* bias, const TensorView& output) {
  const ConvArrays<T> arrays{input.as<T>(), weight.as<T>(),
                             bias == nullptr ? nullptr : bias->as<const T>(), output.as<T>()};
  if constexpr (std::is_same_v<T, float>) {
    if (onednn_convolve(pass, shape, arrays)) return;
  }
  gemm_convolve(pass, shape, arrays);
}

template <typename T>
void forward_kernel(const Context&, const ConvShape& shape, const TensorView& input,
                    const TensorView& weight, const TensorView* bias, const TensorView& output) {
  convolve<T>(ConvPass::output, shape, input, weight, bias, output);
}

template <typename T>
void input_kernel(const Context&, const ConvShape& shape, const TensorView& output,
                  const TensorView& weight, const TensorView* bias, const TensorView& input) {
  convolve<T>(ConvPass::input, shape, input, weight, bias, output);
}

template <typename T>
void weight_kernel(const Context&, const ConvShape& shape, const TensorView& output,
                   const TensorView& input, const TensorView& weight) {
  convolve<T>(ConvPass::weight, shape, input, weight, nullptr, output);
}

template <typename T>
void set(DType dtype) {
  conv_forward_kernels.set_cpu(dtype, &forward_kernel<T>);
  conv_input_kernels.set_cpu(dtype, &input_kernel<T>);
  conv_weight_kernels.set_cpu(dtype, &weight_kernel<T>);
}

}  // namespace

void fill_conv() {
  set<float>(DType::float32);
  set<double>(DType::float64);
}

}  // namespace ebb::kernels::cpu
