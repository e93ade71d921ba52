// ebb/graph/tables.h -- private to this folder: texts, shapes and pointers, each once, by number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ebb/core/shape.h"

namespace ebb::graph {

/// From pointers to numbers. Open addressing: a graph has millions of nodes.
class PointerMap {
 public:
  PointerMap() : slots_(kFirstSize) {}
  /// The number of `key`, which is `fresh` if it had none.
  uint32_t& at(const void* key, uint32_t fresh);
  /// The number, or null. The pointer is valid until the next at().
  const uint32_t* find(const void* key) const;
  size_t size() const { return count_; }

 private:
  struct Slot {
    const void* key = nullptr;
    uint32_t number = 0;
  };
  static constexpr size_t kFirstSize = 64;  // a power of two, as all sizes
  size_t place_of(const void* key) const;
  void grow();

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

/// Each text once.
class TextTable {
 public:
  TextTable() = default;
  explicit TextTable(std::vector<std::string> texts);
  uint32_t number_of(std::string_view text);
  const std::vector<std::string>& texts() const { return texts_; }
  std::vector<std::string> take() && { return std::move(texts_); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> numbers_;
};

/// Each shape once.
class ShapeTable {
 public:
  uint32_t number_of(IntSpan shape);
  std::vector<std::vector<int64_t>> take() && { return std::move(shapes_); }

 private:
  std::vector<std::vector<int64_t>> shapes_;
  TextTable bytes_;
};

}  // namespace ebb::graph
