// tests/packaging/consumer/small.cpp -- the least program that proves headers and library to fit.
#include <cstdio>

#include "ebb/ebb.h"

int main() {
  const ebb::Tensor x = ebb::full({2}, 3.0).requires_grad_();
  (x * x).sum().backward();
  std::printf("%.1f\n", x.grad().sum().item<double>());  // d(x * x)/dx = 6, twice
  return 0;
}
