// ebb/ops/check.cpp -- the throwing halves of the declared checks.
#include "ebb/ops/check.h"

#include "ebb/ops/prepare.h"

namespace ebb::ops::check {

void throw_operand(const char* op, const char* name, const Tensor& tensor, uint32_t accepted) {
  if (!tensor.defined()) {
    throw ValueError(str(op, ": '", name, "' must be a tensor, got an undefined one"));
  }
  throw_not_accepted(op, name, tensor.dtype(), accepted);
}

void throw_devices(const char* op, const Tensor& input, const Tensor& other) {
  throw ValueError(str(op, ": all operands must be on one device, got ", to_string(input.device()),
                       " and ", to_string(other.device())));
}

void list(const char* op, const char* name, std::span<const Tensor> tensors, uint32_t accepted) {
  for (size_t index = 0; index < tensors.size(); ++index) {
    const Tensor& tensor = tensors[index];
    const bool is_good =
        tensor.defined() && (accepted >> static_cast<int>(tensor.dtype()) & 1u) != 0;
    if (!is_good) throw_operand(op, str(name, '[', index, ']').c_str(), tensor, accepted);
    same_device(op, tensors[0], tensor);
  }
}

void in_range(const char* op, const char* name, const Tensor& index, const char*,
              const Tensor& input, int64_t dim) {
  const int axis = normalize_dim(op, dim, input.ndim());
  const int64_t size = input.ndim() == 0 ? 1 : input.sizes()[static_cast<size_t>(axis)];
  infer::check_index_range(op, name, index, size);
}

void not_empty(const char* op, const char* name, std::span<const Tensor> tensors) {
  if (tensors.empty()) throw ValueError(str(op, ": '", name, "' must not be empty, got no tensor"));
}

}  // namespace ebb::ops::check
