// ebb/graph/tables.cpp -- looking up and growing.
#include "ebb/graph/tables.h"

#include <algorithm>
#include <functional>

namespace ebb::graph {

size_t PointerMap::place_of(const void* key) const {
  const uint64_t mixed = reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15u;
  const size_t mask = slots_.size() - 1;
  size_t place = (mixed >> 20) & mask;
  while (slots_[place].key != nullptr && slots_[place].key != key) place = (place + 1) & mask;
  return place;
}

uint32_t& PointerMap::at(const void* key, uint32_t fresh) {
  size_t place = place_of(key);
  if (slots_[place].key == nullptr) {
    if (2 * (count_ + 1) > slots_.size()) {
      grow();
      place = place_of(key);
    }
    ++count_;
    slots_[place] = {key, fresh};
  }
  return slots_[place].number;
}

const uint32_t* PointerMap::find(const void* key) const {
  const Slot& slot = slots_[place_of(key)];
  return slot.key == nullptr ? nullptr : &slot.number;
}

void PointerMap::grow() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  for (const Slot& slot : before) {
    if (slot.key != nullptr) slots_[place_of(slot.key)] = slot;
  }
}

void HashIndex::grow() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  for (const Slot& slot : before) {
    if (slot.number == kFree) continue;
    size_t place = slot.hash & (slots_.size() - 1);
    while (slots_[place].number != kFree) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = slot;
  }
}

TextTable::TextTable(std::vector<std::string> texts) {
  for (std::string& text : texts) {
    const auto fresh = static_cast<uint32_t>(texts_.size());
    texts_.push_back(std::move(text));
    numbers_.at(std::hash<std::string>{}(texts_.back()), fresh,
                [&](uint32_t number) { return texts_[number] == texts_[fresh]; });
  }
}

uint32_t TextTable::number_of(std::string_view text) {
  const auto fresh = static_cast<uint32_t>(texts_.size());
  const uint32_t number = numbers_.at(std::hash<std::string_view>{}(text), fresh,
                                      [&](uint32_t other) { return texts_[other] == text; });
  if (number == fresh) texts_.emplace_back(text);
  return number;
}

uint32_t ShapeTable::number_of(IntSpan shape) {
  uint64_t hash = shape.size();
  for (const int64_t size : shape) {
    hash = (hash ^ static_cast<uint64_t>(size)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  const auto fresh = static_cast<uint32_t>(shapes_.size());
  const uint32_t number = numbers_.at(hash, fresh, [&](uint32_t other) {
    return std::equal(shape.begin(), shape.end(), shapes_[other].begin(), shapes_[other].end());
  });
  if (number == fresh) shapes_.emplace_back(shape.begin(), shape.end());
  return number;
}

}  // namespace ebb::graph
