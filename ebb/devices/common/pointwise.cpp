// ebb/devices/common/pointwise.cpp -- from a row of the table to an element-wise kernel.
#include "ebb/devices/common/pointwise.h"

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

void run_row(uint32_t number, const kernels::Context& context, const TensorView& out,
             std::span<const TensorView* const> operands) {
  const PointwiseRow& row = pointwise_rows()[number];
  const DType dtype = operands.back()->dtype;  // a condition comes first
  const Elementwise work{.family = Family::pointwise,
                         .number = number,
                         .op = row.name,
                         .parameters = row.parameters,
                         .expression = expression_for(row, dtype),
                         .compute = compute_of(dtype)};
  run_elementwise(work, context, out, operands);
}

}  // namespace ebb::devices
