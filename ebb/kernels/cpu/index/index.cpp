// ebb/kernels/cpu/index/index.cpp -- cat, gather and index_select.
//
// Elements are only moved, so what counts is their size.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cat_parts.h"
#include "ebb/kernels/checked_index.h"
#include "ebb/kernels/cpu/index/row_pieces.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/cat.h"
#include "ebb/kernels/tables/gather.h"
#include "ebb/kernels/tables/index_select.h"

namespace ebb::kernels::cpu {
namespace {

/// Copies a block of bytes; of a few without a call, which would take longer than the copy.
[[gnu::always_inline]] inline void copy_block(char* to, const char* from, int64_t bytes) {
  if (bytes > 512) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  for (; bytes >= 64; bytes -= 64, to += 64, from += 64) std::memcpy(to, from, 64);
  const auto copy_part = [&]<size_t size>() {
    if ((bytes & int64_t{size}) == 0) return;
    std::memcpy(to, from, size);
    to += size;
    from += size;
  };
  copy_part.operator()<32>();
  copy_part.operator()<16>();
  copy_part.operator()<8>();
  copy_part.operator()<4>();
  copy_part.operator()<2>();
  copy_part.operator()<1>();
}

/// Whether everything from `dim` on is one dense block of memory.
bool is_dense_from(const TensorView& view, int dim) {
  const auto behind = static_cast<size_t>(view.ndim - dim);
  return is_contiguous({view.sizes + dim, behind}, {view.strides + dim, behind});
}

/// Where number `outer` of the places along the dims before `dim` is.
int64_t outer_offset(const TensorView& view, int dim, int64_t outer) {
  int64_t offset = 0;
  for (int i = dim - 1; i > 0; --i) {
    offset += outer % view.sizes[i] * view.strides[i];
    outer /= view.sizes[i];
  }
  return dim == 0 ? 0 : offset + outer * view.strides[0];
}

/// The bytes of everything from `dim` on.
int64_t bytes_from(const TensorView& view, int dim) {
  auto bytes = static_cast<int64_t>(item_size(view.dtype));
  for (int i = dim; i < view.ndim; ++i) bytes *= view.sizes[i];
  return bytes;
}

constexpr int64_t kShortLine = 4096;  // bytes; longer ones are worth a loop of their own

/// An operand of cat: a short block of bytes, again and again.
struct Blocks {
  const char* from;
  int64_t step, bytes;
};

/// The operands of cat, if there are few and each line of the result is one short block of each.
struct BlocksOfCat {
  static constexpr size_t kMost = 16;
  std::array<Blocks, kMost> each;
  size_t count = 0;

  BlocksOfCat(std::span<const TensorView> inputs, int dim, const TensorView& out) {
    if (out.numel == 0 || !out.contiguous || bytes_from(out, dim) > kShortLine) return;
    if (inputs.size() > kMost) return;
    const auto item = static_cast<int64_t>(item_size(out.dtype));
    size_t found = 0;
    for (const TensorView& input : inputs) {
      if (input.numel == 0) continue;
      const int64_t bytes = bytes_from(input, dim);
      const bool has_step = input.contiguous || (dim == 1 && is_dense_from(input, 1));
      if (input.dtype != out.dtype || !has_step) return;
      each[found++] = {input.as<const char>(), dim == 1 ? input.strides[0] * item : bytes, bytes};
    }
    count = found;
  }
  std::span<const Blocks> blocks() const { return {each.data(), count}; }
};

/// Lines [begin, end) of the result, block by block: memory is written in the order in which it
/// lies.
void cat_lines(std::span<const Blocks> inputs, int64_t begin, int64_t end, char* to) {
  std::array<Blocks, BlocksOfCat::kMost> blocks;
  const size_t count = inputs.size();
  std::copy(inputs.begin(), inputs.end(), blocks.begin());
  for (size_t i = 0; i < count; ++i) blocks[i].from += begin * blocks[i].step;
  for (int64_t line = begin; line < end; ++line) {
    for (size_t i = 0; i < count; ++i) {
      copy_block(to, blocks[i].from, blocks[i].bytes);
      to += blocks[i].bytes;
      blocks[i].from += blocks[i].step;
    }
  }
}

/// Pieces are short enough that all operands' blocks of one come together in the cache.
void cat_blocks(std::span<const Blocks> inputs, int64_t line, const TensorView& out) {
  constexpr int64_t kFewBytes = 32;  // going to the next operand costs as much
  // What outgrows the second cache. Within it, writing in order gains nothing.
  constexpr int64_t kManyBytes = 1 << 20;
  const auto item = static_cast<int64_t>(item_size(out.dtype));
  const bool is_by_line = out.numel * item >= kManyBytes &&
                          std::all_of(inputs.begin(), inputs.end(),
                                      [](const Blocks& one) { return one.bytes >= kFewBytes; });
  parallel_for(out.numel * item / line, kGrain * 4 / line, [&](int64_t begin, int64_t end) {
    char* part = out.as<char>() + begin * line;
    if (is_by_line) return cat_lines(inputs, begin, end, part);
    for (const Blocks& input : inputs) {
      // Copies of their own, which no byte that is written can change.
      const int64_t bytes = input.bytes, step = input.step, to_step = line;
      const char* from = input.from + begin * step;
      char* to = part;
      for (int64_t left = end - begin; left > 0; --left, from += step, to += to_step) {
        copy_block(to, from, bytes);
      }
      part += bytes;
    }
  });
}

void cat_kernel(const Context& context, std::span<const TensorView> inputs, int dim,
                const TensorView& out) {
  const BlocksOfCat short_ones(inputs, dim, out);
  if (short_ones.count != 0) return cat_blocks(short_ones.blocks(), bytes_from(out, dim), out);
  for_each_part(inputs, dim, out, [&](const TensorView& input, const TensorView& part) {
    cast_kernels.find_cpu(input.dtype)(context, input, part);
  });
}

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

/// Asks for the memory of a block that is copied soon. Its place is not checked yet.
[[gnu::always_inline]] inline void prefetch_block(const char* from, uint64_t offset) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + offset));
}

/// A part of index_select where whole blocks are copied.
struct BlockChoice {
  const int64_t* indices;
  int64_t index_step, count, positions;
  int64_t step, out_step, bytes;

  /// Copies blocks [begin, end) of `count`, up to that of a wrong index, which is noted.
  void copy(const char* from, char* to, int64_t begin, int64_t end, FirstWrong* wrong) const {
    constexpr int64_t kAhead = 16;
    // Copies of their own, which no byte that is written can change.
    const BlockChoice own = *this;
    const int64_t bytes = own.bytes, last = own.count - kAhead;
    for (int64_t at = begin; at < end; ++at) {
      if (at < last) {
        const int64_t next = read_once(own.indices + (at + kAhead) * own.index_step);
        prefetch_block(from, static_cast<uint64_t>(next) * static_cast<uint64_t>(own.step));
      }
      const int64_t place = read_once(own.indices + at * own.index_step);
      if (!is_index(place, own.positions)) [[unlikely]]
        return wrong->note(place, at);
      copy_block(to + at * own.out_step, from + place * own.step, bytes);
    }
  }
};

/// index_select where whole blocks are copied.
void select_blocks(const TensorView& input, int dim, const TensorView& index,
                   const TensorView& out) {
  FirstWrong wrong;
  const auto item = static_cast<int64_t>(item_size(out.dtype));
  const BlockChoice choice{index.as<const int64_t>(),
                           index.ndim == 0 ? 0 : index.strides[0],
                           out.sizes[dim],
                           input.sizes[dim],
                           input.strides[dim] * item,
                           out.strides[dim] * item,
                           bytes_from(out, dim + 1)};
  const int64_t count = choice.count;
  const int64_t grain = std::max<int64_t>(1, kGrain * 4 / choice.bytes);
  parallel_for(out.numel * item / choice.bytes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t outer = row / count, first = row % count;
      const int64_t last = std::min(count, first + end - row);
      const char* const from = input.as<char>() + outer_offset(input, dim, outer) * item;
      char* const to = out.as<char>() + outer_offset(out, dim, outer) * item;
      choice.copy(from, to, first, last, &wrong);
      row += last - first;
    }
  });
  wrong.throw_if_found();
}

template <typename Word>
void index_select_kernel(const Context& context, const TensorView& input, int dim,
                         const TensorView& index, const TensorView& out) {
  if (out.numel == 0) return;
  const bool has_blocks =
      out.ndim > dim + 1 && is_dense_from(input, dim + 1) && is_dense_from(out, dim + 1);
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
}

}  // namespace ebb::kernels::cpu
