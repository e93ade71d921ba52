// ebb/kernels/cpu/pointwise/loss.cpp -- the binary cross entropies, element by element.
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/tables/bernoulli_loss.h"
#include "ebb/kernels/tables/logistic_loss.h"
#include "ebb/kernels/tables/logistic_slope.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// log(1 + x) without losing a small x: the rounding of 1 + x is undone by the quotient.
template <class D, class V>
HWY_INLINE V log_one_plus(D d, V x) {
  const V sum = hn::Add(hn::Set(d, 1), x);
  const V kept = hn::Sub(sum, hn::Set(d, 1));
  const V result = hn::Mul(log_of(d, sum), hn::Div(x, kept));
  return hn::IfThenElse(hn::Eq(kept, hn::Zero(d)), x, result);
}

/// softplus(x) - t x, the cross entropy of t with 1 / (1 + exp(-x)); never overflows.
struct LogisticLoss {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V t) const {
    const V tail = log_one_plus(d, exp_of(d, hn::Neg(hn::Abs(x))));
    const V above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);  // keeps NaN
    return hn::Add(hn::NegMulAdd(t, x, above), tail);
  }
};

/// 1 / (1 + exp(-x)) - t, its slope.
struct LogisticSlope {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V t) const {
    const V one = hn::Set(d, 1);
    const V decay = exp_of(d, hn::Neg(hn::Abs(x)));
    const V share =
        hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), decay, one), hn::Add(one, decay));
    return hn::Sub(share, t);
  }
};

/// -(t log x + (1 - t) log(1 - x)), with logarithms of at least -100 as PyTorch has it.
struct BernoulliLoss {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V t) const {
    const V least = hn::Set(d, -100);
    const V log_x = hn::Max(log_of(d, x), least);
    const V log_rest = hn::Max(log_one_plus(d, hn::Neg(x)), least);
    const V rest = hn::Mul(hn::Sub(hn::Set(d, 1), t), log_rest);
    return hn::Neg(hn::MulAdd(t, log_x, rest));
  }
};

}  // namespace

void fill_loss() {
  fill<LogisticLoss>(logistic_loss_kernels);
  fill<LogisticSlope>(logistic_slope_kernels);
  fill<BernoulliLoss>(bernoulli_loss_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
