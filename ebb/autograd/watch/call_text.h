// ebb/autograd/watch/call_text.h -- calls and nodes as text: for the log, and for profiles that
// note operands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/core/base/location.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/kernel_table.h"

namespace ebb::autograd {

/// "float32 [2, 3], int64 [3]": dtypes and shapes of those that are defined.
std::string describe_operands(std::span<const Tensor* const> operands);
std::string describe_operands(std::span<const Tensor> operands);

/// What selects the kernels of a call, from what it was given and made: the dtype is the one that
/// its operands promote to, or the result's where that makes numbers of them real.
EBB_API kernels::KernelKey key_of_call(std::span<const Tensor* const> operands,
                                       const Tensor& result);

// Lines of the log, if the level of their part is reached.
void log_call(const char* op, LocationId place, std::span<const Tensor* const> operands,
              std::span<const Tensor> results);
void log_node(const Node& node, std::span<const Tensor> grads);
/// A run that starts at a place.
void log_run(const char* call, const Edge& root);

}  // namespace ebb::autograd
