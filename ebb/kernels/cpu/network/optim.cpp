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

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    auto grad = direction_of(options, options.weight_decay, d, access.load(d, at[1] + i), param);
    if (options.momentum != 0) {
      const auto momentum = constant(d, options.momentum);
      auto buffer = grad;
      if (!factors.is_first) {
        const auto kept = hn::Mul(access.load(d, at[2] + i), momentum);
        buffer = hn::MulAdd(grad, constant(d, 1 - options.dampening), kept);
      }
      access.store(buffer, d, at[2] + i);
      grad = options.nesterov ? hn::MulAdd(buffer, momentum, grad) : buffer;
    }
    param = hn::NegMulAdd(grad, constant(d, options.lr), param);
    access.store(param, d, at[0] + i);
  }
};

struct Adam {
  static constexpr int kOperands = 5;
  const AdamOptions& options;
  const StepFactors& factors;
  bool is_decoupled;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    const auto grad = direction_of(options, is_decoupled ? 0.0 : options.weight_decay, d,
                                   access.load(d, at[1] + i), param);
    if (is_decoupled && options.weight_decay != 0) {
      param = hn::Mul(param, constant(d, 1 - options.lr * options.weight_decay));
    }
    auto mean = access.load(d, at[2] + i);
    mean = hn::MulAdd(hn::Sub(grad, mean), constant(d, 1 - options.beta1), mean);
    access.store(mean, d, at[2] + i);
    const auto kept = hn::Mul(access.load(d, at[3] + i), constant(d, options.beta2));
    auto square = hn::MulAdd(hn::Mul(grad, grad), constant(d, 1 - options.beta2), kept);
    access.store(square, d, at[3] + i);
    if (options.amsgrad) {
      const auto largest = access.load(d, at[4] + i);
      square = hn::IfThenElse(hn::Gt(largest, square), largest, square);
      access.store(square, d, at[4] + i);
    }
    const auto root = hn::Div(hn::Sqrt(square), constant(d, factors.root_scale));
    const auto denominator = hn::Add(root, constant(d, options.eps));
    param = hn::NegMulAdd(constant(d, factors.step_size), hn::Div(mean, denominator), param);
    access.store(param, d, at[0] + i);
  }
};

struct RMSprop {
  static constexpr int kOperands = 5;
  const RMSpropOptions& options;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    const auto grad =
        direction_of(options, options.weight_decay, d, access.load(d, at[1] + i), param);
    const auto kept = hn::Mul(access.load(d, at[2] + i), constant(d, options.alpha));
    auto square = hn::MulAdd(hn::Mul(grad, grad), constant(d, 1 - options.alpha), kept);
    access.store(square, d, at[2] + i);
    if (options.centered) {
      auto mean = access.load(d, at[4] + i);
      mean = hn::MulAdd(hn::Sub(grad, mean), constant(d, 1 - options.alpha), mean);
      access.store(mean, d, at[4] + i);
      // A variance that rounding made negative counts as none; NaN stays.
      square = hn::NegMulAdd(mean, mean, square);
      square = hn::IfThenZeroElse(hn::Lt(square, hn::Zero(d)), square);
    }
    auto step = hn::Div(grad, hn::Add(hn::Sqrt(square), constant(d, options.eps)));
    if (options.momentum != 0) {
      step = hn::MulAdd(access.load(d, at[3] + i), constant(d, options.momentum), step);
      access.store(step, d, at[3] + i);
    }
    param = hn::NegMulAdd(constant(d, options.lr), step, param);
    access.store(param, d, at[0] + i);
  }
};

struct Adagrad {
  static constexpr int kOperands = 3;
  const AdagradOptions& options;
  const StepFactors& factors;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    auto param = access.load(d, at[0] + i);
    const auto grad =
        direction_of(options, options.weight_decay, d, access.load(d, at[1] + i), param);
    const auto sum = hn::MulAdd(grad, grad, access.load(d, at[2] + i));
    access.store(sum, d, at[2] + i);
    const auto step = hn::Div(grad, hn::Add(hn::Sqrt(sum), constant(d, options.eps)));
    param = hn::NegMulAdd(constant(d, factors.step_size), step, param);
    access.store(param, d, at[0] + i);
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
