// ebb/autograd/history/names/print.h -- tensors as text, the same in C++ and Python.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// How elements are written.
struct PrintOptions {
  static constexpr int kMostDigits = 100;

  int precision = 4;         // digits after the point
  int64_t threshold = 1000;  // more elements are summarised
  int64_t edge_items = 3;    // so many are then shown at each end of a dim
  size_t line_width = 80;
  std::optional<bool> scientific;  // by the numbers' sizes if not given
};

/// What holds for all threads.
EBB_API PrintOptions print_options();
/// Throws ValueError for negative numbers, or more than kMostDigits.
EBB_API void set_print_options(const PrintOptions& options);

/// "tensor([1., 2.], requires_grad=True)": elements in one width; above the threshold a few at each
/// end of a dim. Waits for a device to give them.
EBB_API std::string to_text(const Tensor& tensor);
EBB_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace ebb
