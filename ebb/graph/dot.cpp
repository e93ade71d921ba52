// ebb/graph/dot.cpp -- boxes and arrows as text.
#include "ebb/graph/dot.h"

#include <string_view>
#include <unordered_set>

#include "ebb/core/base/error.h"
#include "ebb/core/base/shape.h"

namespace ebb::graph {
namespace {

constexpr const char* kOp = "lightgrey";
constexpr const char* kLeaf = "lightblue";
constexpr const char* kResult = "darkolivegreen1";
constexpr const char* kBase = "darkolivegreen3";
constexpr const char* kSaved = "orange";

/// Text between quotes; a line break becomes one that keeps the text left-aligned.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '\n') {
      out += "\\l";
      continue;
    }
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + '"';
}

class DotGraph {
 public:
  DotGraph(const Snapshot& snapshot, const DotOptions& options)
      : snapshot_(snapshot), options_(options) {}

  std::string write() {
    out_ =
        "digraph {\n"
        "  node [align=left fontname=monospace fontsize=10 height=0.2 ranksep=0.1 shape=box "
        "style=filled]\n"
        "  edge [fontname=monospace fontsize=8]\n";
    for (const ViewRow& row : snapshot_.views) bases_.insert(row.base);
    for (uint32_t node = 0; node < snapshot_.nodes.size(); ++node) {
      write_node(node);
      if (options_.show_saved) write_saved(node);
    }
    for (const EdgeRow& edge : snapshot_.edges) write_edge(edge);
    for (const ViewRow& row : snapshot_.views) {
      arrow(str('n', row.base), str('n', row.node), " [style=dotted]");
    }
    for (size_t index = 0; index < snapshot_.roots.size(); ++index) write_root(index);
    return std::move(out_ += "}\n");
  }

 private:
  std::string shape_text(uint32_t shape) const { return str(PrintShape{snapshot_.shapes[shape]}); }
  void box(const std::string& id, std::string_view label, const char* colour) {
    out_ += str("  ", id, " [label=", quoted(label), " fillcolor=", colour, "]\n");
  }
  /// From one box to the one that its value went to, or against that.
  void arrow(const std::string& from, const std::string& to, const std::string& look = "") {
    const bool is_forward = options_.direction == Direction::forward;
    out_ += str("  ", is_forward ? from : to, " -> ", is_forward ? to : from, look, '\n');
  }
  void write_node(uint32_t node);
  std::string details(uint32_t node) const;
  void write_saved(uint32_t node);
  void write_edge(const EdgeRow& edge);
  void write_root(size_t index);

  const Snapshot& snapshot_;
  const DotOptions& options_;
  std::unordered_set<uint32_t> bases_;
  std::string out_;
};

void DotGraph::write_node(uint32_t node) {
  const NodeRow& row = snapshot_.nodes[node];
  std::string label(snapshot_.name_of(node));
  if (row.is_freed) label += " (freed)";
  for (const OutputRow& output : snapshot_.outputs_of(node)) {
    if (output.name != kNone) label += '\n' + snapshot_.strings[output.name];
  }
  if (options_.show_attributes) label += details(node);
  box(str('n', node), label, bases_.contains(node) ? kBase : kOp);
  const LeafRow* const leaf = snapshot_.leaf_of(node);
  if (leaf == nullptr) return;
  const std::string& name = snapshot_.strings[leaf->name];
  const std::string shape = shape_text(snapshot_.outputs_of(node)[0].shape);
  box(str("leaf", node), name.empty() ? shape : str(name, '\n', shape, '\n'), kLeaf);
  arrow(str("leaf", node), str('n', node));
}

/// A line per attribute and saved tensor, below a rule.
std::string DotGraph::details(uint32_t node) const {
  std::string text;
  const auto add = [&](const std::string& name, std::string value) {
    if (value.size() > options_.max_attribute_chars) {
      value = value.substr(0, options_.max_attribute_chars) + "...";
    }
    text += str(name, ": ", value, '\n');
  };
  const uint32_t set = snapshot_.nodes[node].attributes;
  if (set != kNone) {
    for (const Attribute& attribute : snapshot_.attribute_sets[set]) {
      add(snapshot_.strings[attribute.name], attribute.value);
    }
  }
  for (const SavedRow& saved : snapshot_.saved_of(node)) {
    add(snapshot_.strings[saved.name], str(name_of(saved.dtype), ' ', shape_text(saved.shape)));
  }
  return text.empty() ? "" : "\n----------------\n" + text;
}

void DotGraph::write_saved(uint32_t node) {
  size_t index = 0;
  for (const SavedRow& saved : snapshot_.saved_of(node)) {
    const std::string id = str("saved", node, '_', index++);
    box(id, str(snapshot_.strings[saved.name], '\n', shape_text(saved.shape), '\n'), kSaved);
    arrow(id, str('n', node), " [dir=none]");
  }
}

void DotGraph::write_edge(const EdgeRow& edge) {
  std::string look;
  if (options_.show_shapes) {
    const OutputRow& output = snapshot_.flow_of(edge);
    look = str(" [label=",
               quoted(str(shape_text(output.shape), ' ', name_of(output.dtype), ' ',
                          to_string(output.device),
                          snapshot_.requires_grad(edge) ? "" : " (no gradient wanted)")),
               ']');
  }
  arrow(str('n', edge.to), str('n', edge.from), look);
}

void DotGraph::write_root(size_t index) {
  const RootRow& root = snapshot_.roots[index];
  const OutputRow& output = snapshot_.outputs_of(root.node)[root.output];
  const std::string name = output.name == kNone ? "" : snapshot_.strings[output.name] + '\n';
  const std::string shape = shape_text(output.shape);
  box(str("root", index), name.empty() ? shape : name + shape + '\n', kResult);
  arrow(str('n', root.node), str("root", index));
}

}  // namespace

std::string to_dot(const Snapshot& snapshot, const DotOptions& options) {
  return DotGraph(snapshot, options).write();
}

}  // namespace ebb::graph
