// ebb/kernels/cpu/network/optim_variants.cpp -- the steps of optimizers that fewer programs use.
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/network/optim-inl.h"
#include "ebb/kernels/cpu/network/optim.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// `average` on its way to `value`: average * (1 - share) + value * share.
template <class D>
HWY_INLINE hn::Vec<D> moved(D d, hn::Vec<D> average, hn::Vec<D> value, double share) {
  return hn::MulAdd(hn::Sub(value, average), constant(d, share), average);
}
/// average * (1 - share) + value^2 * share, rounded as PyTorch does it.
template <class D>
HWY_INLINE hn::Vec<D> moved_square(D d, hn::Vec<D> average, hn::Vec<D> value, double kept) {
  const auto old = hn::Mul(average, constant(d, kept));
  return hn::MulAdd(hn::Mul(value, value), constant(d, 1 - kept), old);
}
/// The parameter shrunk by decoupled weight decay.
template <class Options, class D>
HWY_INLINE hn::Vec<D> decayed(const Options& options, D d, hn::Vec<D> param) {
  const bool shrinks = options.decoupled_weight_decay && options.weight_decay != 0;
  return shrinks ? hn::Mul(param, constant(d, 1 - options.lr * options.weight_decay)) : param;
}
template <class Options>
double coupled(const Options& options) {
  return options.decoupled_weight_decay ? 0.0 : options.weight_decay;
}

struct Adadelta {
  static constexpr int kOperands = 4;
  const AdadeltaOptions& options;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    const auto grad =
        direction_of(options, options.weight_decay, d, access.load(d, at[1] + i), param);
    const auto square = moved_square(d, access.load(d, at[2] + i), grad, options.rho);
    access.store(square, d, at[2] + i);
    const auto steps = access.load(d, at[3] + i);
    const auto eps = constant(d, options.eps);
    const auto root = hn::Sqrt(hn::Add(square, eps));
    const auto delta = hn::Mul(hn::Div(hn::Sqrt(hn::Add(steps, eps)), root), grad);
    access.store(moved_square(d, steps, delta, options.rho), d, at[3] + i);
    param = hn::NegMulAdd(delta, constant(d, options.lr), param);
    access.store(param, d, at[0] + i);
  }
};

struct Adamax {
  static constexpr int kOperands = 4;
  const AdamaxOptions& options;
  const StepFactors& factors;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    const auto grad =
        direction_of(options, options.weight_decay, d, access.load(d, at[1] + i), param);
    const auto mean = moved(d, access.load(d, at[2] + i), grad, 1 - options.beta1);
    access.store(mean, d, at[2] + i);
    const auto kept = hn::Mul(access.load(d, at[3] + i), constant(d, options.beta2));
    const auto size = hn::Add(hn::Abs(grad), constant(d, options.eps));
    // NaN stays: it is not less than anything.
    const auto largest = hn::IfThenElse(hn::Lt(size, kept), kept, size);
    access.store(largest, d, at[3] + i);
    param = hn::NegMulAdd(constant(d, factors.step_size), hn::Div(mean, largest), param);
    access.store(param, d, at[0] + i);
  }
};

struct NAdam {
  static constexpr int kOperands = 4;
  const NAdamOptions& options;
  const StepFactors& factors;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    const auto grad = direction_of(options, coupled(options), d, access.load(d, at[1] + i), param);
    param = decayed(options, d, param);
    const auto mean = moved(d, access.load(d, at[2] + i), grad, 1 - options.beta1);
    access.store(mean, d, at[2] + i);
    const auto square = moved_square(d, access.load(d, at[3] + i), grad, options.beta2);
    access.store(square, d, at[3] + i);
    const auto root = hn::Div(hn::Sqrt(square), constant(d, factors.root_scale));
    const auto denominator = hn::Add(root, constant(d, options.eps));
    param = hn::NegMulAdd(constant(d, factors.grad_size), hn::Div(grad, denominator), param);
    param = hn::NegMulAdd(constant(d, factors.step_size), hn::Div(mean, denominator), param);
    access.store(param, d, at[0] + i);
  }
};

struct RAdam {
  static constexpr int kOperands = 4;
  const RAdamOptions& options;
  const StepFactors& factors;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    const auto grad = direction_of(options, coupled(options), d, access.load(d, at[1] + i), param);
    param = decayed(options, d, param);
    const auto mean = moved(d, access.load(d, at[2] + i), grad, 1 - options.beta1);
    access.store(mean, d, at[2] + i);
    const auto square = moved_square(d, access.load(d, at[3] + i), grad, options.beta2);
    access.store(square, d, at[3] + i);
    auto step = mean;
    if (factors.is_rectified) {
      step = hn::Div(mean, hn::Add(hn::Sqrt(square), constant(d, options.eps)));
    }
    param = hn::NegMulAdd(constant(d, factors.step_size), step, param);
    access.store(param, d, at[0] + i);
  }
};

struct Rprop {
  static constexpr int kOperands = 4;
  const RpropOptions& options;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    const auto zero = hn::Zero(d);
    auto param = access.load(d, at[0] + i);
    auto grad = direction_of(options, 0.0, d, access.load(d, at[1] + i), param);
    // Signs are compared, not multiplied: the product of small numbers is 0.
    const auto last = access.load(d, at[2] + i);
    const auto has_both = hn::And(hn::Ne(grad, zero), hn::Ne(last, zero));
    const auto differ = hn::Xor(hn::Lt(grad, zero), hn::Lt(last, zero));
    const auto is_turned = hn::And(has_both, differ);
    auto size = access.load(d, at[3] + i);
    const auto grown = hn::Mul(size, constant(d, options.etaplus));
    const auto shrunk = hn::Mul(size, constant(d, options.etaminus));
    size = hn::IfThenElse(is_turned, shrunk, hn::IfThenElse(has_both, grown, size));
    size = hn::Min(hn::Max(size, constant(d, options.min_step_size)),
                   constant(d, options.max_step_size));
    access.store(size, d, at[3] + i);
    grad = hn::IfThenZeroElse(is_turned, grad);
    access.store(grad, d, at[2] + i);
    const auto step = hn::IfThenElse(hn::Eq(grad, zero), zero, hn::CopySign(size, grad));
    access.store(hn::Sub(param, step), d, at[0] + i);
  }
};

struct Asgd {
  static constexpr int kOperands = 3;
  const ASGDOptions& options;
  const StepFactors& factors;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    const auto grad =
        direction_of(options, options.weight_decay, d, access.load(d, at[1] + i), param);
    param = hn::Mul(param, constant(d, 1 - options.lambd * factors.step_size));
    param = hn::NegMulAdd(constant(d, factors.step_size), grad, param);
    access.store(param, d, at[0] + i);
    auto average = param;
    if (factors.averaging != 1) {
      average = moved(d, access.load(d, at[2] + i), param, factors.averaging);
    }
    access.store(average, d, at[2] + i);
  }
};

void run_adadelta(const AdadeltaOptions& options, const StepOperands& operands) {
  run(Adadelta{options}, operands);
}
void run_adamax(const AdamaxOptions& options, const StepFactors& factors,
                const StepOperands& operands) {
  run(Adamax{options, factors}, operands);
}
void run_nadam(const NAdamOptions& options, const StepFactors& factors,
               const StepOperands& operands) {
  run(NAdam{options, factors}, operands);
}
void run_radam(const RAdamOptions& options, const StepFactors& factors,
               const StepOperands& operands) {
  run(RAdam{options, factors}, operands);
}
void run_rprop(const RpropOptions& options, const StepOperands& operands) {
  run(Rprop{options}, operands);
}
void run_asgd(const ASGDOptions& options, const StepFactors& factors,
              const StepOperands& operands) {
  run(Asgd{options, factors}, operands);
}

}  // namespace
}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {

void adadelta_step(const AdadeltaOptions& options, const StepFactors&,
                   const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_adadelta(options, operands));
}
void adamax_step(const AdamaxOptions& options, const StepFactors& factors,
                 const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_adamax(options, factors, operands));
}
void nadam_step(const NAdamOptions& options, const StepFactors& factors,
                const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_nadam(options, factors, operands));
}
void radam_step(const RAdamOptions& options, const StepFactors& factors,
                const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_radam(options, factors, operands));
}
void rprop_step(const RpropOptions& options, const StepFactors&, const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_rprop(options, operands));
}
void asgd_step(const ASGDOptions& options, const StepFactors& factors,
               const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_asgd(options, factors, operands));
}

}  // namespace ebb::kernels::cpu
#endif
