// ebb/kernels/cpu/network/optim.cpp -- the steps of the usual optimizers, vectorised.
#include "ebb/kernels/cpu/network/optim.h"

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/network/optim-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

struct Sgd {
  static constexpr int kOperands = 3;
  const SGDOptions& options;
  const StepFactors& factors;
  double coupled_decay() const { return options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    if (options.momentum != 0) {
      const auto momentum = constant(d, options.momentum);
      auto buffer = grad;
      if (!factors.is_first) {
        const auto kept = hn::Mul(at.load(2), momentum);
        buffer = hn::MulAdd(grad, constant(d, 1 - options.dampening), kept);
      }
      at.store(buffer, 2);
      grad = options.nesterov ? hn::MulAdd(buffer, momentum, grad) : buffer;
    }
    return hn::NegMulAdd(grad, constant(d, options.lr), param);
  }
};

struct Adam {
  static constexpr int kOperands = 5;
  const AdamOptions& options;
  const StepFactors& factors;
  bool is_decoupled;
  double coupled_decay() const { return is_decoupled ? 0 : options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    if (is_decoupled && options.weight_decay != 0) {
      param = hn::Mul(param, constant(d, 1 - options.lr * options.weight_decay));
    }
    const auto mean = moved(d, at.load(2), grad, 1 - options.beta1);
    at.store(mean, 2);
    auto square = moved_square(d, at.load(3), grad, options.beta2);
    at.store(square, 3);
    if (options.amsgrad) {
      const auto largest = at.load(4);
      square = hn::IfThenElse(hn::Gt(largest, square), largest, square);
      at.store(square, 4);
    }
    const auto root = hn::Div(hn::Sqrt(square), constant(d, factors.root_scale));
    const auto denominator = hn::Add(root, constant(d, options.eps));
    return hn::NegMulAdd(constant(d, factors.step_size), hn::Div(mean, denominator), param);
  }
};

struct RMSprop {
  static constexpr int kOperands = 5;
  const RMSpropOptions& options;
  double coupled_decay() const { return options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    auto square = moved_square(d, at.load(2), grad, options.alpha);
    at.store(square, 2);
    if (options.centered) {
      const auto mean = moved(d, at.load(4), grad, 1 - options.alpha);
      at.store(mean, 4);
      // A variance that rounding made negative counts as none; NaN stays.
      square = hn::NegMulAdd(mean, mean, square);
      square = hn::IfThenZeroElse(hn::Lt(square, hn::Zero(d)), square);
    }
    auto step = hn::Div(grad, hn::Add(hn::Sqrt(square), constant(d, options.eps)));
    if (options.momentum != 0) {
      step = hn::MulAdd(at.load(3), constant(d, options.momentum), step);
      at.store(step, 3);
    }
    return hn::NegMulAdd(constant(d, options.lr), step, param);
  }
};

struct Adagrad {
  static constexpr int kOperands = 3;
  const AdagradOptions& options;
  const StepFactors& factors;
  double coupled_decay() const { return options.weight_decay; }

  template <class Place, class V>
  HWY_INLINE V operator()(const Place& at, V param, V grad) const {
    const auto d = at.d;
    const auto sum = hn::MulAdd(grad, grad, at.load(2));
    at.store(sum, 2);
    const auto step = hn::Div(grad, hn::Add(hn::Sqrt(sum), constant(d, options.eps)));
    return hn::NegMulAdd(constant(d, factors.step_size), step, param);
  }
};

void run_sgd(const SGDOptions& options, const StepFactors& factors, const StepOperands& operands) {
  run(Sgd{options, factors}, operands);
}
void run_adam(const AdamOptions& options, WeightDecay decay, const StepFactors& factors,
              const StepOperands& operands) {
  run(Adam{options, factors, decay == WeightDecay::decoupled}, operands);
}
void run_rmsprop(const RMSpropOptions& options, const StepOperands& operands) {
  run(RMSprop{options}, operands);
}
void run_adagrad(const AdagradOptions& options, const StepFactors& factors,
                 const StepOperands& operands) {
  run(Adagrad{options, factors}, operands);
}

}  // namespace
}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {

void sgd_step(const SGDOptions& options, const StepFactors& factors, const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_sgd(options, factors, operands));
}
void adam_step(const AdamOptions& options, WeightDecay decay, const StepFactors& factors,
               const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_adam(options, decay, factors, operands));
}
void rmsprop_step(const RMSpropOptions& options, const StepFactors&, const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_rmsprop(options, operands));
}
void adagrad_step(const AdagradOptions& options, const StepFactors& factors,
                  const StepOperands& operands) {
  EBB_CALL_FOR_ISA(usable_isa(), run_adagrad(options, factors, operands));
}

}  // namespace ebb::kernels::cpu
#endif
