// ebb/kernels/kernel_table.h -- the dense table of one kernel: (backend, layout, dtype) -> function.
//
// Selecting a kernel is one load. The tables themselves are generated from the op table
// (ebb/kernels/tables.h in the build folder), one variable per kernel; kernels fill them at start.
#pragma once

#include "ebb/core/device.h"
#include "ebb/core/dtype.h"

namespace ebb::kernels {

/// What selects a kernel.
struct KernelKey {
  Backend backend = Backend::cpu;
  Layout layout = Layout::strided;
  DType dtype = DType::float32;
};

/// Function pointers of one kernel, null where there is none.
template <typename Function>
class KernelTable {
 public:
  constexpr Function find(KernelKey key) const {
    return entries_[static_cast<int>(key.backend)][static_cast<int>(key.layout)]
                   [static_cast<int>(key.dtype)];
  }
  constexpr Function find_cpu(DType dtype) const { return entries_[0][0][static_cast<int>(dtype)]; }
  constexpr void set(KernelKey key, Function function) {
    entries_[static_cast<int>(key.backend)][static_cast<int>(key.layout)]
            [static_cast<int>(key.dtype)] = function;
  }
  constexpr void set_cpu(DType dtype, Function function) {
    entries_[0][0][static_cast<int>(dtype)] = function;
  }

 private:
  Function entries_[kBackendCount][kLayoutCount][kDTypeCount] = {};
};

}  // namespace ebb::kernels
