// ebb/kernels/step_table.h -- the steps of optimizers that a device has kernels for.
//
// The CPU's are plain functions (ebb/kernels/cpu/network/optim.h), which optimizers call for pieces
// of memory; a device's plug-in fills in a table, and gets each parameter whole. What a null stands
// for is stepped on the CPU. Unscaling of gradients before a step goes the same way.
#pragma once

#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"
#include "ebb/kernels/optim_options.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// Each queues one step on the context's stream; state in the order of the CPU's functions.
struct StepTable {
  /// Whether the device has the steps for parameters of a dtype; asked before anything is written.
  bool (*takes)(Device device, DType dtype) = nullptr;

  void (*sgd)(const Context&, const SGDOptions&, const StepFactors&, const StepOperands&) = nullptr;
  void (*adam)(const Context&, const AdamOptions&, WeightDecay, const StepFactors&,
               const StepOperands&) = nullptr;
  void (*rmsprop)(const Context&, const RMSpropOptions&, const StepFactors&,
                  const StepOperands&) = nullptr;
  void (*adagrad)(const Context&, const AdagradOptions&, const StepFactors&,
                  const StepOperands&) = nullptr;

  /// Multiplies `count` numbers of a floating dtype that `takes` holds for, end to end, and writes
  /// 1 to the float32 number `found` if one of them was not finite before; else leaves that alone.
  void (*unscale)(const Context&, DType, void* data, int64_t count, double factor,
                  void* found) = nullptr;
};

/// The table of a backend: filled in when its plug-in is loaded, before anything runs there.
EBB_API StepTable& step_table(Backend backend);

}  // namespace ebb::kernels
