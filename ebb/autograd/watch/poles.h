// ebb/autograd/watch/poles.h -- at which finite operands an op's result is infinite: `poles` of the
// rows of the op table. Any other infinity from finite operands has left the range of its dtype.
#pragma once

#include <string_view>
#include <vector>

namespace ebb::autograd {

struct PoleRow {
  std::string_view op, operand;
  double value;  // NaN: at more places than a list can name
};
/// Generated.
const std::vector<PoleRow>& pole_rows();

}  // namespace ebb::autograd
