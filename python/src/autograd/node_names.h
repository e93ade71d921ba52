// python/src/autograd/node_names.h -- what the Python types of nodes are called.
#pragma once

#include <span>

namespace ebb::python {

/// A node of an overload: its own name says which, its type's does not, as in PyTorch.
struct OverloadName {
  const char* node;  // "MulScalarBackward"
  const char* type;  // "MulBackward0"
};
/// Those of the op table (generated: python/op_tables.cpp).
std::span<const OverloadName> overload_names();

}  // namespace ebb::python
