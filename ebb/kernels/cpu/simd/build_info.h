// ebb/kernels/cpu/simd/build_info.h -- how this library was built, and with which libraries it
// runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ebb/core/base/export.h"

namespace ebb::kernels::cpu {

/// Names and texts, such as {"compiler", "GCC 12.2.0"}; versions are those of the libraries that
/// are loaded now.
EBB_API std::vector<std::pair<std::string, std::string>> build_info();

}  // namespace ebb::kernels::cpu
