// ebb/graph/tables.h -- private to this folder: texts, shapes and pointers, each once, by number.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ebb/core/base/shape.h"

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

/// Finds things that have numbers, by the hash of what they are. The owner keeps the things.
class HashIndex {
 public:
  /// The number with that hash for which `is_it(number)` holds; else `fresh`, which is noted.
  template <typename IsIt>
  uint32_t at(uint64_t hash, uint32_t fresh, IsIt is_it) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    size_t place = hash & (slots_.size() - 1);
    for (; slots_[place].number != kFree; place = (place + 1) & (slots_.size() - 1)) {
      if (slots_[place].hash == hash && is_it(slots_[place].number)) return slots_[place].number;
    }
    slots_[place] = {fresh, hash};
    ++count_;
    return fresh;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    uint32_t number = kFree;
    uint64_t hash = 0;
  };
  void grow();

  std::vector<Slot> slots_{64};  // a power of two
  size_t count_ = 0;
};

/// Each text once.
class TextTable {
 public:
  TextTable() = default;
  explicit TextTable(std::vector<std::string> texts);
  uint32_t number_of(std::string_view text);
  /// The same for a text that neither moves nor changes while the table is filled, such as the name
  /// of a class of nodes: it is known by its address.
  uint32_t number_of_lasting(const char* text) {
    Recent& recent = recent_[(reinterpret_cast<uintptr_t>(text) >> 3) % recent_.size()];
    if (recent.text != text) recent = {text, number_of(text)};
    return recent.number;
  }
  const std::vector<std::string>& texts() const { return texts_; }
  std::vector<std::string> take() && { return std::move(texts_); }

 private:
  struct Recent {
    const char* text = nullptr;
    uint32_t number = 0;
  };
  std::vector<std::string> texts_;
  HashIndex numbers_;
  std::array<Recent, 64> recent_;
};

/// Each shape once.
class ShapeTable {
 public:
  uint32_t number_of(IntSpan shape);
  std::vector<std::vector<int64_t>> take() && { return std::move(shapes_); }

 private:
  std::vector<std::vector<int64_t>> shapes_;
  HashIndex numbers_;
};

}  // namespace ebb::graph
