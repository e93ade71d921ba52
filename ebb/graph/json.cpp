// ebb/graph/json.cpp -- tables of rows as columns of numbers.
#include "ebb/graph/json.h"

#include <array>
#include <charconv>
#include <functional>
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
    write_table("outputs", snapshot_.outputs);
    write_table("edges", snapshot_.edges);
    write_table("leaves", snapshot_.leaves);
    write_table("saved", snapshot_.saved);
    write_table("views", snapshot_.views);
    write_table("roots", snapshot_.roots);
    write_shapes();
    write_strings();  // at last: all the others add to them
    out_.close('}');
    return std::move(out_.text);
  }

 private:
  void write_modules();
  void write_locations();
  void write_nodes();
  void write_attributes();
  void write_hooks();
  void write_stacks();
  void write_shapes();
  void write_strings();
  template <typename Row>
  void write_table(std::string_view name, const std::vector<Row>& rows) {
    out_.key(name);
    out_.open('{');
    write_columns(rows);
    out_.close('}');
  }
  template <typename Row>
  void write_columns(const std::vector<Row>& rows) {
    Row::columns([&](const char* name, auto member) {
      out_.column(name, rows, [&](const Row& row) { return value_of(std::invoke(member, row)); });
    });
  }
  template <typename Number>
  static int64_t value_of(Number number) {
    return static_cast<int64_t>(number);
  }
  static int64_t value_of(uint32_t index) { return index_or_none(index); }
  int64_t value_of(DType dtype) { return texts_.number_of(name_of(dtype)); }
  int64_t value_of(Device device) {
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
  out_.key("nodes");
  out_.open('{');
  write_columns(snapshot_.nodes);
  out_.column("location", locations_.of_nodes, index_or_none);
  write_attributes();
  write_hooks();
  write_stacks();
  if (!snapshot_.times.empty()) write_columns(snapshot_.times);
  out_.close('}');
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
    HookRow::counts([&](const char* kind, auto count) {
      out_.key(kind);
      out_.number(row.*count);
    });
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
