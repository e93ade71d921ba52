// ebb/ops/impl/sparse.cpp -- sparse tensors from their parts and back, in terms of strided ops.
//
// Places are found on the CPU, as int64 numbers: the row-major position among the sparse dims. What
// has to do with values is index_add and index_select of rows of them, on their own device.
#include "ebb/ops/impl/sparse.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "ebb/core/base/quotes.h"
#include "ebb/core/runtime/counted_vector.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/kernels/checked_index.h"
#include "ebb/ops/copy.h"
#include "ebb/ops/creation.h"
#include "ebb/ops/index.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/shape.h"

namespace ebb::ops::impl {
namespace {

using Numbers = CountedVector<int64_t>;

/// Strided int64 indices, whatever integers were given.
Tensor as_indices(const char* op, const char* name, const Tensor& tensor, int ndim) {
  require_strided(op, name, tensor);
  infer::check_ndim(op, name, tensor, ndim, ndim);
  const Tensor wide = tensor.dtype() == DType::int64 ? tensor : ops::cast(tensor, DType::int64);
  return wide.is_contiguous() ? wide : ops::clone(wide);
}

void check_sizes(const char* op, IntSpan size) {
  if (std::all_of(size.begin(), size.end(), [](int64_t one) { return one >= 0; })) return;
  throw ValueError(str(op, ": sizes must be at least 0, got ", PrintShape{size}));
}

/// Indices were checked when their tensor was made, but their memory may be shared (indices()).
int64_t still_below(const char* op, int64_t index, int64_t size) {
  if (kernels::is_index(index, size)) [[likely]]
    return index;
  throw ValueError(str(op, ": indices of a sparse tensor must stay below ", size, ", got ", index,
                       "\nhint: something wrote to their memory"));
}

Numbers numbers_of(const Tensor& indices) {
  const Tensor here = host_copy(indices);
  const auto* const first = here.data<int64_t>();
  return {first, first + here.numel()};
}

Tensor tensor_of(const Numbers& numbers, IntSpan sizes, Device device) {
  const Tensor made = empty(sizes, DType::int64);
  if (!numbers.empty()) std::memcpy(made.host_data(), numbers.data(), numbers.size() * 8);
  return device == Device{} ? made : ops::to_device(made, device);
}

void check_values(const char* op, const Tensor& values, IntSpan expected, const Tensor& indices) {
  require_strided(op, "values", values);
  if (!equal(values.sizes(), expected)) {
    throw ShapeError(str(op, ": 'values' must have shape ", PrintShape{expected}, ", got ",
                         infer::describe(values)));
  }
  infer::check_same_device(op, values, indices);
}

/// The sizes of the values: how many there are, then the dims that are not sparse.
Shape value_sizes(int64_t stored, IntSpan size, size_t sparse_dims) {
  Shape expected{stored};
  for (size_t dim = sparse_dims; dim < size.size(); ++dim) expected.push_back(size[dim]);
  return expected;
}

/// How many leading dims the indices count.
size_t sparse_dims_of(const Tensor& tensor, const SparseParts& parts) {
  return tensor.layout() == Layout::sparse_coo ? static_cast<size_t>(parts.indices.size(0)) : 1;
}

/// The row-major place of each stored slice among the first `dims` dims.
Numbers places_of(const char* op, const Tensor& tensor, const SparseParts& parts, size_t dims) {
  Numbers indices = numbers_of(parts.indices);
  if (dims == 1) return indices;
  const auto stored = static_cast<size_t>(parts.indices.size(1));
  Numbers places(stored, 0);
  for (size_t dim = 0; dim < dims; ++dim) {
    const int64_t size = tensor.sizes()[dim];
    for (size_t i = 0; i < stored; ++i) {
      places[i] = places[i] * size + still_below(op, indices[dim * stored + i], size);
    }
  }
  return places;
}

Tensor index_of_places(const Numbers& places, IntSpan sizes, size_t dims, Device device) {
  const auto stored = static_cast<int64_t>(places.size());
  Numbers indices(dims * places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t rest = places[i];
    for (size_t dim = dims; dim-- > 0;) {
      indices[dim * places.size() + i] = rest % sizes[dim];
      rest /= sizes[dim];
    }
  }
  return tensor_of(indices, Shape{static_cast<int64_t>(dims), stored}, device);
}

/// Stored values added up by row; of bool, whether any is true.
Tensor added_up(const Tensor& values, const Tensor& index, const Shape& sizes) {
  const bool is_bool = values.dtype() == DType::boolean;
  const Tensor addends = is_bool ? ops::cast(values, DType::int64) : values;
  const Tensor sums = ops::zeros(sizes, addends.dtype(), values.device());
  ops::index_add_(sums, 0, index, addends, Scalar(1));
  return is_bool ? ops::cast(sums, DType::boolean) : sums;
}

/// The row of each value of a sparse_csr matrix.
Numbers rows_of_csr(const char* op, const SparseParts& parts) {
  const Numbers begins = numbers_of(parts.indices);
  Numbers rows;
  const int64_t stored = parts.columns.numel();
  for (size_t row = 0; row + 1 < begins.size(); ++row) {
    // At most as many as are left, or none for one that ends before it begins.
    const int64_t end = still_below(op, begins[row + 1], stored + 1);
    rows.resize(std::max(rows.size(), static_cast<size_t>(end)), static_cast<int64_t>(row));
  }
  rows.resize(static_cast<size_t>(stored), static_cast<int64_t>(begins.size()) - 2);
  return rows;
}

Tensor as_coo(const Tensor& input) {
  const SparseParts& parts = parts_of("to_sparse", input);
  const int64_t stored = parts.values.size(0);
  if (input.layout() == Layout::selected_rows) {
    return make_sparse(Layout::sparse_coo, input.sizes(),
                       {.indices = ops::reshape(parts.indices, Shape{1, stored}),
                        .columns = {},
                        .values = parts.values,
                        .is_coalesced = true});
  }
  Numbers both = rows_of_csr("to_sparse", parts);
  const Numbers columns = numbers_of(parts.columns);
  both.insert(both.end(), columns.begin(), columns.end());
  return make_sparse(Layout::sparse_coo, input.sizes(),
                     {.indices = tensor_of(both, Shape{2, stored}, parts.values.device()),
                      .columns = {},
                      .values = parts.values,
                      .is_coalesced = true});
}

Tensor as_csr(const Tensor& input) {
  const SparseParts& parts = parts_of("to_sparse_csr", input);
  if (input.ndim() != 2 || sparse_dims_of(input, parts) != 2) {
    throw ShapeError(str("to_sparse_csr: needs a matrix with both dims sparse, got shape ",
                         PrintShape{input.sizes()}));
  }
  const Numbers indices = numbers_of(parts.indices);
  const auto stored = static_cast<size_t>(parts.indices.size(1));
  Numbers begins(static_cast<size_t>(input.sizes()[0]) + 1, 0);
  for (size_t i = 0; i < stored; ++i) {
    ++begins[static_cast<size_t>(still_below("to_sparse_csr", indices[i], input.sizes()[0])) + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  const Numbers columns(indices.begin() + static_cast<ptrdiff_t>(stored), indices.end());
  const Device device = parts.values.device();
  return make_sparse(
      Layout::sparse_csr, input.sizes(),
      {.indices = tensor_of(begins, Shape{static_cast<int64_t>(begins.size())}, device),
       .columns = tensor_of(columns, Shape{static_cast<int64_t>(stored)}, device),
       .values = parts.values,
       .is_coalesced = true});
}

const SparseParts& parts_with(const char* op, const Tensor& input, Layout layout) {
  const SparseParts& parts = parts_of(op, input);
  if (input.layout() == layout) return parts;
  throw NotImplementedError(str(op, ": needs a ", name_of(layout), " tensor, got a ",
                                name_of(input.layout()), " one of shape ",
                                PrintShape{input.sizes()}));
}

[[noreturn]] void throw_not_coalesced(const char* op, const Tensor& input) {
  throw ValueError(str(op, ": needs a coalesced tensor, got a ", name_of(input.layout()),
                       " one of shape ", PrintShape{input.sizes()},
                       " that may store a place twice\nhint: call .coalesce() first"));
}

/// Columns rise within each row, and rows begin where the ones before end.
void check_csr(const Numbers& begins, const Numbers& columns, IntSpan size) {
  constexpr const char* op = "sparse_csr_tensor";
  const auto stored = static_cast<int64_t>(columns.size());
  const bool is_whole = begins.front() == 0 && begins.back() == stored &&
                        std::is_sorted(begins.begin(), begins.end());
  if (!is_whole) {
    throw ValueError(
        str(op, ": crow_indices must rise from 0 to the number of values, ", stored, ", got ",
            PrintShape{begins.size() > 32 ? IntSpan(begins).first(32) : IntSpan(begins)}));
  }
  for (size_t row = 0; row + 1 < begins.size(); ++row) {
    for (int64_t i = begins[row]; i < begins[row + 1]; ++i) {
      const int64_t column = columns[static_cast<size_t>(i)];
      const bool rises = i == begins[row] || column > columns[static_cast<size_t>(i) - 1];
      if (rises && column >= 0 && column < size[1]) continue;
      throw ValueError(str(op, ": col_indices must rise within each row and be below ", size[1],
                           ", got ", column, " in row ", row));
    }
  }
}

}  // namespace

Tensor sparse_coo(const Tensor& indices, const Tensor& values, IntSpan size, bool is_coalesced) {
  constexpr const char* op = "sparse_coo_tensor";
  check_sizes(op, size);
  const Tensor places = as_indices(op, "indices", indices, 2);
  const int64_t dims = places.size(0);
  const auto most = static_cast<int64_t>(size.size());
  const int64_t least = std::min<int64_t>(1, most);  // a 0-d tensor has no dim to count
  if (dims < least || dims > most) {
    throw ShapeError(str(op, ": indices must have a row for each sparse dim, from ", least, " to ",
                         most, " of them, got ", infer::describe(indices)));
  }
  const auto sparse = static_cast<size_t>(dims);
  check_values(op, values, value_sizes(places.size(1), size, sparse), places);
  for (int64_t dim = 0; dim < dims; ++dim) {
    const Tensor row = make_view(places, Shape{places.size(1)}, Shape{1},
                                 places.storage_offset() + dim * places.size(1));
    check_index_range(op, "indices", row, size[static_cast<size_t>(dim)]);
  }
  checked_numel(op, size.first(sparse), 1);
  return make_sparse(Layout::sparse_coo, size, {places, {}, values, is_coalesced});
}

Tensor sparse_csr(const Tensor& crow_indices, const Tensor& col_indices, const Tensor& values,
                  IntSpan size) {
  constexpr const char* op = "sparse_csr_tensor";
  if (size.size() != 2) {
    throw ShapeError(str(op, ": size must be that of a matrix, got ", PrintShape{size}));
  }
  check_sizes(op, size);
  const Tensor begins = as_indices(op, "crow_indices", crow_indices, 1);
  const Tensor columns = as_indices(op, "col_indices", col_indices, 1);
  if (begins.numel() != size[0] + 1) {
    throw ShapeError(str(op, ": crow_indices must have one number per row and one more, ",
                         size[0] + 1, ", got ", begins.numel()));
  }
  check_values(op, values, Shape{columns.numel()}, columns);
  infer::check_same_device(op, values, begins);
  check_csr(numbers_of(begins), numbers_of(columns), size);
  return make_sparse(Layout::sparse_csr, size, {begins, columns, values, true});
}

Tensor sparse_rows(const Tensor& rows, const Tensor& values, IntSpan size, bool is_coalesced) {
  constexpr const char* op = "selected_rows";
  if (size.empty()) throw ShapeError(str(op, ": size must have at least one dim, got []"));
  check_sizes(op, size);
  const Tensor places = as_indices(op, "rows", rows, 1);
  check_values(op, values, value_sizes(places.numel(), size, 1), places);
  check_index_range(op, "rows", places, size[0]);
  return make_sparse(Layout::selected_rows, size, {places, {}, values, is_coalesced});
}

Tensor to_dense(const Tensor& input) {
  const Tensor source = input.layout() == Layout::sparse_csr ? as_coo(input) : input;
  if (input.layout() == Layout::opaque) throw_layout("to_dense", "input", *input.impl());
  const SparseParts& parts = parts_of("to_dense", source);
  const size_t dims = sparse_dims_of(source, parts);
  const Device device = parts.values.device();
  const int64_t places = numel_of(source.sizes().first(dims));
  const Tensor index = dims == 1 ? ops::reshape(parts.indices, Shape{-1})
                                 : tensor_of(places_of("to_dense", source, parts, dims),
                                             Shape{parts.values.size(0)}, device);
  const Tensor rows = added_up(parts.values, index, value_sizes(places, source.sizes(), dims));
  const Shape sizes(source.sizes());
  return dims == 1 ? rows : detached(ops::reshape(rows, sizes));
}

Tensor coalesce(const Tensor& input) {
  const SparseParts& parts = parts_of("coalesce", input);
  const size_t dims = sparse_dims_of(input, parts);
  const Numbers places = places_of("coalesce", input, parts, dims);
  Numbers order(places.size());
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](int64_t i) { return places[static_cast<size_t>(i)]; };
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return std::pair(place(a), a) < std::pair(place(b), b); });
  Numbers distinct;
  Numbers target(places.size());
  for (const int64_t i : order) {
    if (distinct.empty() || distinct.back() != place(i)) distinct.push_back(place(i));
    target[static_cast<size_t>(i)] = static_cast<int64_t>(distinct.size()) - 1;
  }
  const Device device = parts.values.device();
  const auto stored = static_cast<int64_t>(distinct.size());
  const Tensor index = tensor_of(target, Shape{static_cast<int64_t>(target.size())}, device);
  const Tensor sums = added_up(parts.values, index, value_sizes(stored, input.sizes(), dims));
  const bool is_coo = input.layout() == Layout::sparse_coo;
  const Tensor found = is_coo ? index_of_places(distinct, input.sizes(), dims, device)
                              : tensor_of(distinct, Shape{stored}, device);
  return make_sparse(input.layout(), input.sizes(), {found, {}, sums, true});
}

Tensor sparse_as(const Tensor& input, std::string_view layout) {
  const Tensor source = is_coalesced(input) ? input : coalesce(input);
  const bool is_csr = layout == name_of(Layout::sparse_csr);
  if (!is_csr && layout != name_of(Layout::sparse_coo)) {
    throw ValueError(
        str("sparse_as: layout must be 'sparse_coo' or 'sparse_csr', got ", in_quotes(layout)));
  }
  if (layout == name_of(source.layout())) return detached(source);
  const Tensor coo = source.layout() == Layout::sparse_coo ? source : as_coo(source);
  return is_csr ? as_csr(coo) : coo;
}

Tensor stored_indices(const Tensor& input) {
  if (input.layout() == Layout::sparse_csr) return crow_indices(input);
  return detached(parts_of("indices", input).indices);
}

Tensor stored_values(const Tensor& input) { return detached(parts_of("values", input).values); }

Tensor coalesced_values(const Tensor& input) {
  const SparseParts& parts = parts_of("values", input);
  if (!parts.is_coalesced) throw_not_coalesced("values", input);
  return detached(parts.values);
}

Tensor indices(const Tensor& input) {
  const SparseParts& parts = parts_with("indices", input, Layout::sparse_coo);
  if (!parts.is_coalesced) throw_not_coalesced("indices", input);
  return detached(parts.indices);
}

Tensor crow_indices(const Tensor& input) {
  return detached(parts_with("crow_indices", input, Layout::sparse_csr).indices);
}

Tensor col_indices(const Tensor& input) {
  return detached(parts_with("col_indices", input, Layout::sparse_csr).columns);
}

Tensor rows(const Tensor& input) {
  return detached(parts_with("rows", input, Layout::selected_rows).indices);
}

}  // namespace ebb::ops::impl
