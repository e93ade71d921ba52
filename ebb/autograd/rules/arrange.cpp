// ebb/autograd/rules/arrange.cpp -- a part of the gradients of roll and constant_pad_nd.
#include "ebb/autograd/rules/arrange.h"

namespace ebb::autograd::rules {

std::vector<int64_t> negated(IntSpan values) {
  std::vector<int64_t> out;
  out.reserve(values.size());
  // Unsigned, so that the smallest number does not overflow.
  for (const int64_t value : values) {
    out.push_back(static_cast<int64_t>(0 - static_cast<uint64_t>(value)));
  }
  return out;
}

}  // namespace ebb::autograd::rules
