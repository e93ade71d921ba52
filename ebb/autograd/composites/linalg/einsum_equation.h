// ebb/autograd/composites/linalg/einsum_equation.h -- what an equation such as 'bij,bjk->bik' says:
// labels of every dim, with "..." spelled out and all sizes checked.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::einsum {

/// The name of a dim: 0 to 51 for A to Z and a to z, from 52 on for the dims of "...", the last
/// one first.
using Label = int;
using Labels = std::vector<Label>;

struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

/// Throws ValueError or ShapeError, naming einsum, for anything that does not fit the operands.
Equation parse(std::string_view text, std::span<const Tensor> operands);

inline bool contains(const Labels& labels, Label label) {
  for (const Label one : labels) {
    if (one == label) return true;
  }
  return false;
}

}  // namespace ebb::autograd::einsum
