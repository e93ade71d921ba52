// ebb/kernels/cpu/index/index.cpp -- cat, gather, index_select and the range check of indices.
//
// Elements are only moved, so what counts is their size.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/checked_index.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/cat.h"
#include "ebb/kernels/tables/find_out_of_range.h"
#include "ebb/kernels/tables/gather.h"
#include "ebb/kernels/tables/index_select.h"

namespace ebb::kernels::cpu {
namespace {

void cat_kernel(const Context& context, std::span<const TensorView> inputs, int dim,
                const TensorView& out) {
  int64_t start = 0;
  for (const TensorView& input : inputs) {
    if (input.numel == 0) continue;
    TensorView part = out;
    part.data =
        out.as<char>() + start * out.strides[dim] * static_cast<int64_t>(item_size(out.dtype));
    part.sizes = input.sizes;
    part.numel = input.numel;
    part.contiguous = is_contiguous(part.shape(), {part.strides, part.ndim});
    cast_kernels.find_cpu(input.dtype)(context, input, part);
    start += input.sizes[dim];
  }
}

/// One operand's strides along the loop over out, and the place where the loop stands.
struct Walk {
  int64_t strides[kMaxDims];
  int64_t offset = 0;

  Walk(const TensorView& view, int ndim, int skipped_dim) {
    for (int dim = 0; dim < ndim; ++dim) {
      strides[dim] = dim == skipped_dim ? 0 : view.strides[dim];
    }
  }
  /// Goes to row number `row` of a tensor with these sizes; a row is the innermost dim.
  void go_to(int64_t row, const TensorView& shape) {
    offset = 0;
    for (int dim = shape.ndim - 2; dim >= 0; --dim) {
      offset += row % shape.sizes[dim] * strides[dim];
      row /= shape.sizes[dim];
    }
  }
};

/// Pieces of rows: of out's rows, or of parts of very long ones.
struct RowPieces {
  int64_t inner, parts, rows;

  explicit RowPieces(const TensorView& out)
      : inner(out.ndim == 0 ? 1 : out.sizes[out.ndim - 1]),
        parts((inner - 1) / kGrain + 1),
        rows(out.numel / inner) {}
  /// Calls body(row, begin, end) for every piece, in parallel where that pays.
  template <class Body>
  void run(Body body) const {
    const int64_t grain = std::max<int64_t>(1, kGrain / std::min(inner, kGrain));
    parallel_for(rows * parts, grain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t begin = i % parts * kGrain;
        body(i / parts, begin, std::min(inner, begin + kGrain));
      }
    });
  }
};

template <typename Word>
void gather_kernel(const Context&, const TensorView& input, int dim, const TensorView& index,
                   const TensorView& out) {
  if (out.numel == 0) return;
  if (out.ndim == 0) {
    *out.as<Word>() = *input.as<Word>();
    return;
  }
  FirstWrong wrong;
  const int last = out.ndim - 1;
  const int64_t dim_stride = input.strides[dim], size = input.sizes[dim];
  const int64_t inner = out.sizes[last];
  RowPieces(out).run([&](int64_t row, int64_t begin, int64_t end) {
    Walk in(input, out.ndim, dim), at(index, out.ndim, -1), to(out, out.ndim, -1);
    in.go_to(row, out);
    at.go_to(row, out);
    to.go_to(row, out);
    const Word* from = input.as<const Word>() + in.offset;
    const auto* indices = index.as<const int64_t>() + at.offset;
    Word* results = out.as<Word>() + to.offset;
    const int64_t step = in.strides[last], index_step = at.strides[last];
    const int64_t out_step = to.strides[last];
    for (int64_t j = begin; j < end; ++j) {
      const int64_t place = read_once(indices + j * index_step);
      if (!is_index(place, size)) [[unlikely]]
        return wrong.note(place, row * inner + j);
      results[j * out_step] = from[j * step + place * dim_stride];
    }
  });
  wrong.throw_if_found();
}

/// Whether everything behind `dim` is one dense block of memory.
bool has_dense_blocks(const TensorView& view, int dim) {
  const auto behind = static_cast<size_t>(view.ndim - dim - 1);
  return is_contiguous({view.sizes + dim + 1, behind}, {view.strides + dim + 1, behind});
}

/// index_select where whole blocks are copied.
void select_blocks(const TensorView& input, int dim, const TensorView& index,
                   const TensorView& out) {
  FirstWrong wrong;
  const auto item = static_cast<int64_t>(item_size(out.dtype));
  const int64_t count = out.sizes[dim];
  int64_t block = item;
  for (int i = dim + 1; i < out.ndim; ++i) block *= out.sizes[i];
  const auto* indices = index.as<const int64_t>();
  const int64_t index_step = index.ndim == 0 ? 0 : index.strides[0];
  const auto offset_of = [&](const TensorView& view, int64_t outer) {
    int64_t offset = 0;
    for (int i = dim - 1; i >= 0; --i) {
      offset += outer % out.sizes[i] * view.strides[i];
      outer /= out.sizes[i];
    }
    return offset * item;
  };
  const int64_t rows = out.numel * item / block;
  const int64_t grain = std::max<int64_t>(1, kGrain * 4 / block);
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row % count, outer = row / count;
      const int64_t place = read_once(indices + at * index_step);
      if (!is_index(place, input.sizes[dim])) [[unlikely]]
        return wrong.note(place, at);
      const int64_t from = place * input.strides[dim] * item;
      std::memcpy(out.as<char>() + offset_of(out, outer) + at * out.strides[dim] * item,
                  input.as<char>() + offset_of(input, outer) + from, static_cast<size_t>(block));
    }
  });
  wrong.throw_if_found();
}

template <typename Word>
void index_select_kernel(const Context& context, const TensorView& input, int dim,
                         const TensorView& index, const TensorView& out) {
  if (out.numel == 0) return;
  const bool has_blocks =
      out.ndim > dim + 1 && has_dense_blocks(input, dim) && has_dense_blocks(out, dim);
  if (has_blocks) return select_blocks(input, dim, index, out);
  // The index repeated over all other dims makes it a gather.
  int64_t strides[kMaxDims] = {};
  if (out.ndim > 0) strides[dim] = index.ndim == 0 ? 0 : index.strides[0];
  TensorView repeated = out;
  repeated.data = index.data;
  repeated.strides = strides;
  repeated.dtype = DType::int64;
  repeated.contiguous = false;
  try {
    gather_kernel<Word>(context, input, dim, repeated, out);
  } catch (WrongIndex& wrong) {
    for (int i = dim + 1; i < out.ndim; ++i) wrong.position /= out.sizes[i];
    if (out.ndim > 0) wrong.position %= out.sizes[dim];
    throw;
  }
}

int64_t find_out_of_range_kernel(const Context&, const TensorView& index, int64_t low,
                                 int64_t high) {
  if (index.numel == 0) return -1;
  const int64_t step = index.ndim == 0 ? 0 : index.strides[index.ndim - 1];
  const int64_t inner = index.ndim == 0 ? 1 : index.sizes[index.ndim - 1];
  std::atomic<int64_t> first{INT64_MAX};
  RowPieces(index).run([&](int64_t row, int64_t begin, int64_t end) {
    Walk walk(index, index.ndim, -1);
    walk.go_to(row, index);
    const auto* values = index.as<const int64_t>() + walk.offset;
    int64_t at = begin;
    while (at < end && is_index(values[at * step] - low, high - low)) ++at;
    if (at == end) return;
    int64_t known = first.load();
    const int64_t found = row * inner + at;
    while (found < known && !first.compare_exchange_weak(known, found)) {
    }
  });
  return first == INT64_MAX ? -1 : first.load();
}

template <typename Word>
void set(DType dtype) {
  gather_kernels.set_cpu(dtype, &gather_kernel<Word>);
  index_select_kernels.set_cpu(dtype, &index_select_kernel<Word>);
}

}  // namespace

void fill_index() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    cat_kernels.set_cpu(dtype, &cat_kernel);
    switch (item_size(dtype)) {
      case 1: set<uint8_t>(dtype); break;
      case 2: set<uint16_t>(dtype); break;
      case 4: set<uint32_t>(dtype); break;
      case 8: set<uint64_t>(dtype); break;
      default: set<Word16>(dtype);
    }
  }
  find_out_of_range_kernels.set_cpu(DType::int64, &find_out_of_range_kernel);
}

}  // namespace ebb::kernels::cpu
