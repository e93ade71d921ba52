// ebb/devices/common/network/recurrent.cpp -- recurrent layers: at each time a product with the
// weight, and a launch of kernels/network/recurrent.k; the gradient of the weight is one product at
// the end.
//
// Half types are rounded where a tensor holds them, which the state and the gradients of gates are;
// the CPU's kernels carry both on unrounded.
#include "ebb/devices/common/network/recurrent.h"

#include <algorithm>

#include "ebb/core/base/str.h"
#include "ebb/devices/common/base/copy.h"
#include "ebb/devices/common/base/elementwise.h"
#include "ebb/devices/common/gemm/gemm.h"
#include "ebb/devices/common/reduce/reduce.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::RecurrentGrads;
using kernels::RecurrentSaved;
using kernels::TensorView;

namespace {

enum class Cell : uint8_t { lstm, lstm_backward, gru, gru_backward, rnn, rnn_backward };

constexpr DType wide_of(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

/// The sizes of a layer, and the order of its times.
struct Layer {
  const char* op;
  Context context;
  DType dtype;
  int64_t times, batch, units, kinds;
  bool reverse;

  Layer(const char* op, const Context& context, const TensorView& out, int64_t kinds, bool reverse)
      : op(op),
        context(context),
        dtype(out.dtype),
        times(out.sizes[0]),
        batch(out.sizes[1]),
        units(out.sizes[2]),
        kinds(kinds),
        reverse(reverse) {}

  int64_t time(int64_t step) const { return reverse ? times - 1 - step : step; }
  int64_t state() const { return batch * units; }  // elements
  int64_t gates() const { return kinds * batch * units; }
  size_t wide_bytes(int64_t count) const {
    return static_cast<size_t>(count) * item_size(wide_of(dtype));
  }
};

/// The address `count` elements into a dense tensor.
void* at(void* data, DType dtype, int64_t count) {
  return static_cast<char*>(data) + count * static_cast<int64_t>(item_size(dtype));
}
void* at_step(const Layer& layer, const TensorView& view, int64_t step, int64_t size) {
  return at(view.data, view.dtype, layer.time(step) * size);
}
/// The state (or cell) before a step.
void* before(const Layer& layer, const TensorView& first, const TensorView& all, int64_t step) {
  return step == 0 ? first.data : at_step(layer, all, step - 1, layer.state());
}

/// Copies dense memory to another type.
void cast_dense(const Layer& layer, void* from, DType from_type, void* to, DType to_type,
                int64_t count) {
  const int64_t one = 1;
  run_cast(layer.context, {from, &count, &one, count, 1, from_type},
           {to, &count, &one, count, 1, to_type});
}
void fill_zeros(const Layer& layer, void* to, int64_t count) {
  const int64_t one = 1;
  run_fill(layer.context, Scalar(0), {to, &count, &one, count, 1, wide_of(layer.dtype)});
}

/// The weight [n, H] turned to [H, n], in the type of sums: rows of products follow each other.
class TurnedWeight {
 public:
  TurnedWeight(const Layer& layer, const TensorView& weight)
      : memory_(layer.context, layer.wide_bytes(weight.numel)) {
    const int64_t sizes[] = {weight.sizes[1], weight.sizes[0]};
    const int64_t from[] = {1, weight.sizes[1]}, to[] = {weight.sizes[0], 1};
    run_cast(layer.context, {weight.data, sizes, from, weight.numel, 2, weight.dtype, false},
             {memory_.data(), sizes, to, weight.numel, 2, wide_of(layer.dtype)});
  }
  void* data() const { return memory_.data(); }

 private:
  Scratch memory_;
};

/// to [B, n] = states [B, H] weight^T, or what gates [B, n] give back to the state: [B, H].
void multiply(const Layer& layer, const Factor& left, const Factor& right, int64_t k, int64_t n,
              void* to, DType to_type, bool accumulate) {
  const Gemm gemm{.op = layer.op,
                  .m = layer.batch,
                  .n = n,
                  .k = k,
                  .a = left,
                  .b = right,
                  .out = to,
                  .out_dtype = to_type,
                  .out_row = n,
                  .accumulate = accumulate};
  run_gemm(gemm, layer.context);
}

void multiply_state(const Layer& layer, const void* state, const TurnedWeight& weight, void* to) {
  const int64_t n = layer.kinds * layer.units;
  multiply(layer, {state, layer.dtype, layer.units, 1}, {weight.data(), wide_of(layer.dtype), n, 1},
           layer.units, n, to, wide_of(layer.dtype), false);
}

void multiply_gates(const Layer& layer, const void* gates, DType gates_type,
                    const TensorView& weight, void* to, DType to_type, bool accumulate) {
  const int64_t n = layer.kinds * layer.units;
  multiply(layer, {gates, gates_type, n, 1}, {weight.data, weight.dtype, layer.units, 1}, n,
           layer.units, to, to_type, accumulate);
}

/// grad_weight [n, H] = sum over all times of grads^T times the state before.
void weight_gradient(const Layer& layer, const TensorView& grads, const RecurrentSaved& saved,
                     const TensorView& grad_weight) {
  const int64_t n = layer.kinds * layer.units;
  const int64_t later = (layer.times - 1) * layer.batch;
  const auto add = [&](void* rows, const void* states, int64_t count, bool accumulate) {
    const Gemm gemm{.op = layer.op,
                    .m = n,
                    .n = layer.units,
                    .k = count,
                    .a = {rows, grads.dtype, 1, n},
                    .b = {states, layer.dtype, layer.units, 1},
                    .out = grad_weight.data,
                    .out_dtype = grad_weight.dtype,
                    .out_row = layer.units,
                    .accumulate = accumulate};
    run_gemm(gemm, layer.context);
  };
  if (later > 0) {  // all steps but the first, and the states before them, as they lie in memory
    void* const rows = at(grads.data, grads.dtype, layer.reverse ? 0 : layer.gates());
    add(rows, at(saved.out->data, layer.dtype, layer.reverse ? layer.state() : 0), later, false);
  }
  add(at_step(layer, grads, 0, layer.gates()), saved.h0->data, layer.batch, later > 0);
}

/// What tells kernels of cells apart.
struct Variant {
  Cell cell;
  bool has_grad_out = false, has_grad_cells = false, is_relu = false;
};

Recipe recipe_of(const Layer& layer, const Variant& variant, bool as_int32, int group_size) {
  const std::string entry = str("ebb_", layer.op);
  std::string source = compute_defines(compute_of(layer.dtype), group_size);
  source += define("NAME", entry) + define("INDEX", as_int32 ? "i32" : "i64");
  source += define("S", text_of(layer.dtype));
  source += define("CELL", str(static_cast<int>(variant.cell)));
  source += define("HAS_GRAD_OUT", variant.has_grad_out ? "1" : "0");
  source += define("HAS_GRAD_CELLS", variant.has_grad_cells ? "1" : "0");
  source += define("RELU", variant.is_relu ? "1" : "0");
  source += elements_k;
  source += recurrent_k;
  return {entry, source};
}

/// Queues a cell. `addresses` come first, then batch, units, and `gates_row` if it is not 0.
void launch(const Layer& layer, const Variant& variant,
            std::initializer_list<const void*> addresses, int64_t gates_row = 0) {
  const int device = layer.context.device.index;
  const Traits& traits = driver().traits(device);
  const int64_t items = layer.state();
  const int64_t reach = std::max(4 * items, layer.batch * gates_row);
  const bool as_int32 = reach < int64_t{1} << 30;
  const uint32_t group_size = traits.is_cpu ? 64 : traits.group_size;
  SpecKey key(Family::recurrent, device);
  key.put(static_cast<uint64_t>(variant.cell), 4).put(static_cast<uint64_t>(layer.dtype), 4);
  key.put(variant.has_grad_out, 1).put(variant.has_grad_cells, 1).put(variant.is_relu, 1);
  key.put(as_int32, 1);
  Kernel& kernel = kernel_of(key, layer.op, device, [&] {
    return recipe_of(layer, variant, as_int32, static_cast<int>(group_size));
  });
  char numbers[3][sizeof(int64_t)];
  Argument arguments[12];
  size_t used = 0;
  for (const void* address : addresses) arguments[used++] = {address, 0};
  const int64_t values[] = {layer.batch, layer.units, gates_row};
  for (size_t one = 0; one < (gates_row == 0 ? 2u : 3u); ++one) {
    arguments[used++] = {numbers[one], pack_integers({&values[one], 1}, as_int32, numbers[one])};
  }
  driver().launch(layer.context, layer.op, kernel,
                  {(items + group_size - 1) / group_size, group_size}, {arguments, used});
}

void* gates_at(const Layer& layer, const TensorView& gates, int64_t step) {
  return at(gates.data, gates.dtype, layer.time(step) * gates.strides[0]);
}
int64_t row_of(const TensorView& gates) {
  return gates.sizes[1] == 1 ? gates.sizes[2] : gates.strides[1];
}

/// An operand that may be missing; then `other` stands in, which the kernel does not read.
void* at_or(const Layer& layer, const TensorView* view, int64_t step, void* other) {
  return view == nullptr ? other : at_step(layer, *view, step, layer.state());
}

}  // namespace

void run_lstm_scan(const Context& context, const TensorView& gates, const TensorView& h0,
                   const TensorView& c0, const TensorView& weight, bool reverse,
                   const TensorView& out, const TensorView& cells, const TensorView& activated) {
  const Layer layer("lstm_scan", context, out, 4, reverse);
  const TurnedWeight turned(layer, weight);
  const Scratch product(context, layer.wide_bytes(layer.gates()));
  for (int64_t step = 0; step < layer.times; ++step) {
    multiply_state(layer, before(layer, h0, out, step), turned, product.data());
    launch(layer, {Cell::lstm},
           {at_step(layer, out, step, layer.state()), at_step(layer, cells, step, layer.state()),
            at_step(layer, activated, step, 4 * layer.state()), gates_at(layer, gates, step),
            product.data(), before(layer, c0, cells, step)},
           row_of(gates));
  }
}

void run_lstm_scan_backward(const Context& context, const RecurrentSaved& saved, bool reverse,
                            const RecurrentGrads& grads) {
  const Layer layer("lstm_scan_backward", context, *saved.out, 4, reverse);
  const Scratch grad_state(context, layer.wide_bytes(layer.state()));
  const Scratch grad_cell(context, layer.wide_bytes(layer.state()));
  fill_zeros(layer, grad_state.data(), layer.state());
  fill_zeros(layer, grad_cell.data(), layer.state());
  const Variant variant{Cell::lstm_backward, saved.grad_out != nullptr,
                        saved.grad_cells != nullptr};
  for (int64_t step = layer.times - 1; step >= 0; --step) {
    void* const to = at_step(layer, grads.gates, step, layer.gates());
    launch(layer, variant,
           {to, grad_cell.data(), at_step(layer, *saved.activated, step, 4 * layer.state()),
            at_step(layer, *saved.cells, step, layer.state()),
            before(layer, *saved.c0, *saved.cells, step), grad_state.data(),
            at_or(layer, saved.grad_out, step, to), at_or(layer, saved.grad_cells, step, to)});
    const bool is_last = step == 0;
    multiply_gates(layer, to, layer.dtype, *saved.weight,
                   is_last ? grads.h0.data : grad_state.data(),
                   is_last ? layer.dtype : wide_of(layer.dtype), false);
  }
  cast_dense(layer, grad_cell.data(), wide_of(layer.dtype), grads.c0.data, layer.dtype,
             layer.state());
  weight_gradient(layer, grads.gates, saved, grads.weight);
}

void run_gru_scan(const Context& context, const TensorView& gates, const TensorView& h0,
                  const TensorView& weight, const TensorView& bias, bool reverse,
                  const TensorView& out, const TensorView& activated) {
  const Layer layer("gru_scan", context, out, 3, reverse);
  const TurnedWeight turned(layer, weight);
  const Scratch product(context, layer.wide_bytes(layer.gates()));
  for (int64_t step = 0; step < layer.times; ++step) {
    void* const state = before(layer, h0, out, step);
    multiply_state(layer, state, turned, product.data());
    launch(layer, {Cell::gru},
           {at_step(layer, out, step, layer.state()),
            at_step(layer, activated, step, 4 * layer.state()), gates_at(layer, gates, step),
            product.data(), bias.data, state},
           row_of(gates));
  }
}

void run_gru_scan_backward(const Context& context, const RecurrentSaved& saved, bool reverse,
                           const RecurrentGrads& grads) {
  const Layer layer("gru_scan_backward", context, *saved.out, 3, reverse);
  const DType wide = wide_of(layer.dtype);
  const int64_t row_size = 3 * layer.units, rows = layer.times * layer.batch;
  const Scratch grad_state(context, layer.wide_bytes(layer.state()));
  const Scratch memory(context, layer.wide_bytes(rows * row_size));
  const int64_t sizes[] = {rows, row_size}, strides[] = {row_size, 1};
  const TensorView products{memory.data(), sizes, strides, rows * row_size, 2, wide};
  fill_zeros(layer, grad_state.data(), layer.state());
  for (int64_t step = layer.times - 1; step >= 0; --step) {
    void* const to = at_step(layer, grads.gates, step, layer.gates());
    void* const product = at_step(layer, products, step, layer.gates());
    launch(
        layer, {Cell::gru_backward, saved.grad_out != nullptr},
        {to, product, grad_state.data(), at_step(layer, *saved.activated, step, 4 * layer.state()),
         before(layer, *saved.h0, *saved.out, step), at_or(layer, saved.grad_out, step, to)});
    multiply_gates(layer, product, wide, *saved.weight, grad_state.data(), wide, true);
  }
  cast_dense(layer, grad_state.data(), wide, grads.h0.data, layer.dtype, layer.state());
  weight_gradient(layer, products, saved, grads.weight);
  const int64_t sum_sizes[] = {1, row_size};
  run_sum(context, products, {grads.bias.data, sum_sizes, strides, row_size, 2, layer.dtype});
}

void run_rnn_scan(const Context& context, const TensorView& gates, const TensorView& h0,
                  const TensorView& weight, bool is_relu, bool reverse, const TensorView& out) {
  const Layer layer("rnn_scan", context, out, 1, reverse);
  const TurnedWeight turned(layer, weight);
  const Scratch product(context, layer.wide_bytes(layer.gates()));
  for (int64_t step = 0; step < layer.times; ++step) {
    multiply_state(layer, before(layer, h0, out, step), turned, product.data());
    launch(layer, {.cell = Cell::rnn, .is_relu = is_relu},
           {at_step(layer, out, step, layer.state()), gates_at(layer, gates, step), product.data()},
           row_of(gates));
  }
}

void run_rnn_scan_backward(const Context& context, const RecurrentSaved& saved, bool is_relu,
                           bool reverse, const RecurrentGrads& grads) {
  const Layer layer("rnn_scan_backward", context, *saved.out, 1, reverse);
  const Scratch grad_state(context, layer.wide_bytes(layer.state()));
  fill_zeros(layer, grad_state.data(), layer.state());
  const Variant variant{
      .cell = Cell::rnn_backward, .has_grad_out = saved.grad_out != nullptr, .is_relu = is_relu};
  for (int64_t step = layer.times - 1; step >= 0; --step) {
    void* const to = at_step(layer, grads.gates, step, layer.gates());
    launch(layer, variant,
           {to, at_step(layer, *saved.out, step, layer.state()), grad_state.data(),
            at_or(layer, saved.grad_out, step, to)});
    const bool is_last = step == 0;
    multiply_gates(layer, to, layer.dtype, *saved.weight,
                   is_last ? grads.h0.data : grad_state.data(),
                   is_last ? layer.dtype : wide_of(layer.dtype), false);
  }
  weight_gradient(layer, grads.gates, saved, grads.weight);
}

}  // namespace ebb::devices
