// ebb/ops/impl/reduce/reduction.cpp -- rows of kind reduce and scan: which dims go, what dtype
// comes out, then the kernel.
#include "ebb/ops/impl/reduce/reduction.h"

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/impl/reduce/reduced_shape.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// Whether to convert elements block by block. Other devices convert as they like.
bool converts_in_blocks(const Tensor& input) {
  return input.numel() > kConvertedBlock && is_on_host(input.device());
}

/// Integers and bool add up and multiply in int64, unless told otherwise.
struct WideDType {
  DType wanted, computed;

  WideDType(const Tensor& input, std::optional<DType> dtype)
      : wanted(dtype.value_or(is_differentiable(input.dtype()) ? input.dtype() : DType::int64)),
        // There are kernels for int64 and up; narrower results are cut at the end.
        computed(is_differentiable(wanted) ? wanted : DType::int64) {}
};

/// One call, its dims and rule known.
class Call {
 public:
  Call(const ReductionRule& rule, const ReduceTable& table, const Tensor& input,
       infer::DimMask mask, bool keepdim)
      : rule_(rule), table_(table), input_(input), mask_(mask), keepdim_(keepdim) {}

  /// Of the elements as they are.
  Tensor plain(const Tensor& input) const {
    return reduced(rule_.op, table_, input, mask_, keepdim_);
  }

  /// Of elements converted to `dtype`.
  Tensor as(DType dtype) const {
    if (input_.dtype() == dtype) return plain(input_);
    if (!converts_in_blocks(input_)) return plain(as_dtype(input_, dtype));
    return converted({dtype});
  }

  Tensor widened(std::optional<DType> dtype) const {
    const auto [wanted, computed] = WideDType(input_, dtype);
    return as_dtype(as(computed), wanted);
  }

  /// How many are not 0.
  Tensor counted() const {
    if (converts_in_blocks(input_)) return converted({DType::boolean, DType::int64});
    return plain(as_dtype(as_dtype(input_, DType::boolean), DType::int64));
  }

  Tensor all_true() const {
    const ReducedShape shape(input_, mask_, keepdim_);
    return full(shape.out.size_span(), true, DType::boolean, input_.device());
  }

  void check_some_elements() const {
    if (rule_.has_dim) return check_not_empty(str(rule_.op, ":"), input_, mask_);
    throw ValueError(str(rule_.op, ": needs at least one element, got ", infer::describe(input_)));
  }

 private:
  Tensor converted(std::initializer_list<DType> dtypes) const {
    return reduce_converted(rule_.op, table_, input_, ReducedShape(input_, mask_, keepdim_),
                            dtypes);
  }

  const ReductionRule& rule_;
  const ReduceTable& table_;
  const Tensor& input_;
  const infer::DimMask mask_;
  const bool keepdim_;
};

/// The dtype of a result that must be floating or complex.
DType floating_dtype(const char* op, const Tensor& input, std::optional<DType> dtype) {
  const DType wanted = dtype.value_or(input.dtype());
  if (is_differentiable(wanted)) return wanted;
  throw DTypeError(str(op, ": needs a floating or complex dtype, got ", infer::describe(input),
                       dtype.has_value() ? str(" and dtype ", wanted) : std::string(),
                       "\nhint: pass dtype=float32"));
}

}  // namespace

Tensor run_reduction(const ReductionRule& rule, const ReduceTable& table, const Tensor& input,
                     std::optional<IntSpan> dim, bool keepdim, std::optional<DType> dtype) {
  const bool is_floating_only = rule.dtype == ReducedDType::floating;
  const DType wanted = is_floating_only ? floating_dtype(rule.op, input, dtype) : input.dtype();
  const infer::DimMask mask = infer::dim_mask(rule.op, dim, input);
  const Call call(rule, table, input, mask, keepdim);
  if (input.numel() == 0) [[unlikely]] {
    if (rule.nothing == OfNothing::refused) call.check_some_elements();
    if (rule.nothing == OfNothing::yes) return call.all_true();
  }
  switch (rule.dtype) {
    case ReducedDType::same: return call.plain(input);
    case ReducedDType::widened: return call.widened(dtype);
    // Of all elements at once: results of parts, such as means, may not join by the same kernel.
    case ReducedDType::floating: return call.plain(as_dtype(input, wanted));
    case ReducedDType::truth: return call.as(DType::boolean);
    case ReducedDType::counted: return call.counted();
  }
  __builtin_unreachable();
}

Tensor run_scan(const ScanRule& rule, const ScanTable& table, const Tensor& input, int64_t dim,
                std::optional<DType> dtype, bool reversed) {
  const bool is_wide = rule.dtype == ReducedDType::widened;
  const DType same = input.dtype();
  const auto [wanted, computed] = WideDType(input, is_wide ? dtype : std::optional(same));
  const DType own = is_wide ? computed : same;
  const int axis = normalize_dim(rule.op, dim, input);
  const auto kernel = kernel_for(rule.op, table, input, own);
  // Each element is read before its result is written: converted ones turn into it where they are.
  const bool is_converted = own != same;
  const Tensor out = is_converted ? cast(input, own) : empty_like(input, own);
  const Tensor& source = is_converted ? out : input;
  const Geometry from = at_least_1d(source), to = at_least_1d(out);
  kernel(context_of(input), from.over(source), axis, reversed, to.over(out));
  return as_dtype(out, wanted);
}

std::tuple<Tensor, Tensor> run_scan(const ScanRule& rule, const RunningExtremumTable& table,
                                    const Tensor& input, int64_t dim, std::optional<DType>,
                                    bool largest) {
  const int axis = normalize_dim(rule.op, dim, input);
  const auto kernel = kernel_for(rule.op, table, input);
  const Tensor values = empty_like(input, input.dtype());
  const Tensor indices = empty_like(input, DType::int64);
  kernel(context_of(input), at_least_1d(input).over(input), axis, largest,
         at_least_1d(values).over(values), at_least_1d(indices).over(indices));
  return {values, indices};
}

}  // namespace ebb::ops::impl
