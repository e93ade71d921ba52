// ebb/kernels/cpu/gemm/matmul.cpp -- matmul and linear: batches, strides, half types, threads.
//
// Operands that no engine can read (odd strides) are copied to dense scratch memory first; half
// types are widened panel by panel, or not at all (half_gemm.h, gemm.h). The work is cut into
// blocks of C and matrices of the batch by shape alone, so the result does not depend on the number
// of threads.
#include "ebb/kernels/tables/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/gemm/half_gemm.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/fill.h"
#include "ebb/kernels/tables/linear.h"

namespace ebb::kernels::cpu {
namespace {

// Multiplications that make a piece worth handing to another thread.
constexpr int64_t kPieceWork = int64_t{1} << 21;
constexpr int64_t kLeastSide = 32;
// An operand stored the other way round is reordered for each piece that reads it, so such products
// are cut into fewer pieces, and first along the side that each part of that operand is read once.
constexpr int64_t kLeastSideTurned = 128;
constexpr int64_t kLeastOtherSideTurned = 256;

/// A view and, where it had to be copied, the memory of the copy.
class DenseCopy {
 public:
  /// Room for a dense tensor with the sizes of `view`.
  DenseCopy(const TensorView& view, DType dtype)
      : scratch_(std::max<size_t>(1, static_cast<size_t>(view.numel) * item_size(dtype))),
        view_(view) {
    contiguous_strides(view.shape(), strides_);
    view_.data = scratch_.as<void>();
    view_.strides = strides_;
    view_.dtype = dtype;
    view_.contiguous = true;
  }
  const TensorView& view() const { return view_; }

 private:
  Scratch scratch_;
  TensorView view_;
  int64_t strides_[kMaxDims];
};

void copy(const Context& context, const TensorView& from, const TensorView& to) {
  cast_kernels.find_cpu(from.dtype)(context, from, to);
}

/// The matrix in the last two dims as gemm() wants it, or nothing if its strides do not allow it.
std::optional<MatrixRef> as_matrix(const TensorView& view) {
  const int row = view.ndim - 2, column = view.ndim - 1;
  const MatrixRef matrix{view.data, view.strides[row], view.strides[column]};
  const auto stored = stored_matrix(matrix, view.sizes[row], view.sizes[column]);
  if (!stored) return std::nullopt;
  return stored->is_turned ? MatrixRef{view.data, 1, stored->ld}
                           : MatrixRef{view.data, stored->ld, 1};
}

/// One operand: its first matrix, its batch dims, and what it was copied to.
struct Operand {
  std::optional<DenseCopy> copied;
  TensorView view;
  MatrixRef matrix;

  Operand(const Context& context, const TensorView& given, DType compute) : view(given) {
    const auto direct = given.dtype == compute ? as_matrix(given) : std::nullopt;
    if (direct) {
      matrix = *direct;
      return;
    }
    copied.emplace(given, compute);
    copy(context, given, copied->view());
    view = copied->view();
    matrix = *as_matrix(view);
  }
};

/// Start of matrix number `index` of out's batch in a view that broadcasts to it, in bytes.
int64_t batch_offset(const TensorView& view, const TensorView& out, int64_t index) {
  int64_t offset = 0;
  const int lead = out.ndim - view.ndim;
  for (int dim = out.ndim - 3; dim >= 0; --dim) {
    const int64_t at = index % out.sizes[dim];
    index /= out.sizes[dim];
    const int own = dim - lead;
    if (own >= 0 && view.sizes[own] != 1) offset += at * view.strides[own];
  }
  return offset * static_cast<int64_t>(item_size(view.dtype));
}

/// Into how many blocks the C of one product is cut, at most. Each packs its part of A and B again:
/// docs/gemm.md has what that costs.
double most_blocks(double work, bool is_turned) {
  const auto per = [work](int bits) { return std::floor(work / static_cast<double>(1LL << bits)); };
  const double many = std::max(4.0, per(30));
  if (!is_turned) return std::min(per(21), many);
  return std::min({per(22), std::max(2.0, per(28)), many});
}

/// How the C of one product is cut into blocks.
struct Blocks {
  int64_t rows, columns;  // of one block
  int64_t across, count;  // blocks in a row of blocks, and in all

  Blocks(int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned) : rows(m), columns(n) {
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    const auto wanted =
        static_cast<int64_t>(std::min(64.0, most_blocks(work, a_turned || b_turned)));
    for (int64_t pieces = 1; 2 * pieces <= wanted; pieces *= 2) {
      int64_t* const side = side_to_halve(a_turned, b_turned);
      if (side == nullptr) break;
      *side = (*side / 2 + kLeastSide - 1) / kLeastSide * kLeastSide;
    }
    across = (n + columns - 1) / columns;
    count = across * ((m + rows - 1) / rows);
  }

 private:
  int64_t* side_to_halve(bool a_turned, bool b_turned) {
    if (a_turned == b_turned) {
      int64_t& side = rows >= columns ? rows : columns;
      return side < 2 * (a_turned ? kLeastSideTurned : kLeastSide) ? nullptr : &side;
    }
    int64_t& read_once = a_turned ? rows : columns;
    if (read_once >= 2 * kLeastSideTurned) return &read_once;
    int64_t& other = a_turned ? columns : rows;
    return other < 2 * kLeastOtherSideTurned ? nullptr : &other;
  }
};

// Below so many multiplications, conversions to float32 cost less than a call for bfloat16.
constexpr double kBFloat16Work = 1 << 17;

/// Computes one block of one matrix.
class Product {
 public:
  /// Adds to what is in `out` if `accumulate`; `bias`, if any, is dense and comes first.
  Product(const Operand& a, const Operand& b, const TensorView& out, bool accumulate,
          const void* bias)
      : dtype_(out.dtype),
        a_(a),
        b_(b),
        out_(out),
        accumulate_(accumulate),
        bias_(static_cast<const char*>(bias)),
        m_(out.sizes[out.ndim - 2]),
        n_(out.sizes[out.ndim - 1]),
        k_(a.view.sizes[a.view.ndim - 1]),
        blocks_(m_, n_, k_, a.matrix.column_stride != 1, b.matrix.column_stride != 1) {}

  void run() const {
    const int64_t tasks = out_.numel / (m_ * n_) * blocks_.count;
    const int64_t work = std::max<int64_t>(1, blocks_.rows * blocks_.columns * k_);
    parallel_for(tasks, std::max<int64_t>(1, kPieceWork / work), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) run_block(task);
    });
  }

 private:
  void run_block(int64_t task) const {
    const int64_t index = task / blocks_.count, block = task % blocks_.count;
    const int64_t row = block / blocks_.across * blocks_.rows;
    const int64_t column = block % blocks_.across * blocks_.columns;
    const auto item = static_cast<int64_t>(item_size(dtype_));
    Gemm args{std::min(blocks_.rows, m_ - row),
              std::min(blocks_.columns, n_ - column),
              k_,
              a_.matrix,
              b_.matrix,
              nullptr,
              out_.strides[out_.ndim - 2],
              accumulate_};
    if (m_ == 1) args.ldc = n_;
    args.a.data = static_cast<const char*>(args.a.data) + batch_offset(a_.view, out_, index) +
                  row * args.a.row_stride * item;
    args.b.data = static_cast<const char*>(args.b.data) + batch_offset(b_.view, out_, index) +
                  column * args.b.column_stride * item;
    args.c = out_.as<char>() + batch_offset(out_, out_, index) + (row * args.ldc + column) * item;
    const char* const bias = bias_ == nullptr ? nullptr : bias_ + column * item;
    if (is_half(dtype_)) return run_half(args, bias);
    if (bias != nullptr) write_bias(args, bias, item);
    const bool is_float = is_floating(dtype_) || is_complex(dtype_);
    is_float ? gemm(dtype_, args) : gemm_integers(dtype_, args);
  }

  void run_half(const Gemm& args, const void* bias) const {
    const double work = static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_);
    // The instructions take products in pairs. oneDNN 2.6.3 fills up the last pair of an odd k in a
    // way that makes NaN of infinities.
    const bool is_in_pairs = k_ % 2 == 0;
    if (dtype_ == DType::bfloat16 && is_in_pairs && work >= kBFloat16Work &&
        has_bfloat16_products()) {
      return onednn_bfloat16_gemm(args, bias);
    }
    half_gemm(dtype_, args, bias);
  }

  /// To each row of a block of C, just before the product is added to it in the cache.
  static void write_bias(const Gemm& args, const char* bias, int64_t item) {
    const auto bytes = static_cast<size_t>(args.n * item);
    for (int64_t i = 0; i < args.m; ++i) {
      std::memcpy(static_cast<char*>(args.c) + i * args.ldc * item, bias, bytes);
    }
  }

  DType dtype_;
  const Operand& a_;
  const Operand& b_;
  const TensorView& out_;
  bool accumulate_;
  const char* bias_;
  int64_t m_, n_, k_;
  Blocks blocks_;
};

/// Whether the whole product is one call of gemm(), and if so, makes it. Small products, which are
/// most of them in small networks, would otherwise spend more time here than there.
bool multiply_at_once(const TensorView& input, const TensorView& other, const TensorView& out,
                      bool accumulate) {
  const DType dtype = out.dtype;
  const bool is_plain =
      input.ndim == 2 && other.ndim == 2 && out.contiguous && dtype >= DType::float32;
  if (!is_plain) return false;
  const int64_t m = out.sizes[0], n = out.sizes[1], k = input.sizes[1];
  // Each side is below 2^21 here, so the product of three does not overflow.
  constexpr int64_t kMost = kPieceWork - 1;
  if (m > kMost || n > kMost || k > kMost || m * n * k >= kPieceWork || k == 0) return false;
  const auto a = as_matrix(input), b = as_matrix(other);
  if (!a || !b) return false;
  gemm(dtype, {m, n, k, *a, *b, out.data, n, accumulate});
  return true;
}

/// Writes `bias` to every row of a matrix.
void fill_rows(const Context& context, const TensorView& bias, const TensorView& out) {
  if (!bias.contiguous || !out.contiguous || bias.dtype != out.dtype) {
    return copy(context, bias, out);
  }
  const size_t bytes = static_cast<size_t>(out.sizes[1]) * item_size(out.dtype);
  for (int64_t i = 0; i < out.sizes[0]; ++i) {
    std::memcpy(out.as<char>() + static_cast<size_t>(i) * bytes, bias.data, bytes);
  }
}

bool can_hold_result(const TensorView& out) {
  const int64_t rows = out.sizes[out.ndim - 2], columns = out.sizes[out.ndim - 1];
  return (columns == 1 || out.strides[out.ndim - 1] == 1) &&
         (rows == 1 || out.strides[out.ndim - 2] >= columns);
}

/// A result of so many elements stays in the cache until the product is added to it.
constexpr int64_t kMostFilledAtOnce = 32 * 1024;

/// A bias that is not dense in the dtype of `out`, or none, in a copy.
class DenseBias {
 public:
  DenseBias(const Context& context, const TensorView* bias, DType dtype) {
    if (bias == nullptr) return;
    data_ = bias->data;
    if (bias->contiguous && bias->dtype == dtype) return;
    copy(context, *bias, copied_.emplace(*bias, dtype).view());
    data_ = copied_->view().data;
  }
  const void* data() const { return data_; }

 private:
  std::optional<DenseCopy> copied_;
  const void* data_ = nullptr;
};

/// out = input @ other, plus `bias` in every row.
void multiply(const Context& context, const TensorView& input, const TensorView& other,
              const TensorView* bias, const TensorView& out) {
  if (out.numel == 0) return;
  const DType dtype = out.dtype;
  std::optional<DenseCopy> staged;
  if (!can_hold_result(out)) staged.emplace(out, dtype);
  const TensorView& result = staged ? staged->view() : out;
  const bool has_bias = bias != nullptr, has_depth = input.sizes[input.ndim - 1] != 0;
  // A large product writes the bias block by block, on the threads that then add to it; one of half
  // types adds it before rounding.
  const bool is_dense_bias = has_bias && bias->contiguous && bias->dtype == dtype;
  const bool is_by_block =
      has_bias && has_depth && (is_half(dtype) || (is_dense_bias && out.numel > kMostFilledAtOnce));
  if (has_bias && !is_by_block) fill_rows(context, *bias, result);
  if (!staged && !is_by_block && multiply_at_once(input, other, out, has_bias)) return;
  if (has_depth) {
    const Operand a(context, input, dtype), b(context, other, dtype);
    const DenseBias dense(context, is_by_block ? bias : nullptr, dtype);
    Product(a, b, result, has_bias, dense.data()).run();
  } else if (!has_bias) {
    fill_kernels.find_cpu(dtype)(context, Scalar(0), result);
  }
  if (staged) copy(context, result, out);
}

void matmul_kernel(const Context& context, const TensorView& input, const TensorView& other,
                   const TensorView& out) {
  multiply(context, input, other, nullptr, out);
}

void linear_kernel(const Context& context, const TensorView& input, const TensorView& weight,
                   const TensorView* bias, const TensorView& out) {
  const int64_t sizes[] = {weight.sizes[1], weight.sizes[0]};
  const int64_t strides[] = {weight.strides[1], weight.strides[0]};
  TensorView turned = weight;
  turned.sizes = sizes;
  turned.strides = strides;
  turned.contiguous = false;
  multiply(context, input, turned, bias, out);
}

}  // namespace

void fill_matmul() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::uint64) continue;
    matmul_kernels.set_cpu(dtype, &matmul_kernel);
    linear_kernels.set_cpu(dtype, &linear_kernel);
  }
}

}  // namespace ebb::kernels::cpu
