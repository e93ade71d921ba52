// ebb/autograd/rules/arrange.h -- a rule of what lays elements out anew.
#pragma once

#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// Each number with the other sign.
std::vector<int64_t> negated(IntSpan values);

}  // namespace ebb::autograd::rules
