// ebb/ops/view_of.cpp -- fills the kernel tables before main() runs; the error for a missing
// kernel.
//
// The tables are constant-initialised, so the order of static initialisers does not matter. Every
// op refers to throw_no_kernel(), which keeps this file, and so the registration, in a static link.
#include "ebb/ops/view_of.h"

#include "ebb/core/tensor/meta.h"
#include "ebb/kernels/cpu/simd/register.h"
#include "ebb/kernels/kernel_info.h"

namespace ebb::ops {
namespace {

[[maybe_unused]] const bool kIsRegistered = [] {
  kernels::register_cpu_kernels();
  detail::prepare_meta = [](Backend backend) {
    for (const kernels::KernelInfo& info : kernels::all_kernels()) info.set_idle(backend);
  };
  return true;
}();

}  // namespace

MissingKernel::~MissingKernel() = default;

void throw_no_kernel(const char* op, DType dtype, Device device) {
  // What an op computes in may be no operand's dtype, so any of them may be meant.
  const char* const usual = dtype == DType::boolean ? "int64" : is_integer(dtype) ? "float32" : "";
  const std::string hint = *usual == 0 ? "" : str("\nhint: cast an operand: .to(ebb.", usual, ")");
  throw MissingKernel(str(op, ": no kernel for dtype ", dtype, " on ", to_string(device), hint));
}

}  // namespace ebb::ops
