// ebb/graph/json.cpp -- tables of rows as columns of numbers.
#include "ebb/graph/json.h"

#include <array>
#include <charconv>
#include <map>
#include <unordered_map>

#include "ebb/graph/node_values.h"
#include "ebb/graph/tables.h"

namespace ebb::graph {
namespace {

/// Writes objects and columns; puts commas where they belong.
class Writer {
 public:
  std::string text;

  void key(std::string_view name) {
    comma();
    append_json(text, name);
    text += ':';
    needs_comma_ = false;
  }
  void open(char bracket) {
    comma();
    text += bracket;
    needs_comma_ = false;
  }
  void close(char bracket) {
    text += bracket;
    needs_comma_ = true;
  }
  void number(int64_t value) {
    comma();
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    text.append(digits.begin(), end);
  }
  void string(std::string_view value) {
    comma();
    append_json(text, value);
  }
  void raw(std::string_view value) {
    comma();
    text += value;
  }
  /// A column: what `get` says of each row.
  template <typename Row, typename Get>
  void column(std::string_view name, const std::vector<Row>& rows, Get get) {
    key(name);
    open('[');
    for (const Row& row : rows) number(static_cast<int64_t>(get(row)));
    close(']');
  }

 private:
  void comma() {
    if (needs_comma_) text += ',';
    needs_comma_ = true;
  }
  bool needs_comma_ = false;
};

/// -1 stands for none.
int64_t index_or_none(uint32_t index) { return index == kNone ? -1 : int64_t{index}; }

class JsonGraph {
 public:
  explicit JsonGraph(const Snapshot& snapshot)
      : snapshot_(snapshot), locations_(snapshot), texts_(snapshot.strings) {}

  std::string write() {
    out_.open('{');
    out_.key("format");
    out_.string("ebb.graph");
    out_.key("version");
    out_.number(1);
    write_modules();
    write_locations();
    write_nodes();
    write_outputs();
    write_edges();
    write_leaves();
    write_saved();
    write_small_tables();
    write_shapes();
    write_strings();  // at last: all the others add to them
    out_.close('}');
    return std::move(out_.text);
  }

 private:
  void write_modules();
  void write_locations();
  void write_nodes();
  void write_times();
  void write_attributes();
  void write_hooks();
  void write_stacks();
  void write_outputs();
  void write_edges();
  void write_leaves();
  void write_saved();
  void write_small_tables();
  void write_shapes();
  void write_strings();
  uint32_t text_of(DType dtype) { return texts_.number_of(name_of(dtype)); }
  uint32_t text_of(Device device) {
    const auto key = std::make_pair(static_cast<int>(device.type), static_cast<int>(device.index));
    const auto [known, is_new] = devices_.try_emplace(key, 0);
    if (is_new) known->second = texts_.number_of(to_string(device));
    return known->second;
  }

  const Snapshot& snapshot_;
  const Locations locations_;
  TextTable texts_;
  std::map<std::pair<int, int>, uint32_t> devices_;
  Writer out_;
};

void JsonGraph::write_modules() {
  out_.key("modules");
  out_.open('{');
  out_.column("path", snapshot_.modules, [](const ModuleRow& row) { return row.path; });
  out_.column("type", snapshot_.modules, [](const ModuleRow& row) { return row.type; });
  out_.column("parent", snapshot_.modules,
              [](const ModuleRow& row) { return index_or_none(row.parent); });
  out_.close('}');
}

void JsonGraph::write_locations() {
  const std::vector<SourceLocation>& lines = locations_.lines;
  out_.key("locations");
  out_.open('{');
  out_.column("file", lines,
              [&](const SourceLocation& line) { return texts_.number_of(line.file); });
  out_.column("line", lines, [](const SourceLocation& line) { return line.line; });
  out_.column("function", lines,
              [&](const SourceLocation& line) { return texts_.number_of(line.function); });
  out_.close('}');
}

void JsonGraph::write_nodes() {
  const std::vector<NodeRow>& nodes = snapshot_.nodes;
  out_.key("nodes");
  out_.open('{');
  out_.column("name", nodes, [](const NodeRow& row) { return row.name; });
  out_.column("sequence", nodes, [](const NodeRow& row) {
    return row.kind == NodeKind::leaf ? -1 : static_cast<int64_t>(row.sequence);
  });
  out_.column("module", nodes, [](const NodeRow& row) { return index_or_none(row.module); });
  out_.column("location", locations_.of_nodes, index_or_none);
  out_.column("kind", nodes, [](const NodeRow& row) { return row.kind; });
  out_.column("freed", nodes, [](const NodeRow& row) { return row.is_freed; });
  write_attributes();
  write_hooks();
  write_stacks();
  if (!snapshot_.times.empty()) write_times();
  out_.close('}');
}

void JsonGraph::write_times() {
  const std::vector<TimeRow>& times = snapshot_.times;
  out_.column("time_ns", times, [](const TimeRow& row) { return row.total_ns(); });
  out_.column("forward_ns", times, [](const TimeRow& row) { return row.forward_ns; });
  out_.column("backward_ns", times, [](const TimeRow& row) { return row.backward_ns; });
  out_.column("allocated", times, [](const TimeRow& row) { return row.allocated; });
}

void JsonGraph::write_attributes() {
  out_.key("attributes");
  out_.open('{');
  for (size_t node = 0; node < snapshot_.nodes.size(); ++node) {
    const uint32_t set = snapshot_.nodes[node].attributes;
    if (set == kNone) continue;
    out_.key(std::to_string(node));
    out_.open('{');
    for (const Attribute& attribute : snapshot_.attribute_sets[set]) {
      out_.key(snapshot_.strings[attribute.name]);
      out_.raw(attribute.value);
    }
    out_.close('}');
  }
  out_.close('}');
}

void JsonGraph::write_hooks() {
  out_.key("hooks");
  out_.open('{');
  for (const HookRow& row : snapshot_.hooks) {
    out_.key(std::to_string(row.node));
    out_.open('{');
    const std::pair<const char*, uint32_t> counts[] = {{"tensor", row.tensor},
                                                       {"pre", row.pre},
                                                       {"post", row.post},
                                                       {"post_accumulate", row.post_accumulate}};
    for (const auto& [kind, count] : counts) {
      out_.key(kind);
      out_.number(count);
    }
    out_.close('}');
  }
  out_.close('}');
}

void JsonGraph::write_stacks() {
  out_.key("stacks");
  out_.open('{');
  for (size_t node = 0; node < snapshot_.nodes.size(); ++node) {
    const uint32_t stack = locations_.stack_of_nodes[node];
    if (stack != kNone) out_.column(std::to_string(node), locations_.stacks[stack], index_or_none);
  }
  out_.close('}');
}

void JsonGraph::write_outputs() {
  const std::vector<OutputRow>& outputs = snapshot_.outputs;
  out_.key("outputs");
  out_.open('{');
  out_.column("node", outputs, [](const OutputRow& row) { return row.node; });
  out_.column("index", outputs, [](const OutputRow& row) { return row.index; });
  out_.column("shape", outputs, [](const OutputRow& row) { return row.shape; });
  out_.column("dtype", outputs, [&](const OutputRow& row) { return text_of(row.dtype); });
  out_.column("device", outputs, [&](const OutputRow& row) { return text_of(row.device); });
  out_.column("name", outputs, [](const OutputRow& row) { return index_or_none(row.name); });
  out_.close('}');
}

void JsonGraph::write_edges() {
  out_.key("edges");
  out_.open('{');
  out_.column("from", snapshot_.edges, [](const EdgeRow& row) { return row.from; });
  out_.column("input", snapshot_.edges, [](const EdgeRow& row) { return row.input; });
  out_.column("to", snapshot_.edges, [](const EdgeRow& row) { return row.to; });
  out_.column("output", snapshot_.edges, [](const EdgeRow& row) { return row.output; });
  out_.close('}');
}

void JsonGraph::write_leaves() {
  out_.key("leaves");
  out_.open('{');
  out_.column("node", snapshot_.leaves, [](const LeafRow& row) { return row.node; });
  out_.column("name", snapshot_.leaves, [](const LeafRow& row) { return row.name; });
  out_.column("requires_grad", snapshot_.leaves,
              [](const LeafRow& row) { return row.requires_grad; });
  out_.column("bytes", snapshot_.leaves, [](const LeafRow& row) { return row.bytes; });
  out_.close('}');
}

void JsonGraph::write_saved() {
  const std::vector<SavedRow>& saved = snapshot_.saved;
  out_.key("saved");
  out_.open('{');
  out_.column("node", saved, [](const SavedRow& row) { return row.node; });
  out_.column("name", saved, [](const SavedRow& row) { return row.name; });
  out_.column("shape", saved, [](const SavedRow& row) { return row.shape; });
  out_.column("dtype", saved, [&](const SavedRow& row) { return text_of(row.dtype); });
  out_.column("device", saved, [&](const SavedRow& row) { return text_of(row.device); });
  out_.column("bytes", saved, [](const SavedRow& row) { return row.bytes; });
  out_.column("version", saved, [](const SavedRow& row) { return row.version; });
  out_.column("storage", saved, [](const SavedRow& row) { return row.storage; });
  out_.column("packed", saved, [](const SavedRow& row) { return row.is_packed; });
  out_.close('}');
}

void JsonGraph::write_small_tables() {
  out_.key("views");
  out_.open('{');
  out_.column("node", snapshot_.views, [](const ViewRow& row) { return row.node; });
  out_.column("base", snapshot_.views, [](const ViewRow& row) { return row.base; });
  out_.close('}');
  out_.key("roots");
  out_.open('{');
  out_.column("node", snapshot_.roots, [](const RootRow& row) { return row.node; });
  out_.column("output", snapshot_.roots, [](const RootRow& row) { return row.output; });
  out_.close('}');
}

void JsonGraph::write_shapes() {
  out_.key("shapes");
  out_.open('[');
  for (const std::vector<int64_t>& shape : snapshot_.shapes) {
    out_.open('[');
    for (const int64_t size : shape) out_.number(size);
    out_.close(']');
  }
  out_.close(']');
}

void JsonGraph::write_strings() {
  out_.key("strings");
  out_.open('[');
  for (const std::string& text : texts_.texts()) out_.string(text);
  out_.close(']');
}

}  // namespace

Locations::Locations(const Snapshot& snapshot) {
  struct Place {
    uint32_t line = kNone, stack = kNone;
  };
  std::unordered_map<LocationId, Place> known = {{0, Place{}}};
  TextTable texts;  // ids stand for instructions, of which a line has many
  of_nodes.reserve(snapshot.nodes.size());
  stack_of_nodes.reserve(snapshot.nodes.size());
  for (const NodeRow& node : snapshot.nodes) {
    const auto [found, is_new] = known.try_emplace(node.location, Place{});
    if (is_new) {
      std::vector<uint32_t> stack;
      for (SourceLocation& line : describe_stack(node.location)) {
        if (line.file.empty()) continue;
        stack.push_back(texts.number_of(to_string(line)));
        if (stack.back() == lines.size()) lines.push_back(std::move(line));
      }
      if (!stack.empty()) found->second.line = stack[0];
      if (stack.size() > 1) {
        found->second.stack = static_cast<uint32_t>(stacks.size());
        stacks.push_back(std::move(stack));
      }
    }
    of_nodes.push_back(found->second.line);
    stack_of_nodes.push_back(found->second.stack);
  }
}

std::string to_json(const Snapshot& snapshot) { return JsonGraph(snapshot).write(); }

}  // namespace ebb::graph
