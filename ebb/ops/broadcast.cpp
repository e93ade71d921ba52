// ebb/ops/broadcast.cpp -- what is said of shapes that do not fit together.
#include "ebb/ops/broadcast.h"

#include <algorithm>

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb::ops {

Shape broadcast_operands(const char* op, RoleOf lhs, RoleOf rhs) {
  const IntSpan left = lhs.tensor.sizes(), right = rhs.tensor.sizes();
  for (size_t back = 1; back <= std::min(left.size(), right.size()); ++back) {
    const int64_t one = left[left.size() - back], other = right[right.size() - back];
    if (one == other || one == 1 || other == 1) continue;
    throw ShapeError(str(op, ": shapes must broadcast together, got ", lhs.role, ' ',
                         describe_shape(lhs.tensor), " and ", rhs.role, ' ',
                         describe_shape(rhs.tensor), " (sizes ", one, " and ", other,
                         " differ in dim ", -static_cast<int64_t>(back), ')'));
  }
  return broadcast_shapes(op, left, right);
}

std::ostream& operator<<(std::ostream& out, const SizesOf& sizes) {
  out << PrintShape{sizes.sizes_};
  return sizes.tensor_ == nullptr ? out : out << naming_of(*sizes.tensor_);
}

}  // namespace ebb::ops
