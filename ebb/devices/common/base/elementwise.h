// ebb/devices/common/base/elementwise.h -- runs an expression for every element:
// kernels/pointwise/pointwise.k.
//
// Pointwise ops of the table, cast, fill and arange all go through run_elementwise(). Operands are
// any strided views that broadcast to the result's sizes, or numbers (TensorView::on_host), whose
// value is read during the call.
#pragma once

#include <span>

#include "ebb/devices/launch/dtype_text.h"
#include "ebb/devices/launch/kernel_cache.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::devices {

/// What is computed. Texts live as long as the process.
struct Elementwise {
  Family family = Family::pointwise;
  uint32_t number = 0;  // which one of the family: with the dtypes it says what the source is
  const char* op = "";
  const char* parameters = "";  // what the expression calls the operands: "input, other"
  const char* expression = "";
  void (*look_up)(Elementwise& work, DType dtype) = nullptr;  // fills both in, for new kernels
  Compute compute = Compute::f32;  // the type of operands and result in the expression
};

inline constexpr int kMostElementwise = 3;  // operands

/// Queues out[i] = expression of the operands' elements there.
void run_elementwise(const Elementwise& work, const kernels::Context& context,
                     const kernels::TensorView& out,
                     std::span<const kernels::TensorView* const> operands);

/// The definitions that say what C is: for any family's source.
std::string compute_defines(Compute compute, int group_size);

/// One number of the type that is computed in.
struct Number {
  alignas(8) char bytes[8];
};
/// The element of a view that lies on the host.
Number number_of(const kernels::TensorView& view, Compute compute);
Number number_of(int64_t value, Compute compute);
Number number_of(double value, Compute compute);

}  // namespace ebb::devices
