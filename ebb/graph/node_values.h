// ebb/graph/node_values.h -- private to this folder: what one node saved, as rows.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/graph/rows.h"
#include "ebb/graph/tables.h"

namespace ebb::graph {

/// Appends text as a JSON string.
void append_json(std::string& out, std::string_view text);

/// Collects saved tensors of one node after the other.
class SavedTable {
 public:
  SavedTable(TextTable& texts, ShapeTable& shapes) : texts_(texts), shapes_(shapes) {}
  void add(autograd::Node& node, uint32_t number);

  std::vector<SavedRow> rows;
  std::vector<uint64_t> storages;

 private:
  friend class SavedCollector;
  uint32_t storage_of(const TensorImpl& impl);

  TextTable& texts_;
  ShapeTable& shapes_;
  PointerMap storage_numbers_;
};

/// Sets of attributes, each once.
class AttributeTable {
 public:
  explicit AttributeTable(TextTable& texts) : texts_(texts) {}
  /// The number of the node's set, or kNone if it has no attributes.
  uint32_t number_of(const autograd::Node& node);

  std::vector<std::vector<Attribute>> sets;

 private:
  TextTable& texts_;
  TextTable known_;   // the sets as text
  std::string text_;  // the set at hand: a line "name=value" per attribute
  std::vector<std::pair<const char*, size_t>> values_;  // its names, and where their values begin
};

}  // namespace ebb::graph
