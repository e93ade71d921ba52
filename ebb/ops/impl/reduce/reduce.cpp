// ebb/ops/impl/reduce/reduce.cpp -- sums, means, products and tests: which dims go, what dtype
// comes out, then the kernel.
#include "ebb/ops/impl/reduce/reduce.h"

#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/amax.h"
#include "ebb/kernels/tables/amin.h"
#include "ebb/kernels/tables/mean.h"
#include "ebb/kernels/tables/prod.h"
#include "ebb/kernels/tables/sum.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/impl/reduce/reduce_blocks.h"
#include "ebb/ops/impl/reduce/reduced_shape.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// Whether to convert elements block by block. Other devices convert as they like.
bool converts_in_blocks(const Tensor& input) {
  return input.numel() > kConvertedBlock && is_on_host(input.device());
}

/// The same of elements converted to `dtype`.
Tensor reduce_as(const char* op, const ReduceTable& table, const Tensor& input, DType dtype,
                 infer::DimMask mask, bool keepdim) {
  if (input.dtype() == dtype) return reduced(op, table, input, mask, keepdim);
  if (!converts_in_blocks(input)) return reduced(op, table, as_dtype(input, dtype), mask, keepdim);
  return reduce_converted(op, table, input, ReducedShape(input, mask, keepdim), {dtype});
}

/// Integers and bool add up and multiply in int64, unless told otherwise.
struct WideDType {
  DType wanted, computed;

  WideDType(const Tensor& input, std::optional<DType> dtype)
      : wanted(dtype.value_or(is_differentiable(input.dtype()) ? input.dtype() : DType::int64)),
        // There are kernels for int64 and up; narrower results are cut at the end.
        computed(is_differentiable(wanted) ? wanted : DType::int64) {}
};

Tensor product(const Tensor& input, infer::DimMask mask, bool keepdim, std::optional<DType> dtype) {
  const auto [wanted, computed] = WideDType(input, dtype);
  return as_dtype(reduce_as("prod", kernels::prod_kernels, input, computed, mask, keepdim), wanted);
}

}  // namespace

Tensor sum(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
           std::optional<DType> dtype) {
  const infer::DimMask mask = infer::dim_mask("sum", dim, input);
  const auto [wanted, computed] = WideDType(input, dtype);
  if (input.dtype() == wanted && wanted == computed) [[likely]] {
    return reduced("sum", kernels::sum_kernels, input, mask, keepdim);
  }
  return as_dtype(reduce_as("sum", kernels::sum_kernels, input, computed, mask, keepdim), wanted);
}

Tensor mean(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
            std::optional<DType> dtype) {
  const DType wanted = dtype.value_or(input.dtype());
  if (!is_differentiable(wanted)) {
    throw DTypeError(str("mean: needs a floating or complex dtype, got ", infer::describe(input),
                         dtype.has_value() ? str(" and dtype ", wanted) : std::string(),
                         "\nhint: pass dtype=float32"));
  }
  const infer::DimMask mask = infer::dim_mask("mean", dim, input);
  return reduced("mean", kernels::mean_kernels, as_dtype(input, wanted), mask, keepdim);
}

Tensor prod(const Tensor& input, std::optional<DType> dtype) {
  return product(input, infer::dim_mask("prod", {}, input), false, dtype);
}

Tensor prod(const Tensor& input, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  const int64_t dims[] = {dim};
  return product(input, infer::dim_mask("prod", IntSpan(dims), input), keepdim, dtype);
}

Tensor any(const Tensor& input, std::optional<IntSpan> dim, bool keepdim) {
  const infer::DimMask mask = infer::dim_mask("any", dim, input);
  return reduce_as("any", kernels::amax_kernels, input, DType::boolean, mask, keepdim);
}

Tensor all(const Tensor& input, std::optional<IntSpan> dim, bool keepdim) {
  const infer::DimMask mask = infer::dim_mask("all", dim, input);
  if (input.numel() == 0) {  // the kernel would give the largest uint8
    const ReducedShape shape(input, mask, keepdim);
    return full(shape.out.size_span(), true, DType::boolean, input.device());
  }
  return reduce_as("all", kernels::amin_kernels, input, DType::boolean, mask, keepdim);
}

Tensor count_nonzero(const Tensor& input, std::optional<IntSpan> dim) {
  const infer::DimMask mask = infer::dim_mask("count_nonzero", dim, input);
  if (converts_in_blocks(input)) {
    return reduce_converted("count_nonzero", kernels::sum_kernels, input,
                            ReducedShape(input, mask, false), {DType::boolean, DType::int64});
  }
  const Tensor counted = as_dtype(as_dtype(input, DType::boolean), DType::int64);
  return reduced("count_nonzero", kernels::sum_kernels, counted, mask, false);
}

}  // namespace ebb::ops::impl
