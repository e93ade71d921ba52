// tests/kernels/math_test.cpp -- accuracy of exp, log, sin and the like in units in the last place.
//
// float32 is checked on every 4093rd bit pattern (set EBB_MATH_STRIDE=1 for all of them), float64
// on random numbers of every size; the references are the next wider type of the C library.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <vector>

#include "ebb/kernels/cpu/simd/isa.h"
#include "ebb/kernels/tables/acos.h"
#include "ebb/kernels/tables/acosh.h"
#include "ebb/kernels/tables/asin.h"
#include "ebb/kernels/tables/asinh.h"
#include "ebb/kernels/tables/atan.h"
#include "ebb/kernels/tables/atanh.h"
#include "ebb/kernels/tables/cos.h"
#include "ebb/kernels/tables/cosh.h"
#include "ebb/kernels/tables/erf.h"
#include "ebb/kernels/tables/exp.h"
#include "ebb/kernels/tables/exp2.h"
#include "ebb/kernels/tables/expm1.h"
#include "ebb/kernels/tables/gelu_erf.h"
#include "ebb/kernels/tables/log.h"
#include "ebb/kernels/tables/log10.h"
#include "ebb/kernels/tables/log1p.h"
#include "ebb/kernels/tables/log2.h"
#include "ebb/kernels/tables/rsqrt.h"
#include "ebb/kernels/tables/sigmoid.h"
#include "ebb/kernels/tables/sin.h"
#include "ebb/kernels/tables/sinh.h"
#include "ebb/kernels/tables/tan.h"
#include "ebb/kernels/tables/tanh.h"
#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

struct Function {
  const char* name;
  const KernelTable<UnaryKernel>* table;
  long double (*reference)(long double);
  double most_float, most_double;  // units in the last place, with fused multiply-adds
};
const Function kFunctions[] = {
    {"exp", &exp_kernels, [](long double x) { return std::exp(x); }, 1.0, 1.0},
    {"log", &log_kernels, [](long double x) { return std::log(x); }, 1.0, 1.0},
    {"tanh", &tanh_kernels, [](long double x) { return std::tanh(x); }, 1.5, 1.0},
    {"exp2", &exp2_kernels, [](long double x) { return std::exp2(x); }, 1.0, 1.0},
    {"expm1", &expm1_kernels, [](long double x) { return std::expm1(x); }, 1.1, 1.0},
    {"log1p", &log1p_kernels, [](long double x) { return std::log1p(x); }, 1.0, 1.0},
    {"log2", &log2_kernels, [](long double x) { return std::log2(x); }, 1.0, 1.0},
    {"log10", &log10_kernels, [](long double x) { return std::log10(x); }, 1.0, 1.0},
    {"sin", &sin_kernels, [](long double x) { return std::sin(x); }, 1.0, 1.0},
    {"cos", &cos_kernels, [](long double x) { return std::cos(x); }, 1.0, 1.0},
    {"tan", &tan_kernels, [](long double x) { return std::tan(x); }, 1.0, 1.0},
    {"asin", &asin_kernels, [](long double x) { return std::asin(x); }, 1.0, 1.0},
    {"acos", &acos_kernels, [](long double x) { return std::acos(x); }, 1.0, 1.0},
    {"atan", &atan_kernels, [](long double x) { return std::atan(x); }, 1.0, 1.0},
    {"sinh", &sinh_kernels, [](long double x) { return std::sinh(x); }, 1.1, 1.0},
    {"cosh", &cosh_kernels, [](long double x) { return std::cosh(x); }, 1.1, 1.0},
    {"asinh", &asinh_kernels, [](long double x) { return std::asinh(x); }, 1.1, 1.0},
    {"acosh", &acosh_kernels, [](long double x) { return std::acosh(x); }, 1.5, 1.0},
    {"atanh", &atanh_kernels, [](long double x) { return std::atanh(x); }, 1.0, 1.0},
    {"erf", &erf_kernels, [](long double x) { return std::erf(x); }, 2.0, 2.0},
    {"sigmoid", &sigmoid_kernels, [](long double x) { return 1 / (1 + std::exp(-x)); }, 2.0, 2.0},
    {"rsqrt", &rsqrt_kernels, [](long double x) { return 1 / std::sqrt(x); }, 1.5, 1.1},
};

/// Distance of `got` from `want` in units of the last place of `want` as a T.
template <typename T>
double ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : 1e9;
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got) || std::isnan(got)) return 1e9;
  const int exponent = std::max(std::ilogb(rounded == 0 ? std::numeric_limits<T>::min() : rounded),
                                std::numeric_limits<T>::min_exponent - 1);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / unit);
}

template <typename T>
void check(const Function& function, std::vector<T>& inputs) {
  const auto count = static_cast<int64_t>(inputs.size());
  std::vector<T> results(inputs.size());
  const int64_t stride = 1;
  TensorView in;
  in.data = inputs.data();
  in.sizes = &count;
  in.strides = &stride;
  in.numel = count;
  in.ndim = 1;
  in.dtype = dtype_of<T>;
  TensorView out = in;
  out.data = results.data();
  function.table->find_cpu(dtype_of<T>)(kContext, in, out);
  double worst = 0;
  T worst_input = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double distance = ulps(results[i], function.reference(inputs[i]));
    if (distance > worst) {
      worst = distance;
      worst_input = inputs[i];
    }
  }
  const double most = sizeof(T) == 4 ? function.most_float : function.most_double;
  // Without fused multiply-adds, what products round away is unknown.
  EXPECT_LE(worst, selected_isa() == Isa::baseline ? 1.5 * most : most)
      << function.name << sizeof(T) << " at " << worst_input;
}

TEST(Math, Float32IsAccurateOnAllKindsOfNumbers) {
  const char* given = std::getenv("EBB_MATH_STRIDE");
  const uint64_t stride = given == nullptr ? 4093 : std::strtoull(given, nullptr, 10);
  for (const Function& function : kFunctions) {
    uint64_t bits = 0;
    while (bits < (uint64_t{1} << 32)) {
      std::vector<float> inputs;
      for (; bits < (uint64_t{1} << 32) && inputs.size() < 1000000; bits += stride) {
        inputs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      }
      check(function, inputs);
    }
  }
}

long double exact_gelu(long double x) {
  constexpr long double kSqrtHalf = 0.707106781186547524400844362104849039L;
  return x * std::erfc(-x * kSqrtHalf) / 2;
}

// Below -13 in float32 and -37 in float64 the distribution is subnormal and has fewer digits.
TEST(Math, GeluKeepsItsRelativeErrorBelow0) {
  const bool is_fused = selected_isa() != Isa::baseline;  // else the square is rounded
  const Function gelu{"gelu", &gelu_erf_kernels, &exact_gelu, is_fused ? 8.0 : 48.0,
                      is_fused ? 8.0 : 400.0};
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> near(-13.0, 10.0), far(-37.0, 10.0);
  std::vector<float> singles;
  std::vector<double> doubles;
  for (int i = 0; i < 100000; ++i) {
    singles.push_back(static_cast<float>(near(random)));
    doubles.push_back(far(random));
  }
  check(gelu, singles);
  check(gelu, doubles);
}

TEST(Math, Float64IsAccurateOnRandomNumbers) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-12.0, 10.0), wide(-745.0, 710.0);
  std::vector<double> inputs;
  for (int i = 0; i < 100000; ++i) {
    inputs.push_back(std::exp2(exponent(random)) * (i % 2 == 0 ? 1 : -1));
    inputs.push_back(wide(random));
    inputs.push_back(std::bit_cast<double>(random()));
  }
  for (const Function& function : kFunctions) check(function, inputs);
}

TEST(Math, SpecialNumbersGiveWhatTheCLibraryGives) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> wide = {0.0,    -0.0,   1.0,   kInf,   -kInf,  std::nan(""),
                              5e-324, 1e-310, 710.0, -746.0, 709.78, -745.1};
  std::vector<float> narrow = {0.0f,
                               -0.0f,
                               1.0f,
                               static_cast<float>(kInf),
                               -static_cast<float>(kInf),
                               std::nanf(""),
                               1e-45f,
                               1e-40f,
                               88.73f,
                               88.72f,
                               -103.9f,
                               -104.1f};
  for (const Function& function : kFunctions) {
    check(function, wide);
    check(function, narrow);
  }
}

}  // namespace
}  // namespace ebb::kernels::test
