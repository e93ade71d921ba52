// ebb/optim/sparse_rows.h -- sparse gradients as the rows that a step then goes over.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::optim {

/// The rows that a sparse gradient stores, each once, as a selected_rows tensor. Throws
/// NotImplementedError, naming the optimizer, for a layout that does not store whole rows.
EBB_API Tensor stored_rows(const char* optimizer, const Tensor& grad);

/// The same; or, if more than one dim is sparse, the strided gradient, for steps that a gradient of
/// zero leaves nothing to do.
EBB_API Tensor stored_rows_or_strided(const char* optimizer, const Tensor& grad);

/// Throws NotImplementedError: an option does not go with sparse gradients.
[[noreturn]] EBB_API void throw_option_needs_strided(const char* optimizer, const char* option);

}  // namespace ebb::optim
