// ebb/kernels/kernel_info.h -- what the op table says of each kernel, and the list of all of them.
#pragma once

#include <cstdint>
#include <span>

#include "ebb/core/base/export.h"
#include "ebb/kernels/kernel_table.h"

namespace ebb::kernels {

/// What the op table says of a kernel.
struct KernelInfo {
  const char* name;
  const char* type;
  uint32_t dtypes;     // bit i: the CPU must have a kernel for DType(i)
  uint32_t signature;  // a hash of the name and the C++ function type
  bool (*has)(KernelKey key);
  void (*set)(KernelKey key, void (*function)());  // the function is of that type
  // Sets one that does nothing, for all dtypes; there is none where a result's shape is what the
  // kernel finds among elements.
  void (*set_idle)(Backend backend);
};
/// All kernels in alphabetical order.
EBB_API std::span<const KernelInfo> all_kernels();

}  // namespace ebb::kernels
