// ebb/kernels/cpu/network/optim-inl.h -- what all steps of optimizers share, for every target.
//
// A step is a struct that makes the new parameter at one place and updates its state there; run()
// takes it over all dtypes. Half types go through float32 tiles, or masters of float32 make the
// step and the parameter is written from them.
#if defined(EBB_KERNELS_CPU_OPTIM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_OPTIM_INL_H
#undef EBB_KERNELS_CPU_OPTIM_INL_H
#else
#define EBB_KERNELS_CPU_OPTIM_INL_H
#endif

#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/optim_options.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
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

/// A number as a vector, rounded once from float64.
template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

/// `average` on its way to `value`: average * (1 - share) + value * share.
template <class D>
HWY_INLINE hn::Vec<D> moved(D d, hn::Vec<D> average, hn::Vec<D> value, double share) {
  return hn::MulAdd(hn::Sub(value, average), constant(d, share), average);
}
/// average * kept + value^2 * (1 - kept), rounded as PyTorch does it.
template <class D>
HWY_INLINE hn::Vec<D> moved_square(D d, hn::Vec<D> average, hn::Vec<D> value, double kept) {
  const auto old = hn::Mul(average, constant(d, kept));
  return hn::MulAdd(hn::Mul(value, value), constant(d, 1 - kept), old);
}

/// One vector of each operand: 0 is the parameter, 1 its gradient, what follows its state.
template <class Access, typename T>
struct Place {
  Access access;
  T* const* at;
  size_t i;
  hn::ScalableTag<T> d = {};

  HWY_INLINE hn::Vec<hn::ScalableTag<T>> load(int number) const {
    return access.load(d, at[number] + i);
  }
  HWY_INLINE void store(hn::Vec<hn::ScalableTag<T>> v, int number) const {
    access.store(v, d, at[number] + i);
  }
};

/// Writes the parameter that a step makes of the one before and of the gradient, which is turned
/// around to maximize and has coupled weight decay in it.
template <class Step, class Place>
HWY_INLINE void run_at(const Step& step, const Place& place) {
  const auto param = place.load(0);
  auto grad = place.load(1);
  if (step.options.maximize) grad = hn::Neg(grad);
  const double decay = step.coupled_decay();
  if (decay != 0) grad = hn::MulAdd(param, constant(place.d, decay), grad);
  place.store(step(place, param, grad), 0);
}

template <class Step, typename T>
HWY_INLINE void run_dense(const Step& step, T* const* at, size_t count) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) run_at(step, Place<FullAccess, T>{{}, at, i});
  if (i < count) run_at(step, Place<PartAccess, T>{{count - i}, at, i});
}

/// Operands of a half type, in tiles of float32; what is float32 already is used where it is.
template <class Step, typename T>
void run_half(const Step& step, const StepOperands& operands) {
  const bool has_master = operands.master != nullptr;
  float* wide[Step::kOperands] = {operands.master};
  T* half[Step::kOperands] = {};
  for (int i = 0; i < Step::kOperands; ++i) {
    const bool is_wide = i == 1 ? operands.has_wide_grad : has_master;
    if (is_wide && i != 0) wide[i] = static_cast<float*>(operands.data[i]);
    if (!is_wide) half[i] = static_cast<T*>(operands.data[i]);
  }
  HWY_ALIGN float tiles[Step::kOperands][kTile];
  float* at[Step::kOperands];
  const auto count = static_cast<size_t>(operands.count);
  for (size_t done = 0; done < count; done += kTile) {
    const size_t part = HWY_MIN(static_cast<size_t>(kTile), count - done);
    for (int i = 0; i < Step::kOperands; ++i) {
      at[i] = wide[i] != nullptr ? wide[i] + done : tiles[i];
      if (half[i] != nullptr) widen(half[i] + done, tiles[i], part);
    }
    run_dense(step, at, part);
    for (int i = 0; i < Step::kOperands; ++i) {
      if (half[i] != nullptr && i != 1) narrow(tiles[i], half[i] + done, part);  // 1: the gradient
    }
    if (has_master) narrow(at[0], static_cast<T*>(operands.data[0]) + done, part);
  }
}

template <class Step, typename T>
void run_as(const Step& step, const StepOperands& operands) {
  if constexpr (is_half_type<T>) {
    run_half<Step, T>(step, operands);
  } else {
    T* at[Step::kOperands];
    for (size_t i = 0; i < Step::kOperands; ++i) at[i] = static_cast<T*>(operands.data[i]);
    run_dense(step, at, static_cast<size_t>(operands.count));
  }
}

template <class Step>
void run(const Step& step, const StepOperands& operands) {
  switch (operands.dtype) {
    case DType::float16: return run_as<Step, Half>(step, operands);
    case DType::bfloat16: return run_as<Step, BFloat16>(step, operands);
    case DType::float32: return run_as<Step, float>(step, operands);
    default: return run_as<Step, double>(step, operands);
  }
}

}  // namespace
}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
