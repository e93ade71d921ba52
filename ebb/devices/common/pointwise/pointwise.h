// ebb/devices/common/pointwise/pointwise.h -- the pointwise kernels of the op table, for every
// device.
//
// A row is generated from a `device:` key of the table (codegen/emit/devices.py). It is offered for
// each dtype of the op that has an expression; what kernel is called with decides the rest.
#pragma once

#include <span>

#include "ebb/devices/common/base/elementwise.h"
#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// One kernel: its expressions, and the function that the kernel's table gets.
struct PointwiseRow {
  const char* name;
  uint32_t signature;
  uint32_t dtypes;  // bit i: the op may compute in DType(i)
  const char* parameters;
  const char* floating;  // expressions by the kind of number; null where there is none
  const char* integer;
  const char* boolean;
  void (*function)();  // of the kernel's type
};

/// All rows, by name. Generated.
extern const PointwiseRow kPointwiseRows[];
std::span<const PointwiseRow> pointwise_rows();

/// Runs row `number`: what the functions of rows do.
void run_row(uint32_t number, const kernels::Context& context, const kernels::TensorView& out,
             std::span<const kernels::TensorView* const> operands);

/// The function of row `number`, by the kernel's type.
template <uint32_t number>
void unary_row(const kernels::Context& context, const kernels::TensorView& input,
               const kernels::TensorView& out) {
  const kernels::TensorView* const operands[] = {&input};
  run_row(number, context, out, operands);
}
template <uint32_t number>
void binary_row(const kernels::Context& context, const kernels::TensorView& input,
                const kernels::TensorView& other, const kernels::TensorView& out) {
  const kernels::TensorView* const operands[] = {&input, &other};
  run_row(number, context, out, operands);
}
template <uint32_t number>
void ternary_row(const kernels::Context& context, const kernels::TensorView& first,
                 const kernels::TensorView& second, const kernels::TensorView& third,
                 const kernels::TensorView& out) {
  const kernels::TensorView* const operands[] = {&first, &second, &third};
  run_row(number, context, out, operands);
}
template <typename Function>
auto erased(Function* function) {
  return reinterpret_cast<void (*)()>(function);
}

/// The row's expression for a dtype; null if it has none.
const char* expression_for(const PointwiseRow& row, DType dtype);

}  // namespace ebb::devices
