// ebb/ops/index_check.cpp -- the words for an index out of range.
#include "ebb/ops/index_check.h"

#include "ebb/core/base/error.h"
#include "ebb/ops/infer.h"

namespace ebb::ops {

std::string describe_wrong(const kernels::WrongIndex& wrong, const Tensor& index) {
  if (wrong.position < 0) return "one that another thread wrote during the call";
  int64_t position = wrong.position;
  Shape where(index.sizes());
  for (int dim = index.ndim() - 1; dim >= 0; --dim) {
    where[dim] = position % index.sizes()[static_cast<size_t>(dim)];
    position /= index.sizes()[static_cast<size_t>(dim)];
  }
  return str(wrong.value, " at position ", where);
}

void throw_wrong_index(const char* op, const char* name, const Tensor& index, int64_t size,
                       const kernels::WrongIndex& wrong) {
  if (wrong.position < 0) infer::check_index_range(op, name, index, size);
  throw IndexError(str(op, ": ", name, " must be at least 0 and below ", size, ", got ",
                       describe_wrong(wrong, index)));
}

}  // namespace ebb::ops
