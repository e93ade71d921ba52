// ebb/ops/registry.cpp -- finding a kernel by name, and refusing one of another signature.
#include "ebb/ops/registry.h"

#include "ebb/core/base/error.h"
#include "ebb/kernels/kernel_info.h"

namespace ebb::ops {
namespace {

const kernels::KernelInfo* find_kernel(std::string_view name) {
  for (const kernels::KernelInfo& info : kernels::all_kernels()) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

}  // namespace

void register_kernel(std::string_view name, uint32_t signature, kernels::KernelKey key,
                     void (*function)()) {
  const kernels::KernelInfo* const info = find_kernel(name);
  if (info == nullptr) {
    throw ValueError(str("register_kernel: the name must be that of a kernel, got ", name));
  }
  if (signature != info->signature) {
    throw ValueError(str("register_kernel: ", name, " has signature ", info->signature, ", got ",
                         signature, "\nhint: build the plug-in with the headers of this version"));
  }
  info->set(key, function);
}

}  // namespace ebb::ops

int64_t ebb_kernel_dtypes(const char* name) {
  const ebb::kernels::KernelInfo* const info = ebb::ops::find_kernel(name);
  if (info == nullptr) return -1;
  int64_t dtypes = 0;
  for (int index = 0; index < ebb::kDTypeCount; ++index) {
    if (info->has_cpu(static_cast<ebb::DType>(index))) dtypes |= int64_t{1} << index;
  }
  return dtypes;
}
