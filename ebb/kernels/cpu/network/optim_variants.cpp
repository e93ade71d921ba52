// ebb/kernels/cpu/network/optim_variants.cpp -- the steps of optimizers that fewer programs use.
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/network/optim-inl.h"
#include "ebb/kernels/cpu/network/optim.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// The parameter shrunk by decoupled weight decay.
template <class Options, class D>
HWY_INLINE hn::Vec<D> decayed(const Options& options, D d, hn::Vec<D> param) {
  const bool shrinks = options.decoupled_weight_decay && options.weight_decay != 0;
  return shrinks ? hn::Mul(param, constant(d, 1 - options.lr * options.weight_decay)) : param;
}

struct Adadelta {
  static constexpr int kOperands = 4;
  const AdadeltaOptions& options;
  double coupled_decay() const { return options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    const auto square = moved_square(d, at.load(2), grad, options.rho);
    at.store(square, 2);
    const auto steps = at.load(3);
    const auto eps = constant(d, options.eps);
    const auto root = hn::Sqrt(hn::Add(square, eps));
    const auto delta = hn::Mul(hn::Div(hn::Sqrt(hn::Add(steps, eps)), root), grad);
    at.store(moved_square(d, steps, delta, options.rho), 3);
    return hn::NegMulAdd(delta, constant(d, options.lr), param);
  }
};

struct Adamax {
  static constexpr int kOperands = 4;
  const AdamaxOptions& options;
  const StepFactors& factors;
  double coupled_decay() const { return options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    const auto mean = moved(d, at.load(2), grad, 1 - options.beta1);
    at.store(mean, 2);
    const auto kept = hn::Mul(at.load(3), constant(d, options.beta2));
    const auto size = hn::Add(hn::Abs(grad), constant(d, options.eps));
    // NaN stays: it is not less than anything.
    const auto largest = hn::IfThenElse(hn::Lt(size, kept), kept, size);
    at.store(largest, 3);
    return hn::NegMulAdd(constant(d, factors.step_size), hn::Div(mean, largest), param);
  }
};

struct NAdam {
  static constexpr int kOperands = 4;
  const NAdamOptions& options;
  const StepFactors& factors;
  double coupled_decay() const { return options.decoupled_weight_decay ? 0 : options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    param = decayed(options, d, param);
    const auto mean = moved(d, at.load(2), grad, 1 - options.beta1);
    at.store(mean, 2);
    const auto square = moved_square(d, at.load(3), grad, options.beta2);
    at.store(square, 3);
    const auto root = hn::Div(hn::Sqrt(square), constant(d, factors.root_scale));
    const auto denominator = hn::Add(root, constant(d, options.eps));
    param = hn::NegMulAdd(constant(d, factors.grad_size), hn::Div(grad, denominator), param);
    return hn::NegMulAdd(constant(d, factors.step_size), hn::Div(mean, denominator), param);
  }
};

struct RAdam {
  static constexpr int kOperands = 4;
  const RAdamOptions& options;
  const StepFactors& factors;
  double coupled_decay() const { return options.decoupled_weight_decay ? 0 : options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    param = decayed(options, d, param);
    const auto mean = moved(d, at.load(2), grad, 1 - options.beta1);
    at.store(mean, 2);
    const auto square = moved_square(d, at.load(3), grad, options.beta2);
    at.store(square, 3);
    auto step = mean;
    if (factors.is_rectified) {
      step = hn::Div(mean, hn::Add(hn::Sqrt(square), constant(d, options.eps)));
    }
    return hn::NegMulAdd(constant(d, factors.step_size), step, param);
  }
};

struct Rprop {
  static constexpr int kOperands = 4;
  const RpropOptions& options;
  double coupled_decay() const { return 0; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    const auto zero = hn::Zero(d);
    // Signs are compared, not multiplied: the product of small numbers is 0.
    const auto last = at.load(2);
    const auto has_both = hn::And(hn::Ne(grad, zero), hn::Ne(last, zero));
    const auto differ = hn::Xor(hn::Lt(grad, zero), hn::Lt(last, zero));
    const auto is_turned = hn::And(has_both, differ);
    auto size = at.load(3);
    const auto grown = hn::Mul(size, constant(d, options.etaplus));
    const auto shrunk = hn::Mul(size, constant(d, options.etaminus));
    size = hn::IfThenElse(is_turned, shrunk, hn::IfThenElse(has_both, grown, size));
    size = hn::Min(hn::Max(size, constant(d, options.min_step_size)),
                   constant(d, options.max_step_size));
    at.store(size, 3);
    grad = hn::IfThenZeroElse(is_turned, grad);
    at.store(grad, 2);
    const auto step = hn::IfThenElse(hn::Eq(grad, zero), zero, hn::CopySign(size, grad));
    return hn::Sub(param, step);
  }
};

struct Asgd {
  static constexpr int kOperands = 3;
  const ASGDOptions& options;
  const StepFactors& factors;
  double coupled_decay() const { return options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    param = hn::Mul(param, constant(d, 1 - options.lambd * factors.step_size));
    param = hn::NegMulAdd(constant(d, factors.step_size), grad, param);
    auto average = param;
    if (factors.averaging != 1) {
      average = moved(d, at.load(2), param, factors.averaging);
    }
    at.store(average, 2);
    return param;
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
