// ebb/devices/common/reduce/reduce.h -- sums, products, extrema and norms over dims:
// kernels/reduce/reduce.k.
//
// run_reduction() cuts rows into parts where there are too few of them to fill the device, and
// decides how many items share a row.
#pragma once

#include <span>

#include "ebb/devices/launch/dtype_text.h"
#include "ebb/devices/launch/kernel_cache.h"
#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// How elements are combined. `x` and `y` are what the texts call values of the computed type; in
/// `map`, x is an element of the input, y that of `other` and given the row's number. `count` is
/// how many elements a row has, `parameter` and `divisor` are the numbers below.
struct Reduction {
  uint32_t number = 0;  // tells reductions apart
  const char* op = "";
  const char* init = "0";
  const char* map = "x";
  const char* combine = "x + y";
  const char* finish = "x";
  Compute compute = Compute::f32;
  double parameter = 0;
  double divisor = 1;
  const kernels::TensorView* other = nullptr;  // of the sizes, strides and dtype of the input
  const kernels::TensorView* given = nullptr;  // a number per row, stored as computed; out's sizes
  bool finds_mean = false;  // `given` is the mean, which the one item of a row finds: on CPUs
};

/// Where the numbers begin that other families give their reductions.
inline constexpr uint32_t kFirstLossReduction = 16;
inline constexpr uint32_t kFirstNormReduction = 24;
inline constexpr uint32_t kFirstReductionRow = 64;

/// Queues the reduction of `input` over each dim where `out`, of the same ndim, has size 1.
void run_reduction(const Reduction& work, const kernels::Context& context,
                   const kernels::TensorView& input, const kernels::TensorView& out);

/// For which dtypes a row is offered: all but complex ones, or floating ones.
enum class DTypesOfRow : uint8_t { ordered, floating };

/// A row of kind reduce of the op table. Ops ask for the operand's dtype before they widen it.
struct ReductionRow {
  const char* name;
  uint32_t signature;
  DTypesOfRow dtypes;
  const char *init, *map, *combine, *finish;  // of Reduction; LEAST, GREATEST: ends of the dtype
  kernels::ReduceKernel function;
};

/// All rows, by name. Generated.
extern const ReductionRow kReductionRows[];
std::span<const ReductionRow> reduction_rows();

/// Runs row `number`: what the functions of rows do.
void run_reduction_row(uint32_t number, const kernels::Context& context,
                       const kernels::TensorView& input, const kernels::TensorView& out);
template <uint32_t number>
void reduction_row(const kernels::Context& context, const kernels::TensorView& input,
                   const kernels::TensorView& out) {
  run_reduction_row(number, context, input, out);
}

/// kernels::ReduceKernel
void run_sum(const kernels::Context&, const kernels::TensorView& input,
             const kernels::TensorView& out);
// kernels::VarKernel
void run_var(const kernels::Context&, const kernels::TensorView& input, double correction,
             const kernels::TensorView& out);
void run_std(const kernels::Context&, const kernels::TensorView& input, double correction,
             const kernels::TensorView& out);
/// kernels::NormKernel; `out` may be of a wider dtype, which is then summed in.
void run_norm(const kernels::Context&, const kernels::TensorView& input, double p,
              const kernels::TensorView& out);

}  // namespace ebb::devices
