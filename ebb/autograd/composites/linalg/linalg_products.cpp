// ebb/autograd/composites/linalg/linalg_products.cpp -- products of vectors, and of chains of
// matrices.
#include "ebb/autograd/operands/linalg_products.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/linalg_cross.h"
#include "ebb/autograd/ops/linalg_multi_dot.h"
#include "ebb/autograd/ops/linalg_vecdot.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/roll.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/runtime/counted_vector.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::check_ndim;
using ops::infer::describe;

/// The cheapest order of a chain of products: where to cut it first, for each part of it.
class Chain {
 public:
  explicit Chain(std::span<const Tensor> matrices) : matrices_(matrices), count_(matrices.size()) {
    CountedVector<double> costs(count_ * count_, 0);
    cuts_.assign(count_ * count_, 0);
    for (size_t length = 2; length <= count_; ++length) {
      for (size_t first = 0; first + length <= count_; ++first) {
        const size_t last = first + length - 1;
        double least = std::numeric_limits<double>::infinity();
        for (size_t cut = first; cut < last; ++cut) {
          const double cost = costs[first * count_ + cut] + costs[(cut + 1) * count_ + last] +
                              static_cast<double>(matrices[first].size(-2)) *
                                  static_cast<double>(matrices[cut].size(-1)) *
                                  static_cast<double>(matrices[last].size(-1));
          if (cost < least) cuts_[first * count_ + last] = cut;
          least = std::min(cost, least);
        }
        costs[first * count_ + last] = least;
      }
    }
  }
  /// As deep as there are matrices.
  Tensor product(size_t first, size_t last) const {
    if (first == last) return matrices_[first];
    const size_t cut = cuts_[first * count_ + last];
    return matmul(product(first, cut), product(cut + 1, last));
  }

 private:
  std::span<const Tensor> matrices_;
  size_t count_;
  CountedVector<size_t> cuts_;
};

}  // namespace

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  const autograd::operands::linalg_vecdot call(x, y);
  check_ndim("linalg_vecdot", "x", x, 1, kMaxDims);
  check_ndim("linalg_vecdot", "y", y, 1, kMaxDims);
  if (x.size(dim) != y.size(dim)) {
    throw ShapeError(str("linalg_vecdot: x and y need one size along dim ", dim, ", got ",
                         describe(x), " and ", describe(y)));
  }
  const auto compute = [&](const Tensor& lhs, const Tensor& rhs) {
    const Tensor products = conj(lhs) * rhs;
    return sum(products, Shape{dim}, false, products.dtype());
  };
  return autograd::through_float(compute, x, y);
}

Tensor linalg_cross(const Tensor& input, const Tensor& other, int64_t dim) {
  const autograd::operands::linalg_cross call(input, other);
  check_ndim("linalg_cross", "input", input, 1, kMaxDims);
  check_ndim("linalg_cross", "other", other, 1, kMaxDims);
  if (input.size(dim) != 3 || other.size(dim) != 3) {
    throw ShapeError(str("linalg_cross: needs a dim of 3 elements, got ", describe(input), " and ",
                         describe(other)));
  }
  if (dim >= 0 && input.ndim() != other.ndim()) {  // it would be another dim of each
    throw ShapeError(
        str("linalg_cross: dim must be negative between operands of different ranks, got ", dim,
            " for ", describe(input), " and ", describe(other)));
  }
  const auto turned = [&](const Tensor& one, int64_t by) {
    return roll(one, Shape{by}, Shape{dim});
  };
  const auto compute = [&](const Tensor& lhs, const Tensor& rhs) {
    return turned(lhs, -1) * turned(rhs, 1) - turned(lhs, 1) * turned(rhs, -1);
  };
  return autograd::through_float(compute, input, other);
}

Tensor linalg_multi_dot(std::span<const Tensor> tensors) {
  const autograd::CompositeCall call("linalg_multi_dot", __builtin_return_address(0));
  if (tensors.size() < 2) {
    throw ValueError(str("linalg_multi_dot: needs at least 2 tensors, got ", tensors.size()));
  }
  std::vector<Tensor> matrices(tensors.begin(), tensors.end());
  for (size_t i = 0; i < matrices.size(); ++i) {
    const bool is_end = i == 0 || i + 1 == matrices.size();
    const std::string name = str("tensors[", i, "]");
    ops::infer::check_defined("linalg_multi_dot", name.c_str(), matrices[i]);
    check_ndim("linalg_multi_dot", name.c_str(), matrices[i], is_end ? 1 : 2, 2);
  }
  // Products on the way are kept in float32; under autocast each has the block's dtype.
  const DType dtype = tensors.front().dtype();
  const bool is_wide =
      is_half(dtype) && tensors.size() > 2 && (thread_state.modes & gate::kAutocast) == 0 &&
      std::ranges::all_of(tensors, [&](const Tensor& one) { return one.dtype() == dtype; });
  if (is_wide) {
    for (Tensor& matrix : matrices) matrix = autograd::in_float(matrix);
  }
  const bool is_row = tensors.front().ndim() == 1, is_column = tensors.back().ndim() == 1;
  if (is_row) matrices.front() = unsqueeze(matrices.front(), 0);
  if (is_column) matrices.back() = unsqueeze(matrices.back(), 1);
  Tensor product = Chain(matrices).product(0, matrices.size() - 1);
  if (is_wide) product = autograd::narrowed(product, dtype);
  if (is_column) product = squeeze(product, -1);
  return is_row ? squeeze(product, 0) : product;
}

}  // namespace ebb
