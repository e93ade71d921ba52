// ebb/kernels/cpu/optim.cpp -- SGD and AdamW, vectorised; half types go through float32 tiles.
#include "ebb/kernels/cpu/optim.h"

#include <cmath>

#include "ebb/kernels/cpu/simd.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ebb/kernels/cpu/optim.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "ebb/kernels/cpu/rows-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Full vectors of memory.
struct FullAccess {
  template <class D, typename T>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return hn::LoadU(d, from);
  }
  template <class D, typename T>
  HWY_INLINE void store(hn::Vec<D> v, D d, T* to) const {
    hn::StoreU(v, d, to);
  }
};
/// The last, partial vector.
struct PartAccess {
  size_t count;
  template <class D, typename T>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return load_first(d, from, count);
  }
  template <class D, typename T>
  HWY_INLINE void store(hn::Vec<D> v, D d, T* to) const {
    store_first(v, d, to, count);
  }
};

/// param -= lr * direction, with PyTorch's order of operations.
struct Sgd {
  static constexpr int kOperands = 3;
  const SgdArgs& args;
  bool has_momentum;

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    const auto factor = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<T>(value)); };
    auto param = access.load(d, at[0] + i);
    auto grad = access.load(d, at[1] + i);
    if (args.maximize) grad = hn::Neg(grad);
    if (args.weight_decay != 0) grad = hn::MulAdd(param, factor(args.weight_decay), grad);
    if (has_momentum) {
      const auto momentum = factor(args.momentum);
      auto buffer = grad;
      if (!args.first_step) {
        const auto kept = hn::Mul(access.load(d, at[2] + i), momentum);
        buffer = hn::MulAdd(grad, factor(1 - args.dampening), kept);
      }
      access.store(buffer, d, at[2] + i);
      grad = args.nesterov ? hn::MulAdd(buffer, momentum, grad) : buffer;
    }
    param = hn::NegMulAdd(grad, factor(args.lr), param);
    access.store(param, d, at[0] + i);
  }
};

/// The factors of AdamW that depend on the step.
struct AdamW {
  static constexpr int kOperands = 5;
  const AdamWArgs& args;
  bool has_max;
  double step_size;
  double bias_correction2_sqrt;

  AdamW(const AdamWArgs& given, bool amsgrad)
      : args(given),
        has_max(amsgrad),
        step_size(given.lr / (1 - std::pow(given.beta1, static_cast<double>(given.step)))),
        bias_correction2_sqrt(
            std::sqrt(1 - std::pow(given.beta2, static_cast<double>(given.step)))) {}

  template <class Access, typename T>
  HWY_INLINE void operator()(Access access, T* const* at, size_t i) const {
    const hn::ScalableTag<T> d;
    const auto factor = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<T>(value)); };
    auto param = access.load(d, at[0] + i);
    auto grad = access.load(d, at[1] + i);
    if (args.maximize) grad = hn::Neg(grad);
    if (args.weight_decay != 0) {
      if (args.decoupled) {
        param = hn::Mul(param, factor(1 - args.lr * args.weight_decay));
      } else {
        grad = hn::MulAdd(param, factor(args.weight_decay), grad);
      }
    }
    auto mean = access.load(d, at[2] + i);
    mean = hn::MulAdd(hn::Sub(grad, mean), factor(1 - args.beta1), mean);
    access.store(mean, d, at[2] + i);
    const auto kept = hn::Mul(access.load(d, at[3] + i), factor(args.beta2));
    auto square = hn::MulAdd(hn::Mul(grad, grad), factor(1 - args.beta2), kept);
    access.store(square, d, at[3] + i);
    if (has_max) {
      const auto largest = access.load(d, at[4] + i);
      square = hn::IfThenElse(hn::Gt(largest, square), largest, square);
      access.store(square, d, at[4] + i);
    }
    const auto root = hn::Div(hn::Sqrt(square), factor(bias_correction2_sqrt));
    const auto denominator = hn::Add(root, factor(args.eps));
    param = hn::NegMulAdd(factor(step_size), hn::Div(mean, denominator), param);
    access.store(param, d, at[0] + i);
  }
};

template <class Step, typename T>
HWY_INLINE void run_dense(const Step& step, T* const* at, size_t count) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) step(FullAccess(), at, i);
  if (i < count) step(PartAccess{count - i}, at, i);
}

template <class Step, typename T>
void run_as(const Step& step, const TensorView* const* views) {
  T* at[Step::kOperands];
  for (int i = 0; i < Step::kOperands; ++i) at[i] = views[i]->as<T>();
  const auto count = static_cast<size_t>(views[0]->numel);
  if constexpr (is_half_type<T>) {
    HWY_ALIGN float tiles[Step::kOperands][kTile];
    float* tile_at[Step::kOperands];
    for (int i = 0; i < Step::kOperands; ++i) tile_at[i] = tiles[i];
    for (size_t done = 0; done < count; done += kTile) {
      const size_t part = HWY_MIN(static_cast<size_t>(kTile), count - done);
      for (int i = 0; i < Step::kOperands; ++i) {
        if (at[i] != nullptr) widen(at[i] + done, tiles[i], part);
      }
      run_dense(step, tile_at, part);
      for (int i = 0; i < Step::kOperands; ++i) {
        if (at[i] != nullptr && i != 1) narrow(tiles[i], at[i] + done, part);  // 1: the gradient
      }
    }
  } else {
    run_dense(step, at, count);
  }
}

template <class Step>
void run(const Step& step, const TensorView* const* views) {
  switch (views[0]->dtype) {
    case DType::float16: return run_as<Step, Half>(step, views);
    case DType::bfloat16: return run_as<Step, BFloat16>(step, views);
    case DType::float32: return run_as<Step, float>(step, views);
    default: return run_as<Step, double>(step, views);
  }
}

void run_sgd(const SgdArgs& args, const TensorView* const* views) {
  run(Sgd{args, views[2]->data != nullptr}, views);
}
void run_adamw(const AdamWArgs& args, const TensorView* const* views) {
  run(AdamW(args, views[4]->data != nullptr), views);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ebb::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {

void sgd_step(const SgdArgs& args, const TensorView& param, const TensorView& grad,
              const TensorView& momentum_buf) {
  const TensorView* views[] = {&param, &grad, &momentum_buf};
  EBB_CALL_FOR_ISA(usable_isa(), run_sgd(args, views));
}

void adamw_step(const AdamWArgs& args, const TensorView& param, const TensorView& grad,
                const TensorView& exp_avg, const TensorView& exp_avg_sq,
                const TensorView& max_exp_avg_sq) {
  const TensorView* views[] = {&param, &grad, &exp_avg, &exp_avg_sq, &max_exp_avg_sq};
  EBB_CALL_FOR_ISA(usable_isa(), run_adamw(args, views));
}

}  // namespace ebb::kernels::cpu
#endif
