// ebb/kernels/cpu/simd/strided.cpp -- merging of dims, and copies between strided memory and tiles.
#include "ebb/kernels/cpu/simd/strided.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ebb::kernels::cpu {
namespace {

/// `word` in `count` places, 64 bytes at a time, of which the last may overlap those before: left
/// to themselves, compilers store one after the other.
template <typename Word>
void repeat_word(Word word, int64_t count, Word* out) {
  constexpr int64_t kWords = 64 / sizeof(Word);
  Word words[kWords];
  std::fill_n(words, std::min(count, kWords), word);
  if (count < kWords) {
    std::memcpy(out, words, static_cast<size_t>(count) * sizeof(Word));
    return;
  }
  for (int64_t i = 0; i + kWords <= count; i += kWords) std::memcpy(out + i, words, sizeof(words));
  std::memcpy(out + count - kWords, words, sizeof(words));
}

template <typename Word>
void gather_words(const Word* data, int64_t stride, int64_t count, Word* tile) {
  if (stride == 1) {
    std::memcpy(tile, data, static_cast<size_t>(count) * sizeof(Word));
  } else if (stride == 0) {
    repeat_word(*data, count, tile);
  } else {
    for (int64_t i = 0; i < count; ++i) tile[i] = data[i * stride];
  }
}

template <typename Word>
void scatter_words(const Word* tile, int64_t count, Word* data, int64_t stride) {
  if (stride == 1) {
    std::memcpy(data, tile, static_cast<size_t>(count) * sizeof(Word));
  } else {
    for (int64_t i = 0; i < count; ++i) data[i * stride] = tile[i];
  }
}

}  // namespace

void gather_run(const void* data, int64_t stride, int64_t count, int64_t item, void* tile) {
  visit_word(item, [&]<typename Word>(Word*) {
    gather_words(static_cast<const Word*>(data), stride, count, static_cast<Word*>(tile));
  });
}

void scatter_run(const void* tile, int64_t count, int64_t item, void* data, int64_t stride) {
  visit_word(item, [&]<typename Word>(Word*) {
    scatter_words(static_cast<const Word*>(tile), count, static_cast<Word*>(data), stride);
  });
}

LoopShape::LoopShape(const TensorView& out) : ndim(out.ndim) {
  for (int dim = 0; dim < ndim; ++dim) dims[dim] = static_cast<uint8_t>(dim);
  if (!out.contiguous) {
    std::stable_sort(dims, dims + ndim, [&](uint8_t lhs, uint8_t rhs) {
      return std::abs(out.strides[lhs]) > std::abs(out.strides[rhs]);
    });
  }
  for (int dim = 0; dim < ndim; ++dim) sizes[dim] = out.sizes[dims[dim]];
}

StridedRange::StridedRange(const TensorView& view, const LoopShape& shape)
    : data_(static_cast<char*>(view.data)), item_(static_cast<int64_t>(item_size(view.dtype))) {
  const int lead = shape.ndim - view.ndim;  // dims that the view does not have are broadcast
  for (int i = 0; i < shape.ndim; ++i) {
    const int64_t size = shape.sizes[i];
    if (size == 1) continue;
    const int dim = shape.dims[i] - lead;
    const bool stretched = dim < 0 || view.sizes[dim] == 1;
    const int64_t stride = stretched ? 0 : view.strides[dim];
    if (ndim_ > 0 && strides_[ndim_ - 1] == stride * size) {
      sizes_[ndim_ - 1] *= size;
      strides_[ndim_ - 1] = stride;
    } else {
      sizes_[ndim_] = size;
      strides_[ndim_++] = stride;
    }
  }
}

char* StridedRange::at(int64_t index) const {
  int64_t offset = 0;
  for (int dim = ndim_ - 1; dim > 0; --dim) {
    offset += index % sizes_[dim] * strides_[dim];
    index /= sizes_[dim];
  }
  if (ndim_ > 0) offset += index * strides_[0];
  return data_ + offset * item_;
}

/// Calls body(memory, count) for the pieces of innermost runs that make up [begin, begin + count).
template <typename Body>
void StridedRange::for_each_run(int64_t begin, int64_t count, Body body) const {
  int64_t at_dim[kMaxDims];
  int64_t rest = begin;
  char* place = data_;
  for (int dim = ndim_ - 1; dim >= 0; --dim) {
    at_dim[dim] = dim == 0 ? rest : rest % sizes_[dim];
    rest /= sizes_[dim];
    place += at_dim[dim] * strides_[dim] * item_;
  }
  if (ndim_ == 0) return body(place, count);
  const int inner = ndim_ - 1;
  while (true) {
    const int64_t run = std::min(count, sizes_[inner] - at_dim[inner]);
    body(place, run);
    count -= run;
    if (count == 0) return;
    place -= at_dim[inner] * strides_[inner] * item_;
    at_dim[inner] = 0;
    for (int dim = inner - 1; dim >= 0; --dim) {
      place += strides_[dim] * item_;
      if (++at_dim[dim] < sizes_[dim]) break;
      place -= sizes_[dim] * strides_[dim] * item_;
      at_dim[dim] = 0;
    }
  }
}

void StridedRange::gather(int64_t begin, int64_t count, void* tile) const {
  const int64_t stride = inner_stride();
  visit_word(item_, [&]<typename Word>(Word*) {
    auto* to = static_cast<Word*>(tile);
    for_each_run(begin, count, [&](char* from, int64_t run) {
      gather_words(reinterpret_cast<const Word*>(from), stride, run, to);
      to += run;
    });
  });
}

void StridedRange::scatter(int64_t begin, int64_t count, const void* tile) const {
  const int64_t stride = inner_stride();
  visit_word(item_, [&]<typename Word>(Word*) {
    const auto* from = static_cast<const Word*>(tile);
    for_each_run(begin, count, [&](char* to, int64_t run) {
      scatter_words(from, run, reinterpret_cast<Word*>(to), stride);
      from += run;
    });
  });
}

}  // namespace ebb::kernels::cpu
