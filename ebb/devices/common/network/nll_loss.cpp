// ebb/devices/common/network/nll_loss.cpp -- the launches of the negative log likelihood.
#include <algorithm>
#include <cstdlib>

#include "ebb/devices/common/base/call.h"
#include "ebb/devices/common/network/loss.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::Reduction;
using kernels::TensorView;

namespace {

constexpr int64_t kChunk = 64;  // rows that an item adds up
constexpr int64_t kMostShort = int64_t{1} << 30;

enum class Kind { rows, total, gradient };

int64_t stride_of(const TensorView& view, int dim) {
  return view.ndim <= dim ? 0 : view.strides[dim];
}

/// Whether places in the matrix, and of the rows beside it, fit in 32 bits.
bool is_short(const TensorView& matrix, std::initializer_list<const TensorView*> lines) {
  int64_t reach =
      matrix.sizes[0] * std::abs(matrix.strides[0]) + matrix.sizes[1] * std::abs(matrix.strides[1]);
  for (const TensorView* line : lines) {
    reach = std::max(reach, matrix.sizes[0] * std::abs(stride_of(*line, 0)));
  }
  return reach < kMostShort && matrix.numel < kMostShort;
}

/// C is float64: total weights are.
KernelCall begin(Kind kind, const char* op, const Context& context, DType dtype, bool as_int32,
                 Reduction reduction, const TensorView* weight) {
  KernelCall call(Family::nll_loss, op, context, Compute::f64, as_int32);
  call.set("KIND", static_cast<int64_t>(kind), 2).set("T", dtype);
  call.set("REDUCTION", static_cast<int64_t>(reduction), 2).set("CHUNK", kChunk, 8);
  call.set("PER_ROW", kind == Kind::rows && reduction == Reduction::none, 1);
  call.set("HAS_WEIGHT", weight != nullptr, 1);
  return call;
}

void add_weight(KernelCall& call, const TensorView* weight) {
  if (weight != nullptr) call.add(*weight).add_index(stride_of(*weight, 0));
}

std::span<const char> bytes_of(const int64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

}  // namespace

void run_nll_loss(const Context& context, const TensorView& input, const TensorView& target,
                  const TensorView* weight, int64_t ignore_index, Reduction reduction,
                  const TensorView& out, const TensorView& total_weight) {
  const char* const op = "nll_loss";
  const int64_t rows = input.sizes[0];
  const int64_t items = (rows + kChunk - 1) / kChunk;
  const bool as_int32 = is_short(input, {&target, &out});
  KernelCall first = begin(Kind::rows, op, context, input.dtype, as_int32, reduction, weight);
  KernelCall second = begin(Kind::total, op, context, input.dtype, as_int32, reduction, nullptr);
  const Scratch parts(context, static_cast<size_t>(2 * items + 1) * sizeof(double));
  if (items > 0) {
    first.add(out).add(parts.data()).add(input).add(target);
    first.add_index(rows).add_index(input.sizes[1]).add_index(items);
    first.add_bytes(bytes_of(ignore_index));
    first.add_index(stride_of(out, 0)).add_index(stride_of(target, 0));
    first.add_index(input.strides[0]).add_index(input.strides[1]);
    add_weight(first, weight);
    first.run({nll_loss_k}, items, group_size_for(first.traits(), items));
  }
  second.add(out).add(total_weight).add(parts.data()).add_index(items);
  const uint32_t group_size = second.traits().is_cpu ? 1 : second.traits().group_size;
  second.run({nll_loss_k}, group_size, group_size);
}

void run_nll_loss_backward(const Context& context, const TensorView& grad_out,
                           const TensorView& target, const TensorView* weight, int64_t ignore_index,
                           Reduction reduction, const TensorView& total_weight,
                           const TensorView& grad_input) {
  if (grad_input.numel == 0) return;
  KernelCall call = begin(Kind::gradient, "nll_loss_backward", context, grad_input.dtype,
                          is_short(grad_input, {&target, &grad_out}), reduction, weight);
  call.add(grad_input).add(grad_out).add(target).add(total_weight);
  call.add_index(grad_input.numel).add_index(grad_input.sizes[1]);
  call.add_bytes(bytes_of(ignore_index));
  call.add_index(stride_of(grad_out, 0)).add_index(stride_of(target, 0));
  call.add_index(grad_input.strides[0]).add_index(grad_input.strides[1]);
  add_weight(call, weight);
  call.run({nll_loss_k}, grad_input.numel, call.traits().group_size);
}

}  // namespace ebb::devices
