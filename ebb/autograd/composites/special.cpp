// ebb/autograd/composites/special.cpp -- logit, polygamma and mvlgamma, which check a number before
// they compute.
#include "ebb/autograd/operands/special.h"

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/clamp_max.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/lgamma.h"
#include "ebb/autograd/ops/logit.h"
#include "ebb/autograd/ops/logit_of.h"
#include "ebb/autograd/ops/mvlgamma.h"
#include "ebb/autograd/ops/polygamma.h"
#include "ebb/autograd/ops/polygamma_of.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/widened.h"

namespace ebb {
namespace {

int64_t checked_order(const char* op, int64_t n) {
  if (n < 0) throw ValueError(str(op, ": n must be at least 0, got ", n));
  return n;
}

/// Adds what the multivariate function has beside lgamma(input), the first of its terms.
Tensor with_other_terms(const Tensor& first, const Tensor& input, int64_t p) {
  constexpr double kLogOfPi = 1.1447298858494002;
  const auto count = static_cast<double>(p);
  Tensor sum = first + count * (count - 1) / 4 * kLogOfPi;
  for (int64_t j = 1; j < p; ++j) sum = sum + lgamma(input + static_cast<double>(-j) / 2);
  return sum;
}

/// A term is an op of its own, so that a mistaken p would run for hours and fill the memory.
void check_dimension(const char* op, int64_t p) {
  constexpr int64_t kMost = 10'000;
  if (p < 1 || p > kMost) {
    throw ValueError(str(op, ": p must be from 1 to ", kMost, ", got ", p));
  }
}

}  // namespace

namespace {

/// In [eps, 1 - eps]. Where that is nothing, what is below eps becomes eps and all else 1 - eps.
Tensor brought_between(const Tensor& input, double eps) {
  const Tensor numbers = autograd::in_default_dtype(input);
  const double most = 1 - eps;
  if (eps <= most) return clamp(numbers, eps, most);
  return where(less(numbers, eps), eps, clamp_max(numbers, most));
}

/// Half types, which do not hold 1 - eps, in float32.
Tensor bounded_logit(const Tensor& input, double eps) {
  const Tensor found = logit_of(brought_between(autograd::widened(input), eps));
  return autograd::narrowed(found, input.dtype());
}

}  // namespace

Tensor logit(const Tensor& input, std::optional<double> eps) {
  const autograd::operands::logit call(input);
  return eps ? bounded_logit(input, *eps) : logit_of(input);
}

const Tensor& logit_(const Tensor& self, std::optional<double> eps) {
  const autograd::operands::logit_inplace call(self);
  if (eps && is_half(self.dtype())) return copy_(self, bounded_logit(clone(self), *eps));
  // Integers are refused below, unwritten.
  if (eps && is_floating(self.dtype())) copy_(self, brought_between(clone(self), *eps));
  return logit_of_(self);
}

Tensor polygamma(int64_t n, const Tensor& input) {
  const autograd::operands::polygamma_First call(input);
  return polygamma_of(input, checked_order("polygamma", n));
}

Tensor polygamma(const Tensor& input, int64_t n) {
  const autograd::operands::polygamma call(input);
  return polygamma_of(input, checked_order("polygamma", n));
}

const Tensor& polygamma_(const Tensor& self, int64_t n) {
  const autograd::operands::polygamma_inplace call(self);
  return polygamma_of_(self, checked_order("polygamma_", n));
}

Tensor mvlgamma(const Tensor& input, int64_t p) {
  const autograd::operands::mvlgamma call(input);
  check_dimension("mvlgamma", p);
  return with_other_terms(lgamma(input), input, p);
}

}  // namespace ebb
