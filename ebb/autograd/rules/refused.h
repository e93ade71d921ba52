// ebb/autograd/rules/refused.h -- gradients that nobody has: rows of the op table say `refused`.
#pragma once

#include <string_view>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Throws NotImplementedError: `op` has no derivative to its operand `name`. A result that did not
/// require a gradient would lose it without a word.
[[noreturn]] Tensor refused_gradient(std::string_view op, std::string_view name);

}  // namespace ebb::autograd
