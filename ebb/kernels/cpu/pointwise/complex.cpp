// ebb/kernels/cpu/pointwise/complex.cpp -- ops between complex numbers and their parts.
//
// Operands and results differ in size, so no row of these is entered for the straight path, which
// may write a result over its operand.
#include "ebb/kernels/tables/complex.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "ebb/kernels/cpu/simd/plain_rows.h"
#include "ebb/kernels/tables/abs.h"
#include "ebb/kernels/tables/angle.h"
#include "ebb/kernels/tables/sign_of_complex.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
void abs_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const std::complex<T>*>(in[0]);
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = std::abs(from[i]);
}

template <typename T>
void angle_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const std::complex<T>*>(in[0]);
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = std::arg(from[i]);
}

template <typename T>
void complex_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* real = static_cast<const T*>(in[0]);
  const auto* imag = static_cast<const T*>(in[1]);
  const int64_t real_step = (splat & 1u) == 0 ? 1 : 0;
  const int64_t imag_step = (splat & 2u) == 0 ? 1 : 0;
  auto* to = static_cast<std::complex<T>*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = {real[i * real_step], imag[i * imag_step]};
}

/// x over its length, which may be too large or too small for the type.
struct Sign {
  template <typename T>
  T operator()(T x) const {
    const auto length = std::abs(x);
    if (length == 0) return x;
    if (std::isnormal(length)) return x / length;
    const auto largest = std::max(std::abs(x.real()), std::abs(x.imag()));
    const T scaled =
        std::isinf(largest) ? T(at_infinity(x.real()), at_infinity(x.imag())) : x / largest;
    return scaled / std::abs(scaled);
  }

 private:
  /// An infinity hides finite parts: the sign is that of the angle, of both a diagonal.
  template <typename R>
  static R at_infinity(R part) {
    if (std::isnan(part)) return part;
    return std::copysign(std::isinf(part) ? R{1} : R{0}, part);
  }
};

template <typename T>
void set_parts() {
  constexpr DType complex = dtype_of<std::complex<T>>;
  abs_kernels.set_cpu(complex, &unary_kernel<&abs_function<T>>);
  angle_kernels.set_cpu(complex, &unary_kernel<&angle_function<T>>);
  complex_kernels.set_cpu(dtype_of<T>, &binary_kernel<&complex_function<T>>);
}

}  // namespace

void fill_complex() {
  set_parts<float>();
  set_parts<double>();
  set_complex<Sign>(sign_of_complex_kernels);
}

}  // namespace ebb::kernels::cpu
