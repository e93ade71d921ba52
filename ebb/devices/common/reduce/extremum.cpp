// ebb/devices/common/reduce/extremum.cpp -- launches of the kinds of kernels/reduce/extremum.k.
#include "ebb/devices/common/reduce/extremum.h"

#include "ebb/devices/common/base/lines.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

void run_extremum(const char* op, const Context& context, const TensorView& input, int dim,
                  bool is_largest, bool is_running, const TensorView& values,
                  const TensorView& indices) {
  if (values.numel == 0) return;
  const TensorView* const views[] = {&values, &indices, &input};
  Lines lines(views, dim, driver().traits(context.device.index), !is_running);
  KernelCall call(Family::extremum, op, context, compute_of(input.dtype), lines.fits_int32());
  call.set("KIND", is_running, 1).set("IS_LARGEST", is_largest, 1).set("T", input.dtype);
  lines.specialise(call);
  for (const TensorView* view : views) call.add(*view);
  lines.add_to(call);
  lines.run(call, extremum_k);
}

}  // namespace

void run_max_dim(const Context& context, const TensorView& input, int dim, const TensorView& out,
                 const TensorView& indices) {
  run_extremum("max_dim", context, input, dim, true, false, out, indices);
}

void run_min_dim(const Context& context, const TensorView& input, int dim, const TensorView& out,
                 const TensorView& indices) {
  run_extremum("min_dim", context, input, dim, false, false, out, indices);
}

void run_running_extremum(const Context& context, const TensorView& input, int dim, bool largest,
                          const TensorView& values, const TensorView& indices) {
  run_extremum("running_extremum", context, input, dim, largest, true, values, indices);
}

}  // namespace ebb::devices
