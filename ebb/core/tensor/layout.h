// ebb/core/tensor/layout.h -- names of layouts, and refusing what is not strided (sparse.h).
#pragma once

#include "ebb/core/base/export.h"
#include "ebb/core/tensor/tensor_impl.h"

namespace ebb {

/// "strided", "sparse_coo", ...
EBB_API const char* name_of(Layout layout);

/// Throws NotImplementedError: `op` knows no operand `name` of that layout.
[[noreturn]] EBB_API void throw_layout(const char* op, const char* name, const TensorImpl& impl);

}  // namespace ebb
