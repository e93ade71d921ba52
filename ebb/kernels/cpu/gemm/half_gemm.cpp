// ebb/kernels/cpu/gemm/half_gemm.cpp -- widens panels of two matrices and multiplies those.
//
// A panel of A, one of B and the sums of a block of C lie in the cache together. docs/gemm.md has
// what that costs beside a product of float32.
#include "ebb/kernels/cpu/gemm/half_gemm.h"

#include <algorithm>

#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/tables/cast.h"

namespace ebb::kernels::cpu {
namespace {

constexpr int64_t kSide = 512;            // of a panel, in elements
constexpr int64_t kMostRows = 2 * kSide;  // of A's, if they are short

int64_t rounded(int64_t count) { return (count + 15) / 16 * 16; }

/// One product: its matrices and the memory for a panel of each.
class HalfProduct {
 public:
  HalfProduct(const Context& context, DType dtype, const Gemm& args, const void* bias)
      : context_(context),
        dtype_(dtype),
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
    if (bias_ != nullptr) convert(bias_ + column * kItem, dtype_, 0, sums, rows, columns);
    for (int64_t p = 0; p < args_.k; p += depth_) {
      const int64_t depth = std::min(depth_, args_.k - p);
      gemm(DType::float32, {rows, columns, depth, panel(args_.a, row, p, rows, depth, a),
                            panel(args_.b, p, column, depth, columns, b), sums, columns,
                            p > 0 || bias_ != nullptr});
    }
    const int64_t lines[] = {rows, columns}, to[] = {args_.ldc, 1}, from[] = {columns, 1};
    cast(view(sums, DType::float32, lines, from), view(c, dtype_, lines, to));
  }

  /// Part of a matrix in float32, in the order in which it is stored.
  MatrixRef panel(const MatrixRef& matrix, int64_t row, int64_t column, int64_t rows,
                  int64_t columns, float* to) const {
    const char* const from = static_cast<const char*>(matrix.data) +
                             (row * matrix.row_stride + column * matrix.column_stride) * kItem;
    if (matrix.column_stride == 1) {
      convert(from, dtype_, matrix.row_stride, to, rows, columns);
      return {to, columns, 1};
    }
    convert(from, dtype_, matrix.column_stride, to, columns, rows);
    return {to, 1, rows};
  }

  /// Widens lines that begin `step` elements apart.
  void convert(const char* from, DType dtype, int64_t step, float* to, int64_t lines,
               int64_t length) const {
    const int64_t sizes[] = {lines, length}, given[] = {step, 1}, dense[] = {length, 1};
    cast(view(from, dtype, sizes, given), view(to, DType::float32, sizes, dense));
  }

  static TensorView view(const void* data, DType dtype, const int64_t* sizes,
                         const int64_t* strides) {
    const bool is_dense = sizes[0] == 1 || strides[0] == sizes[1];
    return {const_cast<void*>(data), sizes, strides, sizes[0] * sizes[1], 2, dtype, is_dense};
  }
  void cast(const TensorView& from, const TensorView& to) const {
    cast_kernels.find_cpu(from.dtype)(context_, from, to);
  }

  static constexpr int64_t kItem = 2;
  const Context& context_;
  DType dtype_;
  const Gemm& args_;
  const char* bias_;
  int64_t columns_, depth_, rows_;
  Scratch scratch_;
};

}  // namespace

void half_gemm(const Context& context, DType dtype, const Gemm& args, const void* bias) {
  HalfProduct(context, dtype, args, bias).run();
}

}  // namespace ebb::kernels::cpu
