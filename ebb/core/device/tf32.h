// ebb/core/device/tf32.h -- whether products of float32 on devices may round their factors to 10
// bits of mantissa (TF32), which tensor cores multiply faster.
#pragma once

#include "ebb/core/base/export.h"

namespace ebb {

/// False unless somebody asks for it. Back ends whose products have no such mode do not ask.
EBB_API bool is_tf32_allowed();

}  // namespace ebb
