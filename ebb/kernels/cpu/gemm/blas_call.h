// ebb/kernels/cpu/gemm/blas_call.h -- what every call of OpenBLAS and of its LAPACK needs.
#pragma once

#include <mutex>

namespace ebb::kernels::cpu {

/// For the length of a call: alone, if calls have to take turns, else with a packing buffer of the
/// thread's own. Throws OutOfMemoryError, naming `op`, where there is no address space for one.
class BlasCall {
 public:
  explicit BlasCall(const char* op);

 private:
  std::unique_lock<std::mutex> turn_;
};

}  // namespace ebb::kernels::cpu
