// ebb/autograd/composites/network/fold.cpp -- unfold and fold: windows over the last two dims as
// columns.
//
// Both are an index into the padded image, flattened: unfold selects by it, fold adds by it.
#include "ebb/autograd/ops/fold.h"

#include <array>
#include <limits>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/arrange.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/pad.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/unfold.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using Pair = std::array<int64_t, 2>;

/// One number for both dims, or two. Throws ValueError unless all are from `least` on.
Pair pair_of(const char* op, const char* name, IntSpan values, int64_t least) {
  bool fits = values.size() == 1 || values.size() == 2;
  for (const int64_t value : values) {
    fits = fits && value >= least && value <= std::numeric_limits<int32_t>::max();
  }
  if (fits) return {values.front(), values.back()};
  throw ValueError(str(op, ": ", name, " needs one number or 2, each at least ", least, ", got ",
                       PrintShape{values}));
}

struct WindowOptions {
  IntSpan kernel_size, dilation, padding, stride;
};

/// The windows over an image.
struct Windows {
  Pair kernel, dilation, padding, stride;
  Pair size;   // of the image with its padding
  Pair count;  // of windows

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t total() const { return count[0] * count[1]; }
};

Windows windows_of(const char* op, const Pair& image, const WindowOptions& options) {
  Windows made{pair_of(op, "kernel_size", options.kernel_size, 1),
               pair_of(op, "dilation", options.dilation, 1),
               pair_of(op, "padding", options.padding, 0),
               pair_of(op, "stride", options.stride, 1),
               {},
               {}};
  for (size_t i = 0; i < 2; ++i) {
    made.size[i] = image[i] + 2 * made.padding[i];
    const int64_t room = made.size[i] - (made.dilation[i] * (made.kernel[i] - 1) + 1);
    if (room < 0) {
      throw ShapeError(str(op, ": the kernel must fit into the padded input, got sizes ",
                           PrintShape{image}, ", kernel_size ", PrintShape{made.kernel},
                           ", padding ", PrintShape{made.padding}, " and dilation ",
                           PrintShape{made.dilation}));
    }
    made.count[i] = room / made.stride[i] + 1;
  }
  if (made.size[0] > std::numeric_limits<int64_t>::max() / made.size[1]) {
    throw ShapeError(
        str(op, ": needs fewer elements of the padded input, got sizes ", PrintShape{made.size}));
  }
  return made;
}

/// The place of each element of each window in the padded image, tap by tap.
Tensor index_of(const Windows& windows, Device device) {
  const auto& [kernel, dilation, padding, stride, size, count] = windows;
  const Shape shape = {kernel[0], kernel[1], count[0], count[1]};
  if (is_meta(device)) return reshape(empty(shape, DType::int64, device), {-1});
  const Tensor index = empty(shape, DType::int64);
  auto* place = index.data<int64_t>();
  for (int64_t tap = 0; tap < windows.taps(); ++tap) {
    const int64_t row = tap / kernel[1] * dilation[0], column = tap % kernel[1] * dilation[1];
    for (int64_t down = 0; down < count[0]; ++down) {
      const int64_t start = (row + down * stride[0]) * size[1] + column;
      for (int64_t across = 0; across < count[1]; ++across) *place++ = start + across * stride[1];
    }
  }
  return to_device(reshape(index, {-1}), device);
}

/// `lead` with more sizes behind it.
Shape with(Shape lead, IntSpan more) {
  for (const int64_t size : more) lead.push_back(size);
  return lead;
}

/// The sizes of a tensor but for its last ones.
Shape lead_of(const Tensor& tensor, int last) {
  return Shape(tensor.sizes().first(tensor.ndim() - last));
}

}  // namespace

Tensor unfold(const Tensor& input, IntSpan kernel_size, IntSpan dilation, IntSpan padding,
              IntSpan stride) {
  const autograd::CompositeCall call("unfold", __builtin_return_address(0));
  ops::infer::check_ndim("unfold", "input", input, 3, 4);
  const Windows windows = windows_of("unfold", {input.size(-2), input.size(-1)},
                                     {kernel_size, dilation, padding, stride});
  const auto [down, across] = windows.padding;
  const bool is_padded = down != 0 || across != 0;
  const Tensor image = is_padded ? pad(input, {across, across, down, down}) : input;
  const Tensor index = index_of(windows, input.device());
  const Tensor flat = reshape(image, with(lead_of(input, 2), {windows.size[0] * windows.size[1]}));
  const Tensor seen = index_select(flat, -1, index);
  const int64_t rows = input.size(-3) * windows.taps();
  return reshape(seen, with(lead_of(input, 3), {rows, windows.total()}));
}

Tensor fold(const Tensor& input, IntSpan output_size, IntSpan kernel_size, IntSpan dilation,
            IntSpan padding, IntSpan stride) {
  const autograd::operands::fold call(input);
  ops::infer::check_ndim("fold", "input", input, 2, 3);
  const Pair image = pair_of("fold", "output_size", output_size, 1);
  const Windows windows = windows_of("fold", image, {kernel_size, dilation, padding, stride});
  if (input.size(-2) % windows.taps() != 0 || input.size(-1) != windows.total()) {
    throw ShapeError(str("fold: input needs channels * ", windows.taps(), " rows and ",
                         windows.total(), " columns, got shape ", describe_shape(input)));
  }
  const Tensor index = index_of(windows, input.device());
  const Shape lead = with(lead_of(input, 2), {input.size(-2) / windows.taps()});
  const auto [height, width] = windows.size;
  const Tensor blank = zeros(with(lead, {height * width}), input.dtype(), input.device());
  const Tensor columns = reshape(input, with(lead, {windows.taps() * windows.total()}));
  const Tensor summed = index_add(blank, -1, index, columns);
  const Tensor padded = reshape(summed, with(lead, {height, width}));
  return narrow(narrow(padded, -2, windows.padding[0], image[0]), -1, windows.padding[1], image[1]);
}

}  // namespace ebb
