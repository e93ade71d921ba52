// ebb/autograd/forward/jvp_table.h -- forward-mode rules by name, for tests and front ends.
//
// The rules themselves are typed functions, ebb::jvp::name(primals..., tangents...), generated into
// ebb/autograd/jvp/<family>.h. Here each is a function over a list of arguments of any type.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures.h"

namespace ebb::autograd {

/// One argument of an op, of any type of the op table; monostate stands for None.
using Argument =
    std::variant<std::monostate, Tensor, std::vector<Tensor>, Scalar, int64_t, bool, double,
                 std::vector<int64_t>, DType, kernels::Reduction, std::string, Device>;

/// `arguments`: all arguments of the op in order. `tangents`: one per tensor parameter that has a
/// gradient, in order (a list for a list); monostate or an undefined tensor stands for zeros.
/// Returns the tangents of the differentiable results. Throws ValueError for arguments of wrong
/// type.
using JvpFunction = std::vector<Tensor> (*)(std::span<const Argument> arguments,
                                            std::span<const Argument> tangents);

struct JvpRule {
  const char* name;  // with overload: mul.Scalar
  JvpFunction function;
};

/// The rule of an op, or null if it has none.
EBB_API const JvpRule* find_jvp_rule(std::string_view name);

}  // namespace ebb::autograd
