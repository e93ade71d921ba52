// ebb/autograd/rules/reduce/prod.cpp -- gradients of products.
//
// The slope of a product at one factor is the product of all others. Without a zero among the
// factors that is out / factor. With one, the products of all others come from a tree: pairs of
// factors are multiplied, then pairs of pairs, up to one product; on the way back each half of a
// pair gets the slope of the pair times the other half. All of it is recorded, so it can be
// differentiated again. On a device it is always the tree: asking for zeros would wait for it.
#include "ebb/autograd/ops/prod.h"

#include <vector>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/ops/any.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/rules/reduce/reduce.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/tensor/meta.h"

namespace ebb::autograd::rules {
namespace {

bool may_have_zero(const Tensor& input) {
  if (is_meta(input)) return false;
  if (!is_on_host(input)) return true;
  const NoGradGuard guard;
  return any(eq(input, 0)).item<bool>();
}

Tensor even_half(const Tensor& pairs) { return slice(pairs, -1, 0, std::nullopt, 2); }
Tensor odd_half(const Tensor& pairs) { return slice(pairs, -1, 1, std::nullopt, 2); }

/// The slopes of the product along the last dim, times `grad`, which has size 1 there.
Tensor slopes_by_tree(const Tensor& factors, const Tensor& grad) {
  std::vector<Tensor> levels = {factors};
  while (levels.back().size(-1) > 1) {
    Tensor& level = levels.back();
    if (level.size(-1) % 2 != 0) {
      const Tensor rest[] = {level, ones_like(narrow(level, -1, 0, 1))};
      level = cat(rest, -1);
    }
    levels.push_back(mul(even_half(level), odd_half(level)));
  }
  Tensor slope = grad;
  for (size_t i = levels.size() - 1; i-- > 0;) {
    const Tensor& pairs = levels[i];
    slope = narrow(slope, -1, 0, pairs.size(-1) / 2);
    const Tensor halves[] = {unsqueeze(mul0(slope, odd_half(pairs)), -1),
                             unsqueeze(mul0(slope, even_half(pairs)), -1)};
    slope = reshape(cat(halves, -1), pairs.shape());
  }
  return narrow(slope, -1, 0, factors.size(-1));
}

/// grad times the product of all other factors, along the last dim; `grad` and `out` have size 1
/// there. A product of half numbers may have left their range, and is made again.
Tensor slopes(const Tensor& grad, const Tensor& given, const Tensor& result) {
  if (given.numel() == 0) return mul0(grad, given);
  const Tensor factors = widened(given);
  if (may_have_zero(factors)) return slopes_by_tree(conj(factors), grad);
  const Tensor out = is_half(result.dtype()) ? prod(factors, -1, true) : result;
  return in_blocks(
      [](const Tensor& g, const Tensor& x, const Tensor& o) { return mul0(g, conj(div(o, x))); },
      grad, factors, out);
}

Tensor cast_like(const Tensor& input, const Tensor& out) {
  return input.dtype() == out.dtype() ? input : cast(input, out.dtype());
}

}  // namespace

Tensor prod_grad(const Tensor& grad, const Tensor& input, const Tensor& out) {
  const int64_t flat[] = {input.numel()}, one[] = {1};
  const Tensor factors = reshape(cast_like(input, out), flat);
  return reshape(slopes(reshape(grad, one), factors, reshape(out, one)), input.shape());
}

Tensor prod_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out) {
  return sum(mul(tangent, conj(prod_grad(ones_like(out), input, out))));
}

Tensor prod_dim_grad(const Tensor& grad, const Tensor& input, const Tensor& out, int64_t dim,
                     bool keepdim) {
  if (input.ndim() == 0) return grad;
  if (input.ndim() == 1) return prod_grad(grad, input, out);  // no dim is left to keep the place
  const int64_t dims[] = {dim};
  const auto last = [&](const Tensor& kept) { return transpose(kept, dim, -1); };
  const auto spread = [&](const Tensor& reduced) {
    return last(with_reduced_dims(reduced, input.sizes(), IntSpan(dims), keepdim));
  };
  return last(slopes(spread(grad), last(cast_like(input, out)), spread(out)));
}

Tensor prod_dim_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out, int64_t dim,
                    bool keepdim) {
  const int64_t dims[] = {dim};
  const Tensor slope = prod_dim_grad(ones_like(out), input, out, dim, keepdim);
  return sum(mul(tangent, conj(slope)), IntSpan(dims), keepdim);
}

}  // namespace ebb::autograd::rules
