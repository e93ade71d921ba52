// ebb/autograd/history/tensor_name.h -- giving tensors names, and naming nodes and places of a
// graph.
//
// A name lies in the tensor's meta. That of an op's result is noted in the op's node as well, so
// that errors and graph views know it when the tensor itself is gone.
#pragma once

#include <string>
#include <string_view>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb {

/// Gives a tensor a name, for messages, repr and graph views; an empty one takes it away. Copies,
/// views and detached tensors have none. Throws ValueError for no tensor.
EBB_API void set_name(const Tensor& tensor, std::string_view name);

namespace autograd {

/// Notes under which path a module holds the tensor; messages use it if it was given no name.
EBB_API void set_module_path(const Tensor& tensor, std::string_view path);
/// Notes in a node what an output of it is called; an empty name takes that away.
void note_name(Node& node, uint32_t output, const std::string& name);

/// What the tensor at a place is called: a leaf, or an output of an op. "" if it has no name.
EBB_API std::string title_of(const Edge& place);
/// naming_of() the tensor at a place: " named 'w'", " viewing 'w'", or "".
std::string naming_of(const Edge& place);
/// "float32 [3] named 'w'"; of an unnamed result "float32 [3] made by MulBackward at train.py:3".
std::string describe_place(const Edge& place);

/// What messages call a node: "MulBackward", or "MulBackward of 'h'" if its result has a name.
EBB_API std::string title_of(const Node& node);
/// " from 'x' and 'w'": those among a node's operands that have names; "" if none has.
std::string list_operands(const Node& node);
/// "MulBackward of 'h' in module layers.0, recorded at train.py:3", with callers as far as known.
std::string describe_node(const Node& node);
/// " in module layers.0", or "" outside of modules.
std::string in_module(ScopeId scope);

}  // namespace autograd
}  // namespace ebb
