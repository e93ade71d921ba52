// ebb/autograd/history/names/place_name.h -- what messages call the nodes and places of a graph.
#pragma once

#include <string>

#include "ebb/autograd/history/node.h"
#include "ebb/core/base/scope.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb::autograd {

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

}  // namespace ebb::autograd
