// ebb/autograd/rules/sparse_math.cpp -- what add, mul, sum, matmul and the like mean for sparse
// tensors.
//
// A stored place may occur twice, and then what is stored there adds up. Where a result is
// recorded, such a tensor is coalesced first: the gradient of one of two values is not defined by
// the tensor's own.
#include "ebb/autograd/rules/sparse_math.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/bincount.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/clamp_max.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/coalesce.h"
#include "ebb/autograd/ops/cumsum.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/flatnonzero.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/pow.h"
#include "ebb/autograd/ops/repeat_interleave.h"
#include "ebb/autograd/ops/searchsorted.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sparse_coo.h"
#include "ebb/autograd/ops/sparse_csr.h"
#include "ebb/autograd/ops/sparse_rows.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_dense.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/to_sparse.h"
#include "ebb/autograd/ops/to_sparse_csr.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/values.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/sparse.h"
#include "ebb/core/base/error.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb::autograd::rules {
namespace {

/// The tensor to take parts of, coalesced if somebody will differentiate.
Tensor readable(const char* op, const char* name, const Tensor& input) {
  if (!has_parts(input)) throw_layout(op, name, *input.impl());
  const bool is_recorded =
      (is_grad_enabled() && input.requires_grad()) || (input.gate_bits() & gate::kTangent) != 0;
  return is_recorded ? coalesce(input) : input;
}

/// The stored values, recorded where that is asked for.
Tensor values_of(const Tensor& input) {
  return is_coalesced(input) ? values(input) : parts_of("values", input).values;
}

/// The result of a function without constant part on the stored values.
template <typename Function>
Tensor mapped(const char* op, const Tensor& input, Function&& function) {
  const Tensor source = readable(op, "input", input);
  return sparse_like(function(values_of(source)), source);
}

bool is_number(const Tensor& tensor) { return is_strided(tensor) && tensor.ndim() == 0; }

/// Both in one layout: that of both, or sparse_coo.
std::array<Tensor, 2> in_one_layout(const Tensor& input, const Tensor& other) {
  const bool is_one = input.layout() == other.layout() && input.layout() != Layout::sparse_csr;
  if (is_one) return {input, other};
  return {to_sparse(input), to_sparse(other)};
}

Tensor add_sparse(const Tensor& input, const Tensor& other) {
  const auto [lhs, rhs] =
      in_one_layout(readable("add", "input", input), readable("add", "other", other));
  const Tensor left = parts_of("add", lhs).indices;
  const Tensor right = parts_of("add", rhs).indices;
  const bool is_coo = lhs.layout() == Layout::sparse_coo;
  if (is_coo && left.size(0) != right.size(0)) {
    throw NotImplementedError(str("add: needs the same number of sparse dims, got ", left.size(0),
                                  " and ", right.size(0), "\nhint: call .to_dense() first"));
  }
  const DType dtype = promote(lhs.dtype(), rhs.dtype());
  const Tensor places[] = {left, right};
  const Tensor parts[] = {cast(values_of(lhs), dtype), cast(values_of(rhs), dtype)};
  const Tensor index = cat(places, is_coo ? 1 : 0);
  const Tensor stored = cat(parts, 0);
  const Tensor joined = is_coo ? sparse_coo(index, stored, input.sizes(), false)
                               : sparse_rows(index, stored, input.sizes(), false);
  const bool is_csr = input.layout() == Layout::sparse_csr && other.layout() == Layout::sparse_csr;
  return is_csr ? to_sparse_csr(coalesce(joined)) : coalesce(joined);
}

}  // namespace

Tensor add_layouts(const Tensor& input, const Tensor& other) {
  if (!equal(input.sizes(), other.sizes())) {
    throw ShapeError(str("add: a sparse operand must have the shape of the other, got ",
                         PrintShape{input.sizes()}, " and ", PrintShape{other.sizes()}));
  }
  if (has_parts(input) && has_parts(other)) return add_sparse(input, other);
  const bool is_first = is_strided(input);
  const Tensor& dense = is_first ? input : other;
  const Tensor& sparse = is_first ? other : input;
  if (!is_strided(dense)) throw_layout("add", is_first ? "input" : "other", *dense.impl());
  const Tensor source = readable("add", is_first ? "other" : "input", sparse);
  const bool is_rows = source.layout() == Layout::selected_rows && source.dtype() == dense.dtype();
  if (!is_rows) return add(dense, to_dense(source));
  return index_add(dense, 0, parts_of("add", source).indices, values_of(source), 1);
}

namespace {

/// The same, coalesced, as a sparse_coo tensor.
Tensor as_coo(const Tensor& input) {
  const Tensor source = coalesce(input);
  return source.layout() == Layout::sparse_coo ? source : to_sparse(source);
}

/// A sparse_coo tensor, coalesced, of which each element is stored by itself.
Tensor elements_of(const Tensor& input) {
  const Tensor coo = as_coo(input);
  const bool has_slices = parts_of("sparse", coo).indices.size(0) != input.ndim();
  return has_slices ? to_sparse(to_dense(coo)) : coo;
}

/// The places that both store. Both are coalesced, so that places rise.
Tensor mul_sparse(const Tensor& input, const Tensor& other) {
  const Tensor lhs = elements_of(readable("mul", "input", input));
  const Tensor rhs = elements_of(readable("mul", "other", other));
  const Tensor indices = cast(parts_of("mul", lhs).indices, DType::int64);
  const Tensor left = flat_places(indices, input.sizes());
  const Tensor right = flat_places(cast(parts_of("mul", rhs).indices, DType::int64), other.sizes());
  Tensor kept = zeros(Shape{0}, DType::int64, left.device()), met = kept;
  if (right.numel() > 0) {
    const Tensor near = clamp_max(searchsorted(right, left), right.numel() - 1);
    kept = flatnonzero(eq(index_select(right, 0, near), left));
    met = index_select(near, 0, kept);
  }
  const Tensor product = mul(index_select(values(lhs), 0, kept), index_select(values(rhs), 0, met));
  const Tensor found = sparse_coo(index_select(indices, 1, kept), product, input.sizes(), true);
  const bool is_csr = input.layout() == Layout::sparse_csr && other.layout() == Layout::sparse_csr;
  return is_csr ? to_sparse_csr(found) : found;
}

}  // namespace

Tensor mul_layouts(const Tensor& input, const Tensor& other) {
  const bool swaps = !has_parts(input);
  const Tensor& sparse = swaps ? other : input;
  const Tensor& factor = swaps ? input : other;
  if (is_number(factor)) {
    return mapped("mul", sparse, [&](const Tensor& values) { return mul(values, factor); });
  }
  const bool is_known = has_parts(sparse) && (has_parts(factor) || is_strided(factor));
  if (!is_known) throw_layout("mul", swaps ? "other" : "input", *sparse.impl());
  if (!equal(input.sizes(), other.sizes())) {
    throw ShapeError(str("mul: a sparse operand must have the shape of the other, got ",
                         PrintShape{input.sizes()}, " and ", PrintShape{other.sizes()}));
  }
  if (has_parts(factor)) return mul_sparse(input, other);
  const Tensor source = coalesce(readable("mul", swaps ? "other" : "input", sparse));
  return sparse_like(mul(values(source), values_like(factor, source)), source);
}

Tensor div_layouts(const Tensor& input, const Tensor& other) {
  if (is_strided(input) || !is_number(other)) {
    const bool is_divisor = is_strided(input);
    throw_layout("div", is_divisor ? "other" : "input", is_divisor ? *other.impl() : *input.impl());
  }
  return mapped("div", input, [&](const Tensor& values) { return div(values, other); });
}

Tensor scale_sparse(const Tensor& input, const Scalar& factor) {
  return mapped("mul", input, [&](const Tensor& values) { return mul(values, factor); });
}

Tensor divide_sparse(const Tensor& input, const Scalar& divisor) {
  return mapped("div", input, [&](const Tensor& values) { return div(values, divisor); });
}

Tensor on_values(const char* op, const Tensor& input,
                 const std::function<Tensor(const Tensor&)>& function) {
  const Tensor source = coalesce(readable(op, "input", input));
  return sparse_like(function(values(source)), source);
}

Tensor power_sparse(const Tensor& input, const Scalar& exponent) {
  if (exponent.kind() == Kind::complex || !(exponent.to_double() > 0)) {
    throw NotImplementedError(str("pow: a ", name_of(input.layout()),
                                  " tensor needs an exponent above 0, got ", exponent,
                                  "\nhint: call .to_dense() first"));
  }
  return on_values("pow", input, [&](const Tensor& stored) { return pow(stored, exponent); });
}

Tensor transpose_sparse(const Tensor& input, int64_t dim0, int64_t dim1) {
  const Tensor coo = as_coo(readable("transpose", "input", input));
  const int first = normalize_dim("transpose", dim0, input);
  const int second = normalize_dim("transpose", dim1, input);
  Shape sizes = input.shape();
  std::swap(sizes[first], sizes[second]);
  const Tensor& indices = parts_of("transpose", coo).indices;
  const int64_t places = indices.size(0);
  if (std::min(first, second) >= places) {
    const int64_t back = 1 - places;  // behind the dim of all values
    return sparse_coo(indices, transpose(values(coo), first + back, second + back), sizes, true);
  }
  if (std::max(first, second) >= places) {
    throw NotImplementedError(
        str("transpose: needs two dims that are both sparse, or neither, got ", dim0, " and ", dim1,
            " of a sparse_coo tensor of ", places, " sparse dims\nhint: call .to_dense() first"));
  }
  std::vector<Tensor> rows;
  for (int64_t dim = 0; dim < places; ++dim) {
    rows.push_back(select(indices, 0, dim == first ? second : dim == second ? first : dim));
  }
  const Tensor turned = coalesce(sparse_coo(stack(rows, 0), values(coo), sizes, false));
  return input.layout() == Layout::sparse_csr ? to_sparse_csr(turned) : turned;
}

Tensor sum_sparse(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
                  std::optional<DType> dtype) {
  const bool is_of_all = (!dim || dim->empty()) && !keepdim;
  if (!is_of_all) throw_layout("sum over some dims", "input", *input.impl());
  return sum(values_of(readable("sum", "input", input)), std::nullopt, false, dtype);
}

Tensor cast_sparse(const Tensor& input, DType dtype) {
  return mapped("cast", input, [&](const Tensor& values) { return cast(values, dtype); });
}

Tensor clone_sparse(const Tensor& input) {
  return mapped("clone", input, [](const Tensor& values) { return clone(values); });
}

Tensor move_sparse(const Tensor& input, Device device) {
  const Tensor source = readable("to_device", "input", input);
  const SparseParts& parts = parts_of("to_device", source);
  const Tensor values = to_device(values_of(source), device);
  const Tensor places = to_device(parts.indices, device);
  switch (source.layout()) {
    case Layout::sparse_coo: return sparse_coo(places, values, input.sizes(), parts.is_coalesced);
    case Layout::sparse_csr:
      return sparse_csr(places, to_device(parts.columns, device), values, input.sizes());
    default: return sparse_rows(places, values, input.sizes(), parts.is_coalesced);
  }
}

namespace {

/// A sparse matrix times a strided one: each stored value scales a row of it.
Tensor sparse_times_dense(const Tensor& sparse, const Tensor& dense, bool is_transposed) {
  const Tensor coo = to_sparse(coalesce(sparse));
  const SparseParts& parts = parts_of("matmul", coo);
  if (parts.indices.size(0) == 1) {  // whole rows are stored
    const Tensor rows = select(parts.indices, 0, 0);
    if (is_transposed) {
      return matmul(transpose(values(coo), 0, 1), index_select(dense, 0, rows));
    }
    const Shape sizes{sparse.size(0), dense.size(1)};
    const Tensor zero = zeros(sizes, dense.dtype(), dense.device());
    return index_add(zero, 0, rows, matmul(values(coo), dense), 1);
  }
  const Tensor to = select(parts.indices, 0, is_transposed ? 1 : 0);
  const Tensor from = select(parts.indices, 0, is_transposed ? 0 : 1);
  const Tensor scaled = mul(unsqueeze(values(coo), 1), index_select(dense, 0, from));
  const Shape sizes{sparse.size(is_transposed ? 1 : 0), dense.size(1)};
  return index_add(zeros(sizes, dense.dtype(), dense.device()), 0, to, scaled, 1);
}

/// Two sparse matrices: each entry of the left one meets a row of the right one.
Tensor sparse_times_sparse(const Tensor& input, const Tensor& other) {
  if (input.ndim() != 2) throw_layout("matmul", "input", *input.impl());
  if (other.ndim() != 2) throw_layout("matmul", "other", *other.impl());
  if (input.size(1) != other.size(0)) {
    throw ShapeError(str("matmul: inner sizes must agree, got ", PrintShape{input.sizes()}, " and ",
                         PrintShape{other.sizes()}));
  }
  const Tensor lhs = elements_of(readable("matmul", "input", input));
  const Tensor rhs = elements_of(readable("matmul", "other", other));
  const Tensor left = cast(parts_of("matmul", lhs).indices, DType::int64);
  const Tensor right = cast(parts_of("matmul", rhs).indices, DType::int64);
  const Tensor inner = select(left, 0, 1);
  // The entries of the right one lie row by row.
  const Tensor counts = bincount(select(right, 0, 0), {}, other.size(0));
  const Tensor starts = cumsum(counts, 0) - counts;
  const Tensor met = index_select(counts, 0, inner);
  const Tensor from = repeat_interleave(arange(inner.numel(), DType::int64, inner.device()), met);
  const Tensor before = index_select(cumsum(met, 0) - met, 0, from);
  const Tensor to = index_select(index_select(starts, 0, inner), 0, from) +
                    arange(from.numel(), DType::int64, from.device()) - before;
  const Tensor places[] = {index_select(select(left, 0, 0), 0, from),
                           index_select(select(right, 0, 1), 0, to)};
  const Tensor products = mul(index_select(values(lhs), 0, from), index_select(values(rhs), 0, to));
  const Shape sizes{input.size(0), other.size(1)};
  const Tensor found = coalesce(sparse_coo(stack(places, 0), products, sizes, false));
  const bool is_csr = input.layout() == Layout::sparse_csr && other.layout() == Layout::sparse_csr;
  return is_csr ? to_sparse_csr(found) : found;
}

}  // namespace

Tensor matmul_layouts(const Tensor& input, const Tensor& other) {
  if (has_parts(input) && has_parts(other) && input.dtype() == other.dtype()) {
    return sparse_times_sparse(input, other);
  }
  const bool is_left = has_parts(input) && is_strided(other);
  const bool is_right = has_parts(other) && is_strided(input);
  const Tensor& sparse = is_left || !is_strided(input) ? input : other;
  const Tensor& dense = is_left ? other : input;
  const bool has_meaning = (is_left || is_right) && sparse.ndim() == 2 && dense.ndim() <= 2 &&
                           dense.ndim() >= 1 && input.dtype() == other.dtype();
  if (!has_meaning) throw_layout("matmul", is_strided(input) ? "other" : "input", *sparse.impl());
  const int64_t inner = sparse.size(is_left ? 1 : 0);
  if (dense.size(is_left ? 0 : -1) != inner) {
    throw ShapeError(str("matmul: inner sizes must agree, got ", PrintShape{input.sizes()}, " and ",
                         PrintShape{other.sizes()}));
  }
  if (dense.ndim() == 1) {
    const Tensor column = unsqueeze(dense, 1);
    return select(sparse_times_dense(sparse, column, is_right), 1, 0);
  }
  if (is_left) return sparse_times_dense(sparse, dense, false);
  return transpose(sparse_times_dense(sparse, transpose(dense, 0, 1), true), 0, 1);
}

}  // namespace ebb::autograd::rules
