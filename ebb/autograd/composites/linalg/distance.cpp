// ebb/autograd/composites/linalg/distance.cpp -- distances between points, and norms of slices.
#include "ebb/autograd/operands/distance.h"

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cdist.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/combinations.h"
#include "ebb/autograd/ops/dist.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/le.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/norm.h"
#include "ebb/autograd/ops/pdist.h"
#include "ebb/autograd/ops/renorm.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/ops/square.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::check_ndim;
using ops::infer::describe;

constexpr int64_t kFewRows = 25;  // below, differences cost no more than products

void check_exponent(const char* op, double p) {
  if (!(p >= 0)) throw ValueError(str(op, ": p must be at least 0, got ", p));
}

/// What norms are taken of.
Tensor sizes_of(const Tensor& input) { return is_complex(input.dtype()) ? abs(input) : input; }

/// Whether distances of exponent 2 come from a product of matrices.
bool wants_product(std::optional<std::string_view> mode, const Tensor& x1, const Tensor& x2) {
  if (!mode || *mode == "use_mm_for_euclid_dist_if_necessary") {
    return item_size(x1.dtype()) >= 4 && std::max(x1.size(-2), x2.size(-2)) > kFewRows;
  }
  if (*mode == "use_mm_for_euclid_dist") return true;
  if (*mode == "donot_use_mm_for_euclid_dist") return false;
  throw ValueError(
      str("cdist: compute_mode needs use_mm_for_euclid_dist, "
          "donot_use_mm_for_euclid_dist or use_mm_for_euclid_dist_if_necessary, got ",
          in_quotes(*mode)));
}

/// sqrt(|a|^2 + |b|^2 - 2 a b), whose derivative is taken as 0 where nothing is left.
Tensor euclidean(const Tensor& x1, const Tensor& x2) {
  const Shape last{-1};
  const Tensor squares =
      sum(square(x1), last, true) + transpose(sum(square(x2), last, true), -2, -1);
  const Tensor rest = squares - 2 * matmul(x1, transpose(x2, -2, -1));
  const Tensor is_none = le(rest, 0);
  return where(is_none, 0, sqrt(where(is_none, 1, rest)));
}

/// The p-norms of differences along their last dim; 0 of points without coordinates.
Tensor lengths(const Tensor& differences, double p) {
  return norm(differences, differences.size(-1) == 0 ? 1 : p, Shape{-1});
}

/// The factor of each slice along `axis`: 1, or what brings its norm to `most`.
Tensor factors(const char* op, const Tensor& input, double p, int64_t dim, double most) {
  check_ndim(op, "input", input, 2, kMaxDims);
  const int axis = normalize_dim(op, dim, input);
  if (!(p > 0)) throw ValueError(str(op, ": p must be above 0, got ", p));
  if (!(most >= 0)) throw ValueError(str(op, ": maxnorm must be at least 0, got ", most));
  Shape others;
  for (int i = 0; i < input.ndim(); ++i) {
    if (i != axis) others.push_back(i);
  }
  const Tensor norms = norm(sizes_of(input), p, others, true);
  return where(greater(norms, most), most / (norms + 1e-7), 1);
}

}  // namespace

Tensor dist(const Tensor& input, const Tensor& other, const Scalar& p) {
  const autograd::operands::dist call(input, other);
  const auto compute = [&](const Tensor& input, const Tensor& other) {
    return norm(sizes_of(input - other), p.to_double());
  };
  return autograd::through_float(compute, input, other);
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p,
             std::optional<std::string_view> compute_mode) {
  const autograd::operands::cdist call(x1, x2);
  check_ndim("cdist", "x1", x1, 2, kMaxDims - 1);
  check_ndim("cdist", "x2", x2, 2, kMaxDims - 1);
  if (x1.size(-1) != x2.size(-1)) {
    throw ShapeError(
        str("cdist: x1 and x2 need rows of one size, got ", describe(x1), " and ", describe(x2)));
  }
  check_exponent("cdist", p);
  const bool is_product = wants_product(compute_mode, x1, x2);
  if (p == 2 && is_product) return autograd::through_float(euclidean, x1, x2);
  const auto apart = [&](const Tensor& from, const Tensor& to) {
    return lengths(unsqueeze(from, -2) - unsqueeze(to, -3), p);
  };
  return autograd::through_float(apart, x1, x2);
}

Tensor pdist(const Tensor& input, double p) {
  const autograd::operands::pdist call(input);
  check_ndim("pdist", "input", input, 2, 2);
  check_exponent("pdist", p);
  const auto compute = [&](const Tensor& input) {
    const Tensor pairs = to_device(combinations(arange(input.size(0))), input.device());
    const Tensor difference =
        index_select(input, 0, select(pairs, 1, 0)) - index_select(input, 0, select(pairs, 1, 1));
    return lengths(difference, p);
  };
  return autograd::through_float(compute, input);
}

Tensor renorm(const Tensor& input, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  const autograd::operands::renorm call(input);
  check_ndim("renorm", "input", input, 2, kMaxDims);
  const auto compute = [&](const Tensor& x) {
    return x * factors("renorm", x, p.to_double(), dim, maxnorm.to_double());
  };
  return autograd::through_float(compute, input);
}

const Tensor& renorm_(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  const autograd::operands::renorm_inplace call(self);
  // The norm keeps what it was taken of.
  return self *= factors("renorm_", autograd::in_float(clone(self)), p.to_double(), dim,
                         maxnorm.to_double());
}

}  // namespace ebb
