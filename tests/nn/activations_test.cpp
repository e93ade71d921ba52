// tests/nn/activations_test.cpp -- activation modules against their formulas at a few points.
#include "ebb/nn/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"

namespace ebb::nn {
namespace {

Tensor doubles(IntSpan sizes, std::initializer_list<double> values) {
  const Tensor tensor = ebb::empty(sizes, DType::float64);
  std::copy(values.begin(), values.end(), tensor.data<double>());
  return tensor;
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  const char* name;
  std::shared_ptr<Module> module;
  std::function<double(double)> formula;
};

TEST(Activations, FollowTheirFormulas) {
  const std::vector<Case> cases = {
      {"ReLU", std::make_shared<ReLU>(), [](double x) { return std::max(x, 0.0); }},
      {"ReLU6", std::make_shared<ReLU6>(),
       [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {"LeakyReLU", std::make_shared<LeakyReLU>(0.25), [](double x) { return x > 0 ? x : x / 4; }},
      {"ELU", std::make_shared<ELU>(0.5), [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }},
      {"GELU", std::make_shared<GELU>(),
       [](double x) { return x * (1 + std::erf(x * M_SQRT1_2)) / 2; }},
      {"SiLU", std::make_shared<SiLU>(), [](double x) { return x * sigmoid_of(x); }},
      {"Sigmoid", std::make_shared<Sigmoid>(), sigmoid_of},
      {"Tanh", std::make_shared<Tanh>(), [](double x) { return std::tanh(x); }},
      {"Softplus", std::make_shared<Softplus>(2.0),
       [](double x) { return std::log1p(std::exp(2 * x)) / 2; }},
  };
  const Tensor x = doubles(Shape{5}, {-3.0, -0.5, 0.25, 2.0, 7.0});
  for (const Case& entry : cases) {
    const Tensor result = (*entry.module)(x);
    for (int i = 0; i < 5; ++i) {
      EXPECT_NEAR(result.data<double>()[i], entry.formula(x.data<double>()[i]), 1e-12)
          << entry.name;
    }
  }
}

TEST(Activations, SoftmaxAddsUpToOneAlongItsDim) {
  const Tensor x = doubles(Shape{2, 2}, {0.0, std::log(3.0), 1.0, 1.0});
  const Tensor result = Softmax(1)(x);
  EXPECT_NEAR(result.data<double>()[0], 0.25, 1e-15);
  EXPECT_NEAR(result.data<double>()[1], 0.75, 1e-15);
  EXPECT_NEAR(LogSoftmax(1)(x).data<double>()[3], std::log(0.5), 1e-15);
}

TEST(Activations, GeluRefusesAnUnknownFormula) {
  EXPECT_THROW(GELU("cubic")(doubles(Shape{1}, {1.0})), ValueError);
}

}  // namespace
}  // namespace ebb::nn
