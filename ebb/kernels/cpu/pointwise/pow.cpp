// ebb/kernels/cpu/pointwise/pow.cpp -- powers of floating types; usual exponents take a few
// instructions. Integers are in integer.cpp, complex numbers in plain.cpp.
#include "ebb/kernels/tables/pow.h"

#include <cmath>

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// The C library's pow, element by element.
struct AnyPow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V base, V exponent) const {
    using T = hn::TFromD<D>;
    constexpr size_t kMost = HWY_MAX_BYTES / sizeof(T);
    HWY_ALIGN T bases[kMost];
    HWY_ALIGN T exponents[kMost];
    hn::Store(base, d, bases);
    hn::Store(exponent, d, exponents);
    for (size_t i = 0; i < hn::Lanes(d); ++i) bases[i] = std::pow(bases[i], exponents[i]);
    return hn::Load(d, bases);
  }
};
// Powers that are one or two instructions; the exponent is known and not looked at.
struct RootPow {
  template <class D, class V>
  HWY_INLINE V operator()(D, V base, V) const {
    return hn::Sqrt(base);
  }
};
struct SamePow {
  template <class D, class V>
  HWY_INLINE V operator()(D, V base, V) const {
    return base;
  }
};
struct SquarePow {
  template <class D, class V>
  HWY_INLINE V operator()(D, V base, V) const {
    return hn::Mul(base, base);
  }
};
struct CubePow {
  template <class D, class V>
  HWY_INLINE V operator()(D, V base, V) const {
    return hn::Mul(hn::Mul(base, base), base);
  }
};
struct InversePow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V base, V) const {
    return hn::Div(hn::Set(d, 1), base);
  }
};
struct InverseSquarePow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V base, V) const {
    return hn::Div(hn::Set(d, 1), hn::Mul(base, base));
  }
};

template <typename T>
void pow_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  if (splat == 2) {
    const auto exponent = convert<double>(*static_cast<const T*>(in[1]));
    if (exponent == 0.5) return binary_function<RootPow, T>(in, out, count, splat);
    if (exponent == 1) return binary_function<SamePow, T>(in, out, count, splat);
    if (exponent == 2) return binary_function<SquarePow, T>(in, out, count, splat);
    if (exponent == 3) return binary_function<CubePow, T>(in, out, count, splat);
    if (exponent == -1) return binary_function<InversePow, T>(in, out, count, splat);
    if (exponent == -2) return binary_function<InverseSquarePow, T>(in, out, count, splat);
  }
  binary_function<AnyPow, T>(in, out, count, splat);
}

}  // namespace

void fill_pow() {
  set_rows<&pow_function<Half>>(pow_kernels, DType::float16);
  set_rows<&pow_function<BFloat16>>(pow_kernels, DType::bfloat16);
  set_rows<&pow_function<float>>(pow_kernels, DType::float32);
  set_rows<&pow_function<double>>(pow_kernels, DType::float64);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
