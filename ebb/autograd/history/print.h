// ebb/autograd/history/print.h -- tensors as text, the same in C++ and Python.
#pragma once

#include <iosfwd>
#include <string>

#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// "tensor([1., 2.], requires_grad=True)": elements in one width; above 1,000 of them three at each
/// end of a dim. Waits for a device to give them.
EBB_API std::string to_text(const Tensor& tensor);
EBB_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace ebb
