// ebb/devices/common/network/conv.cpp -- convolutions: one factor is the patches of an image, which
// the product reads where they are (kernels/gemm/gemm_operands.k); they are never in memory as a
// whole.
//
// The gradient of the input sees the output with gaps where the stride is not 1, and multiplies
// the zeros there, too.
#include "ebb/devices/common/network/conv.h"

#include <algorithm>

#include "ebb/devices/common/base/copy.h"
#include "ebb/devices/common/gemm/gemm.h"
#include "ebb/devices/launch/convolution.h"
#include "ebb/devices/launch/driver.h"

namespace ebb::devices {

using kernels::Context;
using kernels::ConvShape;
using kernels::TensorView;

namespace {

/// Sizes of one group, and of one entry of the batch.
struct Sizes {
  explicit Sizes(const ConvShape& shape)
      : in_channels(shape.in_channels / shape.groups),
        out_channels(shape.out_channels / shape.groups),
        taps(shape.kernel_numel()),
        input(in_channels * shape.input_numel()),
        output(out_channels * shape.output_numel()),
        weight(out_channels * in_channels * taps) {}

  int64_t in_channels, out_channels, taps;
  int64_t input, output, weight;  // elements
};

Gemm gemm_of(const char* op, Patches patches, const ConvShape& shape, const TensorView& a,
             const TensorView& b, const TensorView& out) {
  Gemm gemm;
  gemm.op = op;
  gemm.a = {a.data, a.dtype};
  gemm.b = {b.data, b.dtype};
  gemm.out = out.data;
  gemm.out_dtype = out.dtype;
  gemm.patches = patches;
  gemm.window = &shape;
  return gemm;
}

/// Whether a library of the back end computes one of the three from the others. `bias`, of the
/// channels of that one, is written over all of it first, so that the sum with it is rounded once.
bool run_by_library(const char* op, const Context& context, ConvPass pass, const ConvShape& shape,
                    const TensorView& input, const TensorView& weight, const TensorView& output,
                    const TensorView* bias) {
  if (input.dtype != weight.dtype || input.dtype != output.dtype) return false;
  Convolution convolution{pass, &shape, input.dtype, input.data, weight.data, output.data, {}};
  const TensorView& out = pass == ConvPass::output ? output : input;
  const int64_t channels = bias == nullptr ? 1 : bias->numel;
  const int64_t places = out.numel / std::max<int64_t>(shape.batch * channels, 1);
  const int64_t sizes[] = {shape.batch, channels, places};
  const int64_t from[] = {0, 1, 0}, to[] = {channels * places, places, 1};
  if (bias != nullptr) {
    convolution.write_first = [&] {
      run_cast(context, {bias->data, sizes, from, out.numel, 3, bias->dtype, false},
               {out.data, sizes, to, out.numel, 3, out.dtype, true});
    };
  }
  return driver().convolve(context, op, convolution);
}

void add_bias(const TensorView* bias, Gemm& gemm) {
  if (bias == nullptr) return;
  gemm.bias_side = BiasSide::of_rows;
  gemm.bias = bias->data;
  gemm.bias_rows = bias->numel;
}

}  // namespace

void run_conv_forward(const Context& context, const ConvShape& shape, const TensorView& input,
                      const TensorView& weight, const TensorView* bias, const TensorView& output) {
  if (run_by_library("conv_forward", context, ConvPass::output, shape, input, weight, output, bias))
    return;
  const Sizes sizes(shape);
  Gemm gemm = gemm_of("conv_forward", Patches::by_place, shape, weight, input, output);
  gemm.m = sizes.out_channels;
  gemm.n = gemm.out_row = shape.output_numel();
  gemm.k = gemm.a.row = sizes.in_channels * sizes.taps;
  gemm.a.column = 1;
  gemm.batch = {shape.batch, shape.groups};
  gemm.strides[0] = {shape.groups * sizes.output, sizes.output};
  gemm.strides[1] = {0, sizes.weight};
  gemm.strides[2] = {shape.groups * sizes.input, sizes.input};
  add_bias(bias, gemm);
  run_gemm(gemm, context);
}

void run_conv_input(const Context& context, const ConvShape& shape, const TensorView& output,
                    const TensorView& weight, const TensorView* bias, const TensorView& input) {
  if (run_by_library("conv_input", context, ConvPass::input, shape, input, weight, output, bias))
    return;
  const Sizes sizes(shape);
  // The weight with its sides turned: [groups, in_channels, out_channels, taps].
  const Scratch memory(context,
                       static_cast<size_t>(shape.weight_numel()) * item_size(weight.dtype));
  const Shape turned{shape.groups, sizes.in_channels, sizes.out_channels, sizes.taps};
  const Shape from{sizes.weight, sizes.taps, sizes.in_channels * sizes.taps, 1};
  const Shape to{sizes.weight, sizes.out_channels * sizes.taps, sizes.taps, 1};
  const TensorView given{weight.data, turned.begin(), from.begin(), shape.weight_numel(),
                         4,           weight.dtype,   false};
  const TensorView factor{memory.data(), turned.begin(), to.begin(), shape.weight_numel(), 4,
                          weight.dtype};
  run_cast(context, given, factor);

  Gemm gemm = gemm_of("conv_input", Patches::of_output, shape, factor, output, input);
  gemm.m = sizes.in_channels;
  gemm.n = gemm.out_row = shape.input_numel();
  gemm.k = gemm.a.row = sizes.out_channels * sizes.taps;
  gemm.a.column = 1;
  gemm.batch = {shape.batch, shape.groups};
  gemm.strides[0] = {shape.groups * sizes.input, sizes.input};
  gemm.strides[1] = {0, sizes.weight};
  gemm.strides[2] = {shape.groups * sizes.output, sizes.output};
  add_bias(bias, gemm);
  run_gemm(gemm, context);
}

void run_conv_weight(const Context& context, const ConvShape& shape, const TensorView& output,
                     const TensorView& input, const TensorView& weight) {
  if (run_by_library("conv_weight", context, ConvPass::weight, shape, input, weight, output,
                     nullptr))
    return;
  const Sizes sizes(shape);
  Gemm gemm = gemm_of("conv_weight", Patches::by_tap, shape, output, input, weight);
  gemm.m = sizes.out_channels;
  gemm.n = gemm.out_row = sizes.in_channels * sizes.taps;
  gemm.k = gemm.a.row = shape.output_numel();
  gemm.a.column = 1;
  gemm.pairs = shape.batch;
  gemm.a.next = shape.groups * sizes.output;
  gemm.b.next = shape.groups * sizes.input;
  gemm.batch = {shape.groups};
  gemm.strides[0] = {sizes.weight};
  gemm.strides[1] = {sizes.output};
  gemm.strides[2] = {sizes.input};
  run_gemm(gemm, context);
}

}  // namespace ebb::devices
