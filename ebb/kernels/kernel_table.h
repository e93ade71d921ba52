// ebb/kernels/kernel_table.h -- the table of one kernel: (backend, layout, dtype) -> function.
//
// Selecting a kernel is one load. The tables themselves are generated from the op table
// (ebb/kernels/tables.h in the build folder), one variable per kernel; kernels fill them at start.
#pragma once

#include <cstdint>

#include "ebb/core/base/dtype.h"
#include "ebb/core/device/device.h"

namespace ebb::kernels {

/// What selects a kernel.
struct KernelKey {
  Backend backend = Backend::cpu;
  Layout layout = Layout::strided;
  DType dtype = DType::float32;
};

/// An element-wise kernel at its barest: contiguous CPU memory, few elements. in[i] points at
/// `count` elements, or at one number where bit i of `splat` is set, which is float32 beside half
/// types; `out` may be one of the inputs.
using RowKernel = void (*)(const void* const* in, void* out, int64_t count, unsigned splat);

/// More elements than this go through the full kernel, which may split the work over threads.
inline constexpr int64_t kRowLimit = 32768;

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
  /// The same op for dense operands, so that small ones need not be described by views.
  constexpr RowKernel find_row(DType dtype) const { return rows_[static_cast<int>(dtype)]; }
  constexpr void set_row(DType dtype, RowKernel row) { rows_[static_cast<int>(dtype)] = row; }

 private:
  Function entries_[kBackendCount][kLayoutCount][kDTypeCount] = {};
  RowKernel rows_[kDTypeCount] = {};
};

}  // namespace ebb::kernels
