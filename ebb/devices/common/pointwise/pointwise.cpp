// ebb/devices/common/pointwise/pointwise.cpp -- from a row of the table to an element-wise kernel.
#include "ebb/devices/common/pointwise/pointwise.h"

namespace ebb::devices {

using kernels::TensorView;

const char* expression_for(const PointwiseRow& row, DType dtype) {
  if ((row.dtypes >> static_cast<int>(dtype) & 1) == 0) return nullptr;
  switch (kind_of(dtype)) {
    case Kind::boolean: return row.boolean;
    case Kind::integer: return row.integer;
    case Kind::floating: return row.floating;
    case Kind::complex: return nullptr;
  }
  __builtin_unreachable();
}

namespace {

void look_up_texts(Elementwise& work, DType dtype) {
  const PointwiseRow& row = kPointwiseRows[work.number];
  work.parameters = row.parameters;
  work.expression = expression_for(row, dtype);
}

}  // namespace

void run_row(uint32_t number, const kernels::Context& context, const TensorView& out,
             std::span<const TensorView* const> operands) {
  const PointwiseRow& row = kPointwiseRows[number];
  const DType dtype = operands.back()->dtype;  // a condition comes first
  const Elementwise work{.family = Family::pointwise,
                         .number = number,
                         .op = row.name,
                         .look_up = look_up_texts,
                         .compute = compute_of(dtype)};
  run_elementwise(work, context, out, operands);
}

}  // namespace ebb::devices
