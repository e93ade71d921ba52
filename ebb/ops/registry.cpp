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

namespace {

int64_t dtypes_on(const char* name, ebb::Backend backend) {
  const ebb::kernels::KernelInfo* const info = ebb::ops::find_kernel(name);
  if (info == nullptr) return -1;
  int64_t dtypes = 0;
  for (int index = 0; index < ebb::kDTypeCount; ++index) {
    const auto dtype = static_cast<ebb::DType>(index);
    if (info->has({backend, ebb::Layout::strided, dtype})) dtypes |= int64_t{1} << index;
  }
  return dtypes;
}

}  // namespace

int64_t ebb_kernel_dtypes(const char* name) { return dtypes_on(name, ebb::Backend::cpu); }

int64_t ebb_kernel_dtypes_on(const char* name, const char* device) {
  try {
    return dtypes_on(name, backend_of(ebb::parse_device(device)));
  } catch (const ebb::Error&) {
    return -1;
  }
}
