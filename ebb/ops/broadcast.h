// ebb/ops/broadcast.h -- shapes of operands joined, with errors that say whose shapes they are.
#pragma once

#include <ostream>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops {

/// An operand as messages call it: its role in the op, and the tensor.
struct RoleOf {
  const char* role;
  const Tensor& tensor;
};

/// The common shape of two operands. Throws ShapeError, naming op, roles and tensors.
EBB_API Shape broadcast_operands(const char* op, RoleOf lhs, RoleOf rhs);

/// The sizes of a tensor, or sizes alone: printed, a tensor's tell its name too.
class SizesOf {
 public:
  SizesOf(IntSpan sizes) : sizes_(sizes) {}                                    // NOLINT
  SizesOf(const Tensor& tensor) : sizes_(tensor.sizes()), tensor_(&tensor) {}  // NOLINT
  operator IntSpan() const { return sizes_; }                                  // NOLINT
  size_t size() const { return sizes_.size(); }
  int64_t operator[](size_t dim) const { return sizes_[dim]; }
  EBB_API friend std::ostream& operator<<(std::ostream& out, const SizesOf& sizes);

 private:
  IntSpan sizes_;
  const Tensor* tensor_ = nullptr;
};

}  // namespace ebb::ops
