// ebb/autograd/history/names/place_name.cpp -- finds names, and puts nodes and places in words.
#include "ebb/autograd/history/names/place_name.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ebb/autograd/history/node_extra.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/base/scope_path.h"

namespace ebb::autograd {

void note_name(Node& node, uint32_t output, const std::string& name) {
  if (name.empty() && node.extra() == nullptr) return;
  NodeExtra& extra = ensure_extra(node);
  const std::lock_guard lock(extra.mutex);
  std::erase_if(extra.names, [output](const auto& entry) { return entry.first == output; });
  if (!name.empty()) extra.names.emplace_back(output, name);
}

std::string title_of(const Edge& place) {
  if (place.node == nullptr) return {};
  if (place.node->is_accumulator()) {
    return dynamic_cast<const Named&>(*place.node).names().title();
  }
  NodeExtra* const extra = place.node->extra();
  if (extra == nullptr) return {};
  const std::lock_guard lock(extra->mutex);
  for (const auto& [index, name] : extra->names) {
    if (index == place.index) return name;
  }
  return {};
}

std::string naming_of(const Edge& place) {
  const std::string own = title_of(place);
  if (!own.empty() || place.node == nullptr || place.node->is_accumulator()) return naming(own);
  const Node& node = *place.node;
  const bool is_view = place.index < node.output_count() && node.edge_count() > 0 &&
                       node.output_meta(place.index).is_view();
  const std::string viewed = is_view ? title_of(node.edges()[0]) : std::string();
  return viewed.empty() ? std::string() : str(" viewing ", in_quotes(viewed));
}

std::string describe_place(const Edge& place) {
  const OutputMeta& meta = place.node->output_meta(place.index);
  const std::string type = str(meta.dtype, ' ', PrintShape{meta.shape()});
  const std::string named = naming_of(place);
  if (!named.empty() || place.node->is_accumulator()) return type + named;
  return str(type, " made by ", place.node->name(), " at ", line_of(place.node->location()));
}

std::string title_of(const Node& node) {
  for (uint32_t index = 0; index < node.output_count(); ++index) {
    const std::string title = title_of(Edge{const_cast<Node*>(&node), index, 0});
    if (!title.empty()) return str(node.name(), " of ", in_quotes(title));
  }
  return node.name();
}

std::string list_operands(const Node& node) {
  std::vector<std::string> titles;
  for (const Edge& edge : node.edges()) {
    std::string title = title_of(edge);
    const bool is_new = std::find(titles.begin(), titles.end(), title) == titles.end();
    if (!title.empty() && is_new) titles.push_back(std::move(title));
  }
  std::string text;
  for (size_t index = 0; index < titles.size(); ++index) {
    const char* const joint = index == 0 ? " from " : index + 1 == titles.size() ? " and " : ", ";
    text += joint + in_quotes(titles[index]);
  }
  return text;
}

std::string in_module(ScopeId scope) {
  const std::string path = scope_path(scope);
  return path.empty() ? path : " in module " + path;
}

std::string describe_node(const Node& node) {
  const ScopeId scope = node.output_count() == 0 ? 0 : scope_of(node.output_meta(0).context);
  return str(title_of(node), in_module(scope), ", recorded at ", explain_location(node.location()));
}

}  // namespace ebb::autograd
