// ebb/kernels/cpu/linalg/row_matrices.h -- matrices row by row, as our own factors and solves take
// them, and how their batches are split among threads.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::cpu {

/// A part of a matrix: `step` elements from one row to the next.
template <typename T>
struct Rows {
  T* data;
  int64_t step;

  T* at(int64_t row, int64_t column = 0) const { return data + row * step + column; }
  Rows from(int64_t row, int64_t column) const { return {at(row, column), step}; }
};

/// An operand of a kernel: the matrices of a batch.
template <typename T>
struct RowMatrices {
  T* data;
  int64_t rows, columns;

  explicit RowMatrices(const TensorView& view)
      : data(view.as<T>()), rows(view.sizes[view.ndim - 2]), columns(view.sizes[view.ndim - 1]) {}
  int64_t size() const { return rows * columns; }
  Rows<T> operator[](int64_t i) const { return {data + i * size(), columns}; }
  /// What a matrix is if there is no result.
  void fill_nan(int64_t i) const {
    using Real = decltype(std::real(T()));
    std::fill_n((*this)[i].data, size(), T(std::numeric_limits<Real>::quiet_NaN()));
  }
};

/// Calls body(i) for each matrix of a batch. Where there are fewer of them than threads, each is
/// left to all threads; else each thread has its own. No bit of a result depends on which.
template <typename Body>
void for_each_row_matrix(const TensorView& info, double products, Body&& body) {
  constexpr double kPiece = 1 << 18;  // multiplications
  const auto grain = static_cast<int64_t>(kPiece / std::max(products, 1.0)) + 1;
  if (grain == 1 && info.numel < num_threads()) {
    for (int64_t i = 0; i < info.numel; ++i) body(i);
    return;
  }
  parallel_for(info.numel, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace ebb::kernels::cpu
