// ebb/ops/view_of.cpp -- the error for a missing kernel.
#include "ebb/ops/view_of.h"

namespace ebb::ops {

void throw_no_kernel(const char* op, DType dtype, Device device) {
  throw NotImplementedError(str(op, ": no kernel for dtype ", dtype, " on ", to_string(device)));
}

}  // namespace ebb::ops
