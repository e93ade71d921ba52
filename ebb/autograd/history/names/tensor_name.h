// ebb/autograd/history/names/tensor_name.h -- giving tensors names.
//
// A name lies in the tensor's meta. That of an op's result is noted in the op's node as well, so
// that errors and graph views know it when the tensor itself is gone (place_name.h).
#pragma once

#include <string>
#include <string_view>

#include "ebb/autograd/history/names/place_name.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb {

/// Gives a tensor a name, for messages, repr and graph views; an empty one takes it away. Copies,
/// views and detached tensors have none. Throws ValueError for no tensor.
EBB_API void set_name(const Tensor& tensor, std::string_view name);

namespace autograd {

/// Notes under which path a module holds the tensor; messages use it if it was given no name.
EBB_API void set_module_path(const Tensor& tensor, std::string_view path);
}  // namespace autograd
}  // namespace ebb
