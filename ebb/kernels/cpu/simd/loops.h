// ebb/kernels/cpu/simd/loops.h -- the one driver of element-wise kernels: run_rows().
//
// An element-wise kernel is a RowFunction over contiguous memory, compiled once per op and dtype,
// plus a few lines that call it at once when all operands are dense. Everything else (broadcasting,
// odd strides, splitting over threads) happens in run_rows(), which is compiled once for all.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "ebb/core/base/half.h"
#include "ebb/kernels/kernel_table.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::cpu {

/// What computes one row: see RowKernel in kernel_table.h.
using RowFunction = RowKernel;

inline constexpr int kMaxInputs = 3;
/// Up to so many elements, a kernel runs on the calling thread without asking the pool.
inline constexpr int64_t kGrain = kRowLimit;

/// What an operand that is one number for the whole row is in memory: of half types it is a number
/// of float32, which is what they are computed in.
template <typename T>
using NumberOf =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

/// Bits of `splat` that a row function accepts, for functions of one input, of more, and of those
/// that move elements as they are: NumberOf is T for these.
inline constexpr unsigned kNoSplat = 0;
inline constexpr unsigned kAnySplat = 7;
inline constexpr unsigned kSameSplat = 15;

/// Runs `row` over operands of any strides that broadcast to out's sizes.
void run_rows(RowFunction row, unsigned splat_allowed, std::span<const TensorView* const> inputs,
              const TensorView& out);

inline bool is_dense_like(const TensorView& view, const TensorView& out) {
  return view.contiguous && view.numel == out.numel;
}

/// The kernel made of one row function with one input.
template <RowFunction row>
void unary_kernel(const Context&, const TensorView& input, const TensorView& out) {
  const bool is_dense = out.contiguous && is_dense_like(input, out);
  if (is_dense && out.numel <= kGrain) [[likely]] {
    const void* in[] = {input.data};
    return row(in, out.data, out.numel, 0);
  }
  const TensorView* inputs[] = {&input};
  run_rows(row, kNoSplat, inputs, out);
}

/// The kernel made of one row function with two inputs.
template <RowFunction row>
void binary_kernel(const Context&, const TensorView& input, const TensorView& other,
                   const TensorView& out) {
  const bool fits = out.contiguous && out.numel <= kGrain && is_dense_like(input, out);
  const void* in[] = {input.data, other.data};
  if (fits && is_dense_like(other, out) && input.dtype == other.dtype) [[likely]]
    return row(in, out.data, out.numel, 0);
  if (fits && other.numel == 1 && !is_half(other.dtype)) return row(in, out.data, out.numel, 2);
  const TensorView* inputs[] = {&input, &other};
  run_rows(row, kAnySplat, inputs, out);
}

/// The kernel made of one row function with three inputs.
template <RowFunction row>
void ternary_kernel(const Context&, const TensorView& first, const TensorView& second,
                    const TensorView& third, const TensorView& out) {
  const bool is_dense = out.contiguous && is_dense_like(first, out) && is_dense_like(second, out) &&
                        is_dense_like(third, out) && first.dtype == second.dtype &&
                        first.dtype == third.dtype;
  if (is_dense && out.numel <= kGrain) {
    const void* in[] = {first.data, second.data, third.data};
    return row(in, out.data, out.numel, 0);
  }
  const TensorView* inputs[] = {&first, &second, &third};
  run_rows(row, kAnySplat, inputs, out);
}

/// Enters a row function of one input, and the kernel made of it, for `dtype`.
template <RowFunction row>
void set_rows(KernelTable<UnaryKernel>& table, DType dtype) {
  table.set_cpu(dtype, &unary_kernel<row>);
  table.set_row(dtype, row);
}
/// The same for two inputs.
template <RowFunction row>
void set_rows(KernelTable<BinaryKernel>& table, DType dtype) {
  table.set_cpu(dtype, &binary_kernel<row>);
  table.set_row(dtype, row);
}

/// The same for three inputs.
template <RowFunction row>
void set_rows(KernelTable<TernaryKernel>& table, DType dtype) {
  table.set_cpu(dtype, &ternary_kernel<row>);
}

}  // namespace ebb::kernels::cpu
