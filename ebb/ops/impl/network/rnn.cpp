// ebb/ops/impl/network/rnn.cpp -- scans of recurrent layers: checks, dense operands.
//
// Half types are read and written as they are; kernels run in float32 from the first time to the
// last, and keep activated gates in it.
#include "ebb/ops/impl/network/rnn.h"

#include "ebb/kernels/tables/gru_scan.h"
#include "ebb/kernels/tables/gru_scan_backward.h"
#include "ebb/kernels/tables/lstm_scan.h"
#include "ebb/kernels/tables/lstm_scan_backward.h"
#include "ebb/kernels/tables/rnn_scan.h"
#include "ebb/kernels/tables/rnn_scan_backward.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

using kernels::RecurrentGrads;
using kernels::RecurrentSaved;
using kernels::TensorView;

/// Throws ShapeError or DTypeError unless `tensor` has this shape and dtype.
void check_operand(const char* op, const char* name, const Tensor& tensor, const Shape& shape,
                   DType dtype) {
  infer::check_defined(op, name, tensor);
  if (!equal(tensor.sizes(), shape)) {
    throw ShapeError(
        str(op, ": ", name, " needs shape ", shape, ", got ", infer::describe(tensor)));
  }
  if (tensor.dtype() != dtype) {
    throw DTypeError(
        str(op, ": ", name, " needs dtype ", dtype, ", got ", infer::describe(tensor)));
  }
}

/// Sizes of a scan, and what its operands must look like.
struct Scan {
  const char* op;
  int64_t times, batch, units, kinds;
  DType dtype;
  Device device;

  /// `kinds`: gates per unit.
  Scan(const char* op, const Tensor& gates, const Tensor& h0, int64_t kinds)
      : op(op), kinds(kinds), dtype(gates.dtype()), device(gates.device()) {
    infer::check_ndim(op, "gates", gates, 3, 3);
    infer::check_ndim(op, "h0", h0, 2, 2);
    if (!is_floating(dtype)) {
      throw DTypeError(str(op, ": needs a floating dtype, got ", infer::describe(gates)));
    }
    times = gates.size(0);
    batch = gates.size(1);
    units = h0.size(1);
    if (times == 0 || units == 0) {
      throw ShapeError(str(op, ": needs at least one time and one unit, got gates ",
                           infer::describe(gates), " and h0 ", infer::describe(h0)));
    }
    check_operand(op, "gates", gates, Shape{times, batch, kinds * units}, dtype);
    check_operand(op, "h0", h0, state(), dtype);
  }
  Shape state() const { return {batch, units}; }
  Shape states() const { return {times, batch, units}; }
  Shape of_gates() const { return {times, batch, kinds * units}; }
  Shape of_weight() const { return {kinds * units, units}; }
  bool is_empty() const { return batch == 0; }

  Tensor make(const Shape& shape) const { return ebb::empty(shape, dtype, device); }
  /// What activated gates are kept in: rounded ones would lose the slopes near their bounds.
  DType activated() const { return is_half(dtype) ? DType::float32 : dtype; }
  Tensor make_activated() const {
    return ebb::empty(Shape{times, batch, 4 * units}, activated(), device);
  }
  void check(const char* name, const Tensor& tensor, const Shape& shape) const {
    check_operand(op, name, tensor, shape, dtype);
  }
};

/// Gates whose rows lie anywhere, with their elements side by side.
Tensor with_dense_units(const Tensor& gates) {
  return gates.strides()[2] == 1 ? gates : contiguous(gates);
}

/// An operand of the backward pass as kernels read it.
struct Operand {
  Tensor tensor;
  TensorView view;

  explicit Operand(const Tensor& given) {
    if (!given.defined()) return;
    tensor = contiguous(given);
    view = view_of(tensor);
  }
  const TensorView* get() const { return tensor.defined() ? &view : nullptr; }
};

}  // namespace

Tensors3 lstm_scan(const Tensor& gates, const Tensor& h0, const Tensor& c0, const Tensor& weight,
                   bool reverse) {
  const Scan layout("lstm_scan", gates, h0, 4);
  layout.check("c0", c0, layout.state());
  layout.check("weight", weight, layout.of_weight());
  const auto kernel = kernel_for("lstm_scan", kernels::lstm_scan_kernels, gates, layout.dtype);
  const Tensor out = layout.make(layout.states()), cells = layout.make(layout.states());
  const Tensor activated = layout.make_activated();
  if (!layout.is_empty()) {
    const Tensor rows = with_dense_units(gates);
    const Tensor h = contiguous(h0), c = contiguous(c0);
    const Tensor w = contiguous(weight);
    kernel(context_of(gates), view_of(rows), view_of(h), view_of(c), view_of(w), reverse,
           view_of(out), view_of(cells), view_of(activated));
  }
  return {out, cells, activated};
}

Tensors4 lstm_scan_backward(const Tensor& gates, const Tensor& h0, const Tensor& c0,
                            const Tensor& weight, const Tensor& out, const Tensor& cells,
                            const Tensor& activated, const Tensor& grad_out,
                            const Tensor& grad_cells, bool reverse) {
  constexpr const char* op = "lstm_scan_backward";
  const Scan layout(op, gates, h0, 4);
  if (grad_out.defined()) layout.check("grad_out", grad_out, layout.states());
  if (grad_cells.defined()) layout.check("grad_cells", grad_cells, layout.states());
  layout.check("c0", c0, layout.state());
  layout.check("weight", weight, layout.of_weight());
  layout.check("out", out, layout.states());
  layout.check("cells", cells, layout.states());
  check_operand(op, "activated", activated, layout.of_gates(), layout.activated());
  const auto kernel = kernel_for(op, kernels::lstm_scan_backward_kernels, gates, layout.dtype);
  if (layout.is_empty()) {
    return {zeros_like(gates, {}), zeros_like(h0, {}), zeros_like(c0, {}), zeros_like(weight, {})};
  }
  const Operand grad_o(grad_out), grad_c(grad_cells), h(h0), c(c0);
  const Operand w(weight), o(out), all_c(cells), gate(activated);
  const Tensor to_gates = layout.make(layout.of_gates()), to_h0 = layout.make(layout.state());
  const Tensor to_c0 = layout.make(layout.state()), to_weight = layout.make(layout.of_weight());
  const RecurrentSaved saved{grad_o.get(), grad_c.get(), h.get(),     c.get(),
                             w.get(),      o.get(),      all_c.get(), gate.get()};
  const RecurrentGrads grads{
      view_of(to_gates), view_of(to_h0), view_of(to_c0), view_of(to_weight), {}};
  kernel(context_of(gates), saved, reverse, grads);
  return {to_gates, to_h0, to_c0, to_weight};
}

Tensors2 gru_scan(const Tensor& gates, const Tensor& h0, const Tensor& weight, const Tensor& bias,
                  bool reverse) {
  const Scan layout("gru_scan", gates, h0, 3);
  layout.check("weight", weight, layout.of_weight());
  layout.check("bias", bias, Shape{3 * layout.units});
  const auto kernel = kernel_for("gru_scan", kernels::gru_scan_kernels, gates, layout.dtype);
  const Tensor out = layout.make(layout.states());
  const Tensor activated = layout.make_activated();
  if (!layout.is_empty()) {
    const Tensor rows = with_dense_units(gates);
    const Tensor h = contiguous(h0), w = contiguous(weight);
    const Tensor b = contiguous(bias);
    kernel(context_of(gates), view_of(rows), view_of(h), view_of(w), view_of(b), reverse,
           view_of(out), view_of(activated));
  }
  return {out, activated};
}

Tensors4 gru_scan_backward(const Tensor& gates, const Tensor& h0, const Tensor& weight,
                           const Tensor& bias, const Tensor& out, const Tensor& activated,
                           const Tensor& grad_out, bool reverse) {
  constexpr const char* op = "gru_scan_backward";
  const Scan layout(op, gates, h0, 3);
  layout.check("grad_out", grad_out, layout.states());
  layout.check("weight", weight, layout.of_weight());
  layout.check("bias", bias, Shape{3 * layout.units});
  layout.check("out", out, layout.states());
  check_operand(op, "activated", activated, Shape{layout.times, layout.batch, 4 * layout.units},
                layout.activated());
  const auto kernel = kernel_for(op, kernels::gru_scan_backward_kernels, gates, layout.dtype);
  if (layout.is_empty()) {
    return {zeros_like(gates, {}), zeros_like(h0, {}), zeros_like(weight, {}),
            zeros_like(bias, {})};
  }
  const Operand grad(grad_out), h(h0), w(weight), o(out);
  const Operand gate(activated);
  const Tensor to_gates = layout.make(layout.of_gates()), to_h0 = layout.make(layout.state());
  const Tensor to_weight = layout.make(layout.of_weight());
  const Tensor to_bias = layout.make(Shape{3 * layout.units});
  const RecurrentSaved saved{.grad_out = grad.get(),
                             .h0 = h.get(),
                             .weight = w.get(),
                             .out = o.get(),
                             .activated = gate.get()};
  const RecurrentGrads grads{
      view_of(to_gates), view_of(to_h0), {}, view_of(to_weight), view_of(to_bias)};
  kernel(context_of(gates), saved, reverse, grads);
  return {to_gates, to_h0, to_weight, to_bias};
}

Tensor rnn_scan(const Tensor& gates, const Tensor& h0, const Tensor& weight, bool is_relu,
                bool reverse) {
  const Scan layout("rnn_scan", gates, h0, 1);
  layout.check("weight", weight, layout.of_weight());
  const auto kernel = kernel_for("rnn_scan", kernels::rnn_scan_kernels, gates, layout.dtype);
  const Tensor out = layout.make(layout.states());
  if (!layout.is_empty()) {
    const Tensor rows = with_dense_units(gates);
    const Tensor h = contiguous(h0), w = contiguous(weight);
    kernel(context_of(gates), view_of(rows), view_of(h), view_of(w), is_relu, reverse,
           view_of(out));
  }
  return out;
}

Tensors3 rnn_scan_backward(const Tensor& gates, const Tensor& h0, const Tensor& weight,
                           const Tensor& out, const Tensor& grad_out, bool is_relu, bool reverse) {
  constexpr const char* op = "rnn_scan_backward";
  const Scan layout(op, gates, h0, 1);
  layout.check("grad_out", grad_out, layout.states());
  layout.check("weight", weight, layout.of_weight());
  layout.check("out", out, layout.states());
  const auto kernel = kernel_for(op, kernels::rnn_scan_backward_kernels, gates, layout.dtype);
  if (layout.is_empty()) return {zeros_like(gates, {}), zeros_like(h0, {}), zeros_like(weight, {})};
  const Operand grad(grad_out), h(h0), w(weight), o(out);
  const Tensor to_gates = layout.make(layout.of_gates()), to_h0 = layout.make(layout.state());
  const Tensor to_weight = layout.make(layout.of_weight());
  const RecurrentSaved saved{
      .grad_out = grad.get(), .h0 = h.get(), .weight = w.get(), .out = o.get()};
  const RecurrentGrads grads{view_of(to_gates), view_of(to_h0), {}, view_of(to_weight), {}};
  kernel(context_of(gates), saved, is_relu, reverse, grads);
  return {to_gates, to_h0, to_weight};
}

}  // namespace ebb::ops::impl
