// ebb/ops/impl/linalg/linalg_matrices.cpp -- see linalg_matrices.h.
#include "ebb/ops/impl/linalg/linalg_matrices.h"

#include <limits>
#include <vector>

#include "ebb/core/base/linalg_error.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/impl/copy.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/impl/shape.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// Where the element number `flat` of a tensor is: "[1, 2]".
Shape place_of(int64_t flat, IntSpan sizes) {
  Shape place(sizes);
  for (int dim = place.ndim() - 1; dim >= 0; --dim) {
    const int64_t size = place[dim];
    place[dim] = flat % size;
    flat /= size;
  }
  return place;
}

/// The sizes of a batch, then two more.
Shape matrix_shape(IntSpan batch, int64_t rows, int64_t columns) {
  Shape shape(batch);
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

/// A view of the matrices, repeated to fill `batch`.
Tensor in_batch(const Tensor& matrices, IntSpan batch) {
  const Shape shape = matrix_shape(batch, matrices.size(-2), matrices.size(-1));
  return equal(shape, matrices.sizes()) ? matrices : expand(matrices, shape);
}

}  // namespace

Shape leading_sizes(const Tensor& tensor, int count) {
  return Shape(tensor.sizes().first(static_cast<size_t>(tensor.ndim() - count)));
}

Shape vector_shape(IntSpan batch, int64_t size) {
  Shape shape(batch);
  shape.push_back(size);
  return shape;
}
Tensor empty_vectors(IntSpan batch, int64_t size, DType dtype, const Tensor& like) {
  return empty(vector_shape(batch, size), dtype, like.device());
}

void check_matrices(const char* op, const char* name, const Tensor& tensor) {
  infer::check_ndim(op, name, tensor, 2, kMaxDims);
  const int64_t largest = std::max(tensor.size(-1), tensor.size(-2));
  if (largest > std::numeric_limits<int>::max()) {
    throw NotImplementedError(
        str(op, ": LAPACK needs sizes below 2^31, got ", infer::describe(tensor)));
  }
}

void check_square(const char* op, const char* name, const Tensor& tensor) {
  check_matrices(op, name, tensor);
  if (tensor.size(-1) == tensor.size(-2)) return;
  throw ShapeError(str(op, ": ", name, " needs square matrices, got ", infer::describe(tensor)));
}

Tensor columns_of(const Tensor& matrices, IntSpan batch) {
  return rows_copied(transpose(matrices, -2, -1), batch);
}

Tensor rows_copied(const Tensor& matrices, IntSpan batch) {
  return clone(in_batch(matrices, batch));
}

Tensor rows_alone(const Tensor& matrices, IntSpan batch) {
  return contiguous(in_batch(matrices, batch));
}

Tensor new_columns(IntSpan batch, int64_t rows, int64_t count, DType dtype, const Tensor& like) {
  return empty(matrix_shape(batch, count, rows), dtype, like.device());
}

Tensor transposed(const Tensor& matrices) { return transpose(matrices, -2, -1); }

Tensor run_lapack(const char* op, const LapackTable& table, IntSpan batch,
                  std::initializer_list<Tensor> operands, int64_t option) {
  const Tensor& first = *operands.begin();
  const auto kernel = kernel_for(op, table, first);
  const Tensor info = zeros(batch, DType::int32, first.device());
  std::vector<kernels::TensorView> views;
  for (const Tensor& one : operands) views.push_back(view_of(one));
  if (info.numel() != 0) kernel(context_of(first), views, option, view_of(info));
  return info;
}

void check_info(const char* op, const Tensor& info, const char* what, Explain explain,
                const char* hint) {
  if (is_meta(info)) return;
  const Tensor host = contiguous(to_device(info, Device{}));
  const int* const values = host.data<int>();
  for (int64_t i = 0; i < host.numel(); ++i) {
    if (values[i] == 0) continue;
    const Shape place = place_of(i, host.sizes());
    const std::string entry =
        place.empty() ? std::string() : str(" at entry ", PrintShape{place}, " of the batch");
    throw LinAlgError(
        str(op, ": needs ", what, ", got one ", explain(values[i]), entry, "\nhint: ", hint));
  }
}

}  // namespace ebb::ops::impl
