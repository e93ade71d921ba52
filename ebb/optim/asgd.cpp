// ebb/optim/asgd.cpp -- the step of ASGD.
#include "ebb/optim/asgd.h"

#include <algorithm>
#include <cmath>

namespace ebb::optim {

StepFactors ASGD::factors(int64_t steps) const {
  const ASGDOptions& given = options();
  const auto before = static_cast<double>(steps - 1);
  return {.step_size = given.lr / std::pow(1 + given.lambd * given.lr * before, given.alpha),
          .averaging = 1 / std::max(1.0, before - given.t0)};
}

}  // namespace ebb::optim
