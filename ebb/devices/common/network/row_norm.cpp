// ebb/devices/common/network/row_norm.cpp -- launches of kernels/network/row_norm.k.
#include <algorithm>

#include "ebb/devices/common/base/lines.h"
#include "ebb/devices/common/network/norm.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::RowNorm;
using kernels::TensorView;

namespace {

constexpr int64_t kMostParts = 256;
constexpr int64_t kLeastSamples = 32;  // of a part

enum class Kind { rows, gradient, parts, weights };

/// A contiguous tensor as rows.
class Rows {
 public:
  Rows(const RowNorm& norm, const TensorView& view)
      : sizes_{norm.rows, norm.width()}, strides_{norm.width(), 1}, view_{view.data, sizes_,
                                                                          strides_,  view.numel,
                                                                          2,         view.dtype} {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  const TensorView* pointer() const { return &view_; }

 private:
  int64_t sizes_[2], strides_[2];
  TensorView view_;
};

KernelCall begin(Kind kind, const char* op, const Context& context, const RowNorm& norm,
                 DType dtype, bool as_int32, bool has_weight, bool has_bias) {
  KernelCall call(Family::row_norm, op, context, compute_of(dtype), as_int32);
  call.set("KIND", static_cast<int64_t>(kind), 2).set("T", dtype);
  call.set("IS_CENTRED", norm.is_centred, 1).set("INNER_IS_1", norm.inner == 1, 1);
  call.set("HAS_WEIGHT", has_weight, 1).set("HAS_BIAS", has_bias, 1);
  return call;
}

void add_norm(KernelCall& call, const RowNorm& norm) {
  call.add_index(norm.groups).add_index(norm.channels).add_index(norm.inner);
}

/// Null results and operands go as any other address: they are not looked at.
const void* data_or(const TensorView* view, const TensorView& other) {
  return view != nullptr ? view->data : other.data;
}

/// The gradients of weight and bias, of statistics per row.
void run_weights(const Context& context, const RowNorm& norm, const TensorView& grad_out,
                 const TensorView& input, const Scratch& stats, const TensorView* grad_weight,
                 const TensorView* grad_bias, bool as_int32) {
  constexpr const char* op = "row_norm_backward";
  const int64_t weights = norm.groups * norm.channels;
  const int64_t samples = norm.rows / norm.groups;
  const int64_t each = std::max(kLeastSamples, (samples + kMostParts - 1) / kMostParts);
  const int64_t parts = (samples + each - 1) / each;
  const int64_t items = parts * weights;
  const Scratch sums(context, static_cast<size_t>(2 * items + 1) * sizeof(double));
  if (items > 0) {
    KernelCall call = begin(Kind::parts, op, context, norm, input.dtype, as_int32, true, true);
    call.add(sums.data()).add(grad_out).add(input).add(stats.data());
    call.add_index(items).add_index(samples).add_index(each);
    add_norm(call, norm);
    call.run({row_norm_k}, items, group_size_for(call.traits(), items));
  }
  if (weights == 0) return;
  KernelCall call = begin(Kind::weights, op, context, norm, input.dtype, as_int32,
                          grad_weight != nullptr, grad_bias != nullptr);
  call.add(data_or(grad_weight, input)).add(data_or(grad_bias, input)).add(sums.data());
  call.add_index(items).add_index(weights);
  call.run({row_norm_k}, weights, group_size_for(call.traits(), weights));
}

}  // namespace

void run_row_norm(const Context& context, const RowNorm& norm, const TensorView& input,
                  const TensorView* weight, const TensorView* bias, const TensorView& out) {
  if (out.numel == 0) return;
  const Rows in_rows(norm, input), out_rows(norm, out);
  const TensorView* const views[] = {out_rows.pointer(), in_rows.pointer()};
  Lines lines(views, 1, driver().traits(context.device.index), true);
  KernelCall call = begin(Kind::rows, "row_norm", context, norm, input.dtype, lines.fits_int32(),
                          weight != nullptr, bias != nullptr);
  lines.specialise(call);
  call.add(out).add(input).add(data_or(weight, input)).add(data_or(bias, input));
  add_norm(call, norm);
  call.add_number(norm.eps);
  lines.add_to(call);
  lines.run(call, row_norm_k);
}

void run_row_norm_backward(const Context& context, const RowNorm& norm, const TensorView& grad_out,
                           const TensorView& input, const TensorView* weight,
                           const TensorView* grad_input, const TensorView* grad_weight,
                           const TensorView* grad_bias) {
  const Scratch stats(context, static_cast<size_t>(2 * norm.rows + 1) * sizeof(double));
  const Rows grad_rows(norm, grad_out), in_rows(norm, input);
  const TensorView* const views[] = {in_rows.pointer(), grad_rows.pointer(), in_rows.pointer()};
  Lines lines(views, 1, driver().traits(context.device.index), true);
  if (input.numel > 0) {
    KernelCall call = begin(Kind::gradient, "row_norm_backward", context, norm, input.dtype,
                            lines.fits_int32(), weight != nullptr, false);
    call.set("HAS_OUT", grad_input != nullptr, 1);
    lines.specialise(call);
    call.add(data_or(grad_input, input)).add(grad_out).add(input).add(data_or(weight, input));
    call.add(stats.data());
    add_norm(call, norm);
    call.add_number(norm.eps);
    lines.add_to(call);
    lines.run(call, row_norm_k);
  }
  if (grad_weight == nullptr && grad_bias == nullptr) return;
  run_weights(context, norm, grad_out, input, stats, grad_weight, grad_bias, lines.fits_int32());
}

}  // namespace ebb::devices
