// ebb/ops/impl/network/conv_shape.cpp -- the sizes of a convolution, worked out and checked.
//
// Options are at most kMostOption and no tensor has 2^62 elements along a dim, so sums of sizes and
// padding do not overflow; the one product that may is checked.
#include "ebb/ops/impl/network/conv_shape.h"

#include <algorithm>

#include "ebb/core/base/error.h"

namespace ebb::ops {
namespace {

using kernels::ConvShape;
using kernels::kMaxSpatial;

constexpr int64_t kMostOption = INT32_MAX;

/// Fills the last dims of `target` from a list of one number or of one per dim.
void read_option(const std::string& op, const char* name, IntSpan values, int64_t least,
                 int64_t spatial, int64_t* target) {
  const auto count = static_cast<int64_t>(values.size());
  if (count != 1 && count != spatial) {
    throw ValueError(
        str(op, ": ", name, " needs one number or ", spatial, ", got ", PrintShape{values}));
  }
  for (int64_t dim = 0; dim < spatial; ++dim) {
    const int64_t value = values[static_cast<size_t>(count == 1 ? 0 : dim)];
    if (value < least || value > kMostOption) {
      throw ValueError(str(op, ": ", name, " must be from ", least, " to ", kMostOption, ", got ",
                           PrintShape{values}));
    }
    target[kMaxSpatial - spatial + dim] = value;
  }
}

[[noreturn]] void throw_channels(const std::string& op, const SizesOf& input, const SizesOf& weight,
                                 const ConvOptions& options) {
  const char* const wanted = options.transposed ? "[channels, out / groups, kernel...]"
                                                : "[out, channels / groups, kernel...]";
  throw ShapeError(str(op, ": weight must be ", wanted, " for the channels of input, got input ",
                       input, ", weight ", weight, " and groups ", options.groups));
}

void read_channels(const std::string& op, const SizesOf& input, const SizesOf& weight,
                   const ConvOptions& options, ConvShape& shape) {
  const int64_t groups = options.groups;
  if (groups < 1) throw ValueError(str(op, ": groups must be at least 1, got ", groups));
  shape.groups = groups;
  shape.batch = input[0];
  shape.out_channels = weight[0];
  if (__builtin_mul_overflow(weight[1], groups, &shape.in_channels) || weight[0] % groups != 0) {
    throw_channels(op, input, weight, options);
  }
  const int64_t given = options.transposed ? shape.out_channels : shape.in_channels;
  if (given != input[1]) throw_channels(op, input, weight, options);
}

/// One dim: from the size that the op is given to the size that it gives, or less than 1.
int64_t size_after(int64_t size, const ConvShape& shape, int dim, bool transposed,
                   int64_t output_padding) {
  const int64_t reach = shape.dilation[dim] * (shape.kernel[dim] - 1);
  const int64_t padding = 2 * shape.padding[dim];
  if (!transposed) {
    const int64_t room = size + padding - reach - 1;
    return room < 0 ? 0 : room / shape.stride[dim] + 1;
  }
  int64_t size_before = 0;
  if (__builtin_mul_overflow(size - 1, shape.stride[dim], &size_before)) return 0;
  if (__builtin_add_overflow(size_before, reach + output_padding + 1 - padding, &size_before)) {
    return 0;
  }
  return size_before;
}

/// Throws if the kernel does not fit, or if nothing would come out.
void check_sizes(const std::string& op, const SizesOf& input, const SizesOf& weight,
                 const ConvOptions& options, const int64_t* sizes) {
  if (std::all_of(sizes, sizes + kMaxSpatial, [](int64_t size) { return size >= 1; })) return;
  throw ShapeError(str(op,
                       options.transposed ? ": the result needs sizes of at least 1"
                                          : ": the kernel must fit into the padded input",
                       ", got input ", input, ", weight ", weight, ", padding ",
                       PrintShape{options.padding}, " and dilation ",
                       PrintShape{options.dilation}));
}

void check_output_padding(const std::string& op, const ConvOptions& options, const ConvShape& shape,
                          const int64_t* output_padding) {
  for (int dim = 0; dim < kMaxSpatial; ++dim) {
    if (output_padding[dim] < std::max(shape.stride[dim], shape.dilation[dim])) continue;
    throw ValueError(str(op, ": output_padding must be smaller than stride or dilation, got ",
                         PrintShape{options.output_padding}, ", stride ",
                         PrintShape{options.stride}, " and dilation ",
                         PrintShape{options.dilation}));
  }
}

Shape sizes_of(int64_t batch, int64_t channels, const int64_t* sizes, int64_t spatial) {
  Shape shape{batch, channels};
  for (int64_t dim = kMaxSpatial - spatial; dim < kMaxSpatial; ++dim) shape.push_back(sizes[dim]);
  return shape;
}

}  // namespace

std::string conv_name(IntSpan weight, bool transposed) {
  const auto spatial = static_cast<int64_t>(weight.size()) - 2;
  if (spatial < 1 || spatial > kMaxSpatial) return "convolution";
  return str(transposed ? "conv_transpose" : "conv", spatial, "d");
}

ConvShape conv_shape(const std::string& op, const SizesOf& input, const SizesOf& weight,
                     const ConvOptions& options) {
  if (weight.size() < 3 || weight.size() > 2 + kMaxSpatial || input.size() != weight.size()) {
    throw ShapeError(str(op, ": input [batch, channels, sizes...] and weight need the same dims, ",
                         "3 to 5, got ", input, " and ", weight));
  }
  ConvShape shape;
  const auto spatial = static_cast<int64_t>(weight.size()) - 2;
  shape.spatial = spatial;
  read_channels(op, input, weight, options, shape);
  read_option(op, "stride", options.stride, 1, spatial, shape.stride);
  read_option(op, "padding", options.padding, 0, spatial, shape.padding);
  read_option(op, "dilation", options.dilation, 1, spatial, shape.dilation);
  read_option(op, "the kernel", IntSpan(weight).subspan(2), 1, spatial, shape.kernel);
  int64_t output_padding[kMaxSpatial] = {};
  if (options.transposed) {
    read_option(op, "output_padding", options.output_padding, 0, spatial, output_padding);
    check_output_padding(op, options, shape, output_padding);
  }
  int64_t* const given = options.transposed ? shape.output : shape.input;
  int64_t* const made = options.transposed ? shape.input : shape.output;
  for (int dim = kMaxSpatial - static_cast<int>(spatial); dim < kMaxSpatial; ++dim) {
    given[dim] = input[static_cast<size_t>(dim + 2 + spatial - kMaxSpatial)];
    made[dim] = size_after(given[dim], shape, dim, options.transposed, output_padding[dim]);
  }
  check_sizes(op, input, weight, options, made);
  return shape;
}

Shape conv_input_sizes(const ConvShape& shape) {
  return sizes_of(shape.batch, shape.in_channels, shape.input, shape.spatial);
}

Shape conv_output_sizes(const ConvShape& shape) {
  return sizes_of(shape.batch, shape.out_channels, shape.output, shape.spatial);
}

}  // namespace ebb::ops
