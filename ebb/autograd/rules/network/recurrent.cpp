// ebb/autograd/rules/network/recurrent.cpp -- recurrent layers: composites, and second derivatives
// of scans.
//
// A layer is one product with the input over all times and a scan over the times. The scans once
// more in plain ops, step by step, serve their second derivatives (recompute.h).
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/gru_layer.h"
#include "ebb/autograd/ops/gru_scan.h"
#include "ebb/autograd/ops/linear.h"
#include "ebb/autograd/ops/lstm_layer.h"
#include "ebb/autograd/ops/lstm_scan.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/relu.h"
#include "ebb/autograd/ops/rnn_layer.h"
#include "ebb/autograd/ops/rnn_scan.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/t.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/network/recompute.h"
#include "ebb/autograd/rules/network/rnn.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::describe;

void check_shape(const char* op, const char* name, const Tensor& tensor, const Shape& shape) {
  ops::infer::check_defined(op, name, tensor);
  if (equal(tensor.sizes(), shape)) return;
  throw ShapeError(str(op, ": ", name, " needs shape ", shape, ", got ", describe(tensor)));
}

/// Checks all operands of a layer but c0. `kinds`: gates per unit.
void check_layer(const char* op, int64_t kinds, const Tensor& input, const Tensor& h0,
                 const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih,
                 const Tensor& bias_hh) {
  ops::infer::check_ndim(op, "input", input, 3, 3);
  ops::infer::check_ndim(op, "h0", h0, 2, 2);
  if (input.size(0) == 0) {
    throw ShapeError(str(op, ": input needs at least one time, got ", describe(input)));
  }
  const int64_t units = h0.size(1);
  if (units == 0) throw ShapeError(str(op, ": h0 needs at least one unit, got ", describe(h0)));
  check_shape(op, "h0", h0, Shape{input.size(1), units});
  check_shape(op, "weight_ih", weight_ih, Shape{kinds * units, input.size(2)});
  check_shape(op, "weight_hh", weight_hh, Shape{kinds * units, units});
  if (bias_ih.defined()) check_shape(op, "bias_ih", bias_ih, Shape{kinds * units});
  if (bias_hh.defined()) check_shape(op, "bias_hh", bias_hh, Shape{kinds * units});
  const auto same = [&](const char* name, const Tensor& tensor) {
    if (tensor.defined()) ops::infer::check_same_dtype(op, "input", input, name, tensor);
  };
  same("h0", h0);
  same("weight_ih", weight_ih);
  same("weight_hh", weight_hh);
  same("bias_ih", bias_ih);
  same("bias_hh", bias_hh);
}

/// Both biases as one.
Tensor sum_of(const Tensor& lhs, const Tensor& rhs) {
  if (!lhs.defined() || !rhs.defined()) return lhs.defined() ? lhs : rhs;
  return add(lhs, rhs);
}

/// The state after the last step.
Tensor last_of(const Tensor& states, bool reverse) {
  return select(states, 0, reverse ? 0 : states.size(0) - 1);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm_layer(const Tensor& input, const Tensor& h0,
                                              const Tensor& c0, const Tensor& weight_ih,
                                              const Tensor& weight_hh, const Tensor& bias_ih,
                                              const Tensor& bias_hh, bool reverse) {
  const autograd::CompositeCall call("lstm_layer", __builtin_return_address(0));
  check_layer("lstm_layer", 4, input, h0, weight_ih, weight_hh, bias_ih, bias_hh);
  check_shape("lstm_layer", "c0", c0, h0.shape());
  ops::infer::check_same_dtype("lstm_layer", "input", input, "c0", c0);
  const Tensor gates = linear(input, weight_ih, sum_of(bias_ih, bias_hh));
  const auto [out, cells, activated] = lstm_scan(gates, h0, c0, weight_hh, reverse);
  return {out, last_of(out, reverse), last_of(cells, reverse)};
}

std::tuple<Tensor, Tensor> gru_layer(const Tensor& input, const Tensor& h0, const Tensor& weight_ih,
                                     const Tensor& weight_hh, const Tensor& bias_ih,
                                     const Tensor& bias_hh, bool reverse) {
  const autograd::CompositeCall call("gru_layer", __builtin_return_address(0));
  check_layer("gru_layer", 3, input, h0, weight_ih, weight_hh, bias_ih, bias_hh);
  const Tensor gates = linear(input, weight_ih, bias_ih);
  const Tensor bias =
      bias_hh.defined() ? bias_hh : zeros(Shape{weight_hh.size(0)}, input.dtype(), input.device());
  const auto [out, activated] = gru_scan(gates, h0, weight_hh, bias, reverse);
  return {out, last_of(out, reverse)};
}

std::tuple<Tensor, Tensor> rnn_layer(const Tensor& input, const Tensor& h0, const Tensor& weight_ih,
                                     const Tensor& weight_hh, const Tensor& bias_ih,
                                     const Tensor& bias_hh, std::string_view nonlinearity,
                                     bool reverse) {
  const autograd::CompositeCall call("rnn_layer", __builtin_return_address(0));
  if (nonlinearity != "tanh" && nonlinearity != "relu") {
    throw ValueError(str("rnn_layer: nonlinearity needs tanh or relu, got ", nonlinearity));
  }
  check_layer("rnn_layer", 1, input, h0, weight_ih, weight_hh, bias_ih, bias_hh);
  const Tensor gates = linear(input, weight_ih, sum_of(bias_ih, bias_hh));
  const Tensor out = rnn_scan(gates, h0, weight_hh, nonlinearity == "relu", reverse);
  return {out, last_of(out, reverse)};
}

}  // namespace ebb

namespace ebb::autograd::rules {
namespace {

Tensor logistic(const Tensor& x) { return add(mul(tanh(mul(x, 0.5)), 0.5), 0.5); }

/// The gate of kind `kind`: columns [kind * units, (kind + 1) * units).
Tensor gate_of(const Tensor& gates, int64_t kind, int64_t units) {
  return narrow(gates, -1, kind * units, units);
}

/// Calls step(time) in the order of the scan and joins what it returns by time.
template <class Step>
Tensor scan_over(const Tensor& gates, bool reverse, const Step& step) {
  const int64_t times = gates.size(0);
  std::vector<Tensor> states(static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) {
    const int64_t time = reverse ? times - 1 - i : i;
    states[static_cast<size_t>(time)] = unsqueeze(step(select(gates, 0, time), time), 0);
  }
  return cat(states, 0);
}

std::vector<Tensor> lstm_steps(std::span<const Tensor> in, bool reverse) {
  const Tensor &gates = in[0], &weight = in[3];
  Tensor h = in[1], c = in[2];
  const int64_t units = h.size(1), times = gates.size(0);
  std::vector<Tensor> cells(static_cast<size_t>(times));
  const Tensor out = scan_over(gates, reverse, [&](const Tensor& added, int64_t time) {
    const Tensor all = add(added, matmul(h, t(weight)));
    const Tensor kept = mul(logistic(gate_of(all, 1, units)), c);
    c = add(kept, mul(logistic(gate_of(all, 0, units)), tanh(gate_of(all, 2, units))));
    h = mul(logistic(gate_of(all, 3, units)), tanh(c));
    cells[static_cast<size_t>(time)] = unsqueeze(c, 0);
    return h;
  });
  return {out, cat(cells, 0)};
}

std::vector<Tensor> gru_steps(std::span<const Tensor> in, bool reverse) {
  const Tensor &gates = in[0], &weight = in[2], &bias = in[3];
  Tensor h = in[1];
  const int64_t units = h.size(1);
  return {scan_over(gates, reverse, [&](const Tensor& added, int64_t) {
    const Tensor product = add(matmul(h, t(weight)), bias);
    const auto sum_of_gate = [&](int64_t kind) {
      return add(gate_of(added, kind, units), gate_of(product, kind, units));
    };
    const Tensor reset = logistic(sum_of_gate(0)), update = logistic(sum_of_gate(1));
    const Tensor fresh =
        tanh(add(gate_of(added, 2, units), mul(reset, gate_of(product, 2, units))));
    h = add(fresh, mul(update, sub(h, fresh)));
    return h;
  })};
}

std::vector<Tensor> rnn_steps(std::span<const Tensor> in, bool is_relu, bool reverse) {
  const Tensor &gates = in[0], &weight = in[2];
  Tensor h = in[1];
  return {scan_over(gates, reverse, [&](const Tensor& added, int64_t) {
    const Tensor sum = add(added, matmul(h, t(weight)));
    h = is_relu ? relu(sum) : tanh(sum);
    return h;
  })};
}

/// `operands`: the `count` inputs of the scan, then the gradients of its results.
std::vector<Tensor> second_grads(const Composite& steps, std::span<const Tensor> grads,
                                 std::span<const Tensor> operands, size_t count) {
  return recomputed_second_grads(steps, operands.first(count), operands.subspan(count), grads);
}

std::vector<Tensor> grad_tangents(const Composite& steps, std::span<const Tensor> tangents,
                                  std::span<const Tensor> operands, size_t count) {
  return recomputed_grad_tangents(steps, operands.first(count), operands.subspan(count), tangents,
                                  count);
}

}  // namespace

std::vector<Tensor> lstm_scan_second_grads(std::span<const Tensor> grads,
                                           const std::vector<Tensor>& operands, bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return lstm_steps(in, reverse); };
  return second_grads(steps, grads, operands, 4);
}

std::vector<Tensor> gru_scan_second_grads(std::span<const Tensor> grads,
                                          const std::vector<Tensor>& operands, bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return gru_steps(in, reverse); };
  return second_grads(steps, grads, operands, 4);
}

std::vector<Tensor> rnn_scan_second_grads(std::span<const Tensor> grads,
                                          const std::vector<Tensor>& operands, bool is_relu,
                                          bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return rnn_steps(in, is_relu, reverse); };
  return second_grads(steps, grads, operands, 3);
}

std::vector<Tensor> lstm_scan_tangents(const std::vector<Tensor>& tangents,
                                       const std::vector<Tensor>& operands, bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return lstm_steps(in, reverse); };
  return recomputed_tangents(steps, operands, tangents);
}

std::vector<Tensor> gru_scan_tangents(const std::vector<Tensor>& tangents,
                                      const std::vector<Tensor>& operands, bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return gru_steps(in, reverse); };
  return recomputed_tangents(steps, operands, tangents);
}

std::vector<Tensor> rnn_scan_tangents(const std::vector<Tensor>& tangents,
                                      const std::vector<Tensor>& operands, bool is_relu,
                                      bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return rnn_steps(in, is_relu, reverse); };
  return recomputed_tangents(steps, operands, tangents);
}

std::vector<Tensor> lstm_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                            const std::vector<Tensor>& operands, bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return lstm_steps(in, reverse); };
  return grad_tangents(steps, tangents, operands, 4);
}

std::vector<Tensor> gru_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                           const std::vector<Tensor>& operands, bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return gru_steps(in, reverse); };
  return grad_tangents(steps, tangents, operands, 4);
}

std::vector<Tensor> rnn_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                           const std::vector<Tensor>& operands, bool is_relu,
                                           bool reverse) {
  const auto steps = [=](std::span<const Tensor> in) { return rnn_steps(in, is_relu, reverse); };
  return grad_tangents(steps, tangents, operands, 3);
}

}  // namespace ebb::autograd::rules
