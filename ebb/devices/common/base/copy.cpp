// ebb/devices/common/base/copy.cpp -- cast, cat, fill and arange as element-wise kernels.
#include "ebb/devices/common/base/copy.h"

#include <cstring>

#include "ebb/devices/common/base/elementwise.h"
#include "ebb/kernels/cat_parts.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

/// A number as an operand of `dtype`, which holds it exactly.
struct NumberView {
  NumberView(const Scalar& value, DType dtype) : view{.dtype = dtype, .on_host = true} {
    if (dtype == DType::int64) {
      const int64_t whole = value.to_int();
      std::memcpy(bytes, &whole, sizeof whole);
    } else {
      const double real = value.to_double();
      std::memcpy(bytes, &real, sizeof real);
    }
    view.data = bytes;
    view.numel = 1;
  }
  NumberView(const NumberView&) = delete;
  NumberView& operator=(const NumberView&) = delete;

  alignas(8) char bytes[8];
  TensorView view;
};

DType dtype_of_number(const Scalar& value) {
  return value.kind() <= Kind::integer ? DType::int64 : DType::float64;
}

}  // namespace

void run_cast(const Context& context, const TensorView& input, const TensorView& out) {
  const Elementwise work{.family = Family::cast,
                         .op = "cast",
                         .parameters = "input",
                         .expression = "input",
                         .compute = compute_of(input.dtype)};
  const TensorView* const operands[] = {&input};
  run_elementwise(work, context, out, operands);
}

void run_fill(const Context& context, const Scalar& value, const TensorView& out) {
  const Elementwise work{.family = Family::fill,
                         .op = "fill",
                         .parameters = "value",
                         .expression = "value",
                         .compute = compute_of(out.dtype)};
  // A bool is whether the number is not 0, before it is made whole.
  const Scalar wanted = out.dtype == DType::boolean ? Scalar(value.to_double() != 0) : value;
  const NumberView number(wanted, dtype_of_number(wanted));
  const TensorView* const operands[] = {&number.view};
  run_elementwise(work, context, out, operands);
}

void run_arange(const Context& context, const Scalar& start, const Scalar& step,
                const TensorView& out) {
  const bool is_whole = start.kind() <= Kind::integer && step.kind() <= Kind::integer;
  const bool has_double = driver().traits(context.device.index).has_float64;
  const DType dtype = is_whole ? DType::int64 : DType::float64;
  const Elementwise work{.family = Family::arange,
                         .op = "arange",
                         .parameters = "start, step",
                         .expression = "start + (C)item * step",
                         .compute = is_whole     ? Compute::i64
                                    : has_double ? Compute::f64
                                                 : Compute::f32};
  const NumberView first(start, dtype);
  const NumberView by(step, dtype);
  const TensorView* const operands[] = {&first.view, &by.view};
  run_elementwise(work, context, out, operands);
}

void run_cat(const Context& context, std::span<const TensorView> inputs, int dim,
             const TensorView& out) {
  kernels::for_each_part(inputs, dim, out, [&](const TensorView& input, const TensorView& part) {
    run_cast(context, input, part);
  });
}

}  // namespace ebb::devices
