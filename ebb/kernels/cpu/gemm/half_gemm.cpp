// ebb/kernels/cpu/gemm/half_gemm.cpp -- widens panels of two matrices and multiplies those.
//
// A panel of A, one of B and the sums of a block of C lie in the cache together. docs/gemm.md has
// what that costs beside a product of float32.
#include "ebb/kernels/cpu/gemm/half_gemm.h"

#include <algorithm>

#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/pointwise/cast.h"

namespace ebb::kernels::cpu {
namespace {

constexpr int64_t kSide = 512;            // of a panel, in elements
constexpr int64_t kMostRows = 2 * kSide;  // of A's, if they are short

int64_t rounded(int64_t count) { return (count + 15) / 16 * 16; }

/// One product: its matrices and the memory for a panel of each.
class HalfProduct {
 public:
  HalfProduct(DType dtype, const Gemm& args, const void* bias)
      : dtype_(dtype),
        args_(args),
        bias_(static_cast<const char*>(bias)),
        columns_(std::min(args.n, kSide)),
        depth_(std::min(args.k, kSide)),
        rows_(std::min({args.m, kMostRows, kSide * kSide / depth_})),
        scratch_(static_cast<size_t>(rounded(rows_ * depth_) + rounded(depth_ * columns_) +
                                     rounded(rows_ * columns_)) *
                 sizeof(float)) {}

  void run() const {
    for (int64_t column = 0; column < args_.n; column += columns_) {
      for (int64_t row = 0; row < args_.m; row += rows_) run_block(row, column);
    }
  }

 private:
  void run_block(int64_t row, int64_t column) const {
    const int64_t rows = std::min(rows_, args_.m - row);
    const int64_t columns = std::min(columns_, args_.n - column);
    float* const a = scratch_.as<float>();
    float* const b = a + rounded(rows_ * depth_);
    float* const sums = b + rounded(depth_ * columns_);
    char* const c = static_cast<char*>(args_.c) + (row * args_.ldc + column) * kItem;
    if (bias_ != nullptr) widen(bias_ + column * kItem, 0, sums, rows, columns);
    for (int64_t p = 0; p < args_.k; p += depth_) {
      const int64_t depth = std::min(depth_, args_.k - p);
      gemm(DType::float32, {rows, columns, depth, panel(args_.a, row, p, rows, depth, a),
                            panel(args_.b, p, column, depth, columns, b), sums, columns,
                            p > 0 || bias_ != nullptr});
    }
    narrow(sums, c, args_.ldc, rows, columns);
  }

  /// Part of a matrix in float32, in the order in which it is stored.
  MatrixRef panel(const MatrixRef& matrix, int64_t row, int64_t column, int64_t rows,
                  int64_t columns, float* to) const {
    const char* const from = static_cast<const char*>(matrix.data) +
                             (row * matrix.row_stride + column * matrix.column_stride) * kItem;
    if (matrix.column_stride == 1) {
      widen(from, matrix.row_stride, to, rows, columns);
      return {to, columns, 1};
    }
    widen(from, matrix.column_stride, to, columns, rows);
    return {to, 1, rows};
  }

  /// Widens lines that begin `step` elements apart.
  void widen(const char* from, int64_t step, float* to, int64_t lines, int64_t length) const {
    convert(cast_row(dtype_, DType::float32), from, step * kItem, reinterpret_cast<char*>(to),
            length * kWide, lines, length, kItem);
  }
  /// Rounds them.
  void narrow(const float* from, char* to, int64_t step, int64_t lines, int64_t length) const {
    convert(cast_row(DType::float32, dtype_), reinterpret_cast<const char*>(from), length * kWide,
            to, step * kItem, lines, length, kWide);
  }
  /// Converts lines some bytes apart, at once if those given and those made lie side by side.
  static void convert(RowFunction row, const char* from, int64_t from_step, char* to,
                      int64_t to_step, int64_t lines, int64_t length, int64_t from_item) {
    const int64_t to_item = from_item == kItem ? kWide : kItem;
    if (from_step == length * from_item && to_step == length * to_item) {
      length *= lines;
      lines = 1;
    }
    for (int64_t i = 0; i < lines; ++i) {
      const void* in[] = {from + i * from_step};
      row(in, to + i * to_step, length, 0);
    }
  }

  static constexpr int64_t kItem = 2, kWide = 4;
  DType dtype_;
  const Gemm& args_;
  const char* bias_;
  int64_t columns_, depth_, rows_;
  Scratch scratch_;
};

}  // namespace

void half_gemm(DType dtype, const Gemm& args, const void* bias) {
  HalfProduct(dtype, args, bias).run();
}

}  // namespace ebb::kernels::cpu
