// ebb/kernels/cpu/pointwise/clip.cpp -- norms, scaling and clamping of flat arrays, vectorised.
//
// Norms of order 1, 2 and infinity are vectors; others, and complex ones of an order other than 2,
// are plain loops. Half types go through float32 tiles.
#include "ebb/kernels/cpu/pointwise/clip.h"

#include <cmath>
#include <complex>

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

using Wide = hn::ScalableTag<double>;

HWY_INLINE hn::Vec<Wide> load_wide(Wide d, const double* from) { return hn::LoadU(d, from); }
HWY_INLINE hn::Vec<Wide> load_wide(Wide d, const float* from) {
  const hn::Rebind<float, Wide> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, from));
}

struct AddMagnitude {
  HWY_INLINE hn::Vec<Wide> operator()(hn::Vec<Wide> sum, hn::Vec<Wide> x) const {
    return hn::Add(sum, hn::Abs(x));
  }
  static double one(double sum, double x) { return sum + std::abs(x); }
  static double join(double lhs, double rhs) { return lhs + rhs; }
};
struct AddSquare {
  HWY_INLINE hn::Vec<Wide> operator()(hn::Vec<Wide> sum, hn::Vec<Wide> x) const {
    return hn::MulAdd(x, x, sum);
  }
  static double one(double sum, double x) { return sum + x * x; }
  static double join(double lhs, double rhs) { return lhs + rhs; }
};
/// NaN wins over everything.
struct TakeLargest {
  HWY_INLINE hn::Vec<Wide> operator()(hn::Vec<Wide> largest, hn::Vec<Wide> x) const {
    const auto magnitude = hn::Abs(x);
    return hn::IfThenElse(hn::Or(hn::Gt(magnitude, largest), hn::IsNaN(magnitude)), magnitude,
                          largest);
  }
  static double one(double largest, double x) {
    const double magnitude = std::abs(x);
    return magnitude > largest || magnitude != magnitude ? magnitude : largest;
  }
  static double join(double lhs, double rhs) { return one(lhs, rhs); }
};

/// Four chains, so that one addition need not wait for the one before.
template <class Op, typename T>
double accumulate(const T* data, size_t count) {
  const Wide d;
  const Op op;
  const size_t lanes = hn::Lanes(d);
  auto first = hn::Zero(d), second = first, third = first, fourth = first;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    first = op(first, load_wide(d, data + i));
    second = op(second, load_wide(d, data + i + lanes));
    third = op(third, load_wide(d, data + i + 2 * lanes));
    fourth = op(fourth, load_wide(d, data + i + 3 * lanes));
  }
  HWY_ALIGN double parts[4][HWY_MAX_BYTES / sizeof(double)];
  hn::Store(first, d, parts[0]);
  hn::Store(second, d, parts[1]);
  hn::Store(third, d, parts[2]);
  hn::Store(fourth, d, parts[3]);
  double total = 0;
  for (; i < count; ++i) total = Op::one(total, static_cast<double>(data[i]));
  for (size_t lane = 0; lane < lanes; ++lane) {
    for (const auto& part : parts) total = Op::join(total, part[lane]);
  }
  return total;
}

template <class Op, typename T>
double accumulate_any(const void* data, size_t count) {
  const T* const values = static_cast<const T*>(data);
  if constexpr (is_half_type<T>) {
    HWY_ALIGN float tile[kTile];
    double total = 0;
    for (size_t done = 0; done < count; done += kTile) {
      const size_t part = HWY_MIN(static_cast<size_t>(kTile), count - done);
      widen(values + done, tile, part);
      total = Op::join(total, accumulate<Op>(tile, part));
    }
    return total;
  } else {
    return accumulate<Op>(values, count);
  }
}

template <class Op>
double accumulate_as(DType dtype, const void* data, size_t count) {
  switch (dtype) {
    case DType::float16: return accumulate_any<Op, Half>(data, count);
    case DType::bfloat16: return accumulate_any<Op, BFloat16>(data, count);
    case DType::float32: return accumulate_any<Op, float>(data, count);
    default: return accumulate_any<Op, double>(data, count);
  }
}

double sum_of_magnitudes(DType dtype, const void* data, size_t count) {
  return accumulate_as<AddMagnitude>(dtype, data, count);
}
double sum_of_squares(DType dtype, const void* data, size_t count) {
  return accumulate_as<AddSquare>(dtype, data, count);
}
double largest(DType dtype, const void* data, size_t count) {
  return accumulate_as<TakeLargest>(dtype, data, count);
}

struct Scale {
  double factor;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return hn::Mul(x, hn::Set(d, static_cast<hn::TFromD<D>>(factor)));
  }
};
struct Clamp {
  double limit;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto high = hn::Set(d, static_cast<hn::TFromD<D>>(limit));
    const auto low = hn::Neg(high);
    x = hn::IfThenElse(hn::Gt(x, high), high, x);
    return hn::IfThenElse(hn::Lt(x, low), low, x);
  }
};

template <typename T, class Op>
void change_any(const Op& op, void* data, size_t count) {
  T* const values = static_cast<T*>(data);
  if constexpr (is_half_type<T>) {
    HWY_ALIGN float tile[kTile];
    for (size_t done = 0; done < count; done += kTile) {
      const size_t part = HWY_MIN(static_cast<size_t>(kTile), count - done);
      widen(values + done, tile, part);
      unary_row(op, tile, tile, part);
      narrow(tile, values + done, part);
    }
  } else {
    const hn::ScalableTag<T> d;
    const size_t lanes = hn::Lanes(d);
    size_t i = 0;
    for (; i + lanes <= count; i += lanes)
      hn::StoreU(op(d, hn::LoadU(d, values + i)), d, values + i);
    if (i < count)
      store_first(op(d, load_first(d, values + i, count - i)), d, values + i, count - i);
  }
}

template <class Op>
void change_as(const Op& op, DType dtype, void* data, size_t count) {
  switch (dtype) {
    case DType::float16: return change_any<Half>(op, data, count);
    case DType::bfloat16: return change_any<BFloat16>(op, data, count);
    case DType::float32: return change_any<float>(op, data, count);
    default: return change_any<double>(op, data, count);
  }
}

void scale(DType dtype, void* data, size_t count, double factor) {
  change_as(Scale{factor}, dtype, data, count);
}
void clamp(DType dtype, void* data, size_t count, double limit) {
  change_as(Clamp{limit}, dtype, data, count);
}

}  // namespace
}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {
namespace {

/// Calls `body` with the magnitude of each number, as float64.
template <typename T, typename Body>
void for_each_magnitude(const void* data, int64_t count, Body body) {
  const T* const values = static_cast<const T*>(data);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      body(
          std::hypot(static_cast<double>(values[i].real()), static_cast<double>(values[i].imag())));
    } else {
      body(std::abs(static_cast<double>(static_cast<float>(values[i]))));
    }
  }
}

template <typename Body>
void for_each_magnitude_as(DType dtype, const void* data, int64_t count, Body body) {
  switch (dtype) {
    case DType::float16: return for_each_magnitude<Half>(data, count, body);
    case DType::bfloat16: return for_each_magnitude<BFloat16>(data, count, body);
    case DType::float32: return for_each_magnitude<float>(data, count, body);
    case DType::complex64: return for_each_magnitude<std::complex<float>>(data, count, body);
    case DType::complex128: return for_each_magnitude<std::complex<double>>(data, count, body);
    default:
      for (int64_t i = 0; i < count; ++i) body(std::abs(static_cast<const double*>(data)[i]));
  }
}

}  // namespace

double sum_of_powers(DType dtype, const void* data, int64_t count, double power) {
  const auto size = static_cast<size_t>(count);
  if (power == 2) {
    // |z|^2 is the sum of the squares of both parts.
    const size_t parts = is_complex(dtype) ? 2 * size : size;
    const DType part = real_type_of(dtype);
    return EBB_CALL_FOR_ISA(usable_isa(), sum_of_squares(part, data, parts));
  }
  if (power == 1 && !is_complex(dtype)) {
    return EBB_CALL_FOR_ISA(usable_isa(), sum_of_magnitudes(dtype, data, size));
  }
  double total = 0;
  for_each_magnitude_as(dtype, data, count, [&](double x) { total += std::pow(x, power); });
  return total;
}

double largest_magnitude(DType dtype, const void* data, int64_t count) {
  if (!is_complex(dtype)) {
    return EBB_CALL_FOR_ISA(usable_isa(), largest(dtype, data, static_cast<size_t>(count)));
  }
  double result = 0;
  for_each_magnitude_as(dtype, data, count, [&](double x) {
    if (x > result || x != x) result = x;
  });
  return result;
}

void scale_in_place(DType dtype, void* data, int64_t count, double factor) {
  EBB_CALL_FOR_ISA(usable_isa(), scale(dtype, data, static_cast<size_t>(count), factor));
}
void clamp_in_place(DType dtype, void* data, int64_t count, double limit) {
  EBB_CALL_FOR_ISA(usable_isa(), clamp(dtype, data, static_cast<size_t>(count), limit));
}

}  // namespace ebb::kernels::cpu
#endif
