// ebb/ops/registry.h -- kernels by name: for plug-ins that add a device, and for looking in.
#pragma once

#include <cstdint>
#include <string_view>

#include "ebb/core/base/export.h"
#include "ebb/kernels/kernel_table.h"

namespace ebb::ops {

/// Stores a kernel of another device. `signature` is that of the headers which the plug-in was
/// built with (KernelInfo::signature in ebb/kernels/tables.h). Throws ValueError if no kernel has
/// the name, or if its signature differs. Not safe while another thread runs ops.
EBB_API void register_kernel(std::string_view name, uint32_t signature, kernels::KernelKey key,
                             void (*function)());

}  // namespace ebb::ops

/// For tools that load the library: bit i is set if the kernel runs DType(i) on the CPU; -1 for an
/// unknown name.
extern "C" EBB_API int64_t ebb_kernel_dtypes(const char* name);
/// The same of another device, "opencl:0"; -1 for one that is unknown, too.
extern "C" EBB_API int64_t ebb_kernel_dtypes_on(const char* name, const char* device);
