// ebb/testing/jacobian.h -- two Jacobians of one output and one input, and where they disagree.
#pragma once

#include <functional>
#include <string>

#include "ebb/testing/components.h"

namespace ebb::testing {

/// A row per component of the output, a column per component of the input (or per direction).
struct Jacobian {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<double> values;

  Jacobian(size_t rows, size_t columns) : rows(rows), columns(columns), values(rows * columns) {}
  double& at(size_t row, size_t column) { return values[row * columns + column]; }
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

struct Comparison {
  const Jacobian& analytical;
  const Jacobian& numerical;
  double atol;
  double rtol;

  /// Whether |a - n| <= atol + rtol * |n| does not hold; NaN is wrong.
  bool is_wrong(size_t row, size_t column) const;
  /// The first wrong element in row-major order; as many as there are elements if none is.
  size_t first_wrong() const;
  /// The first wrong element, the worst one, how many are, and a map of them.
  std::string explain(const Tensor& out, const Tensor& input) const;
  /// "analytical 1 and numerical 2" of an element.
  std::string both(size_t element) const;
};

}  // namespace ebb::testing
