// ebb/core/base/number_range.h -- telling of numbers that leave the range of the dtype that they
// are stored in.
//
// Numbers that are only computed with need none of this: they are float32 beside half types.
#pragma once

#include "ebb/core/base/export.h"
#include "ebb/core/base/scalar.h"

namespace ebb {

/// Whether `number` is finite and infinite as an element of `dtype`.
EBB_API bool leaves_range(const Scalar& number, DType dtype);

/// Warns if it does: `op` stores it. Python tells of each line once.
EBB_API void warn_of_range(const char* op, const Scalar& number, DType dtype);

}  // namespace ebb
