// ebb/graph/tables.cpp -- looking up and growing.
#include "ebb/graph/tables.h"

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

TextTable::TextTable(std::vector<std::string> texts) : texts_(std::move(texts)) {
  for (size_t index = 0; index < texts_.size(); ++index) {
    numbers_.emplace(texts_[index], static_cast<uint32_t>(index));
  }
}

uint32_t TextTable::number_of(std::string_view text) {
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(texts_.back(), number);
  return number;
}

uint32_t ShapeTable::number_of(IntSpan shape) {
  const uint32_t number = bytes_.number_of(
      {reinterpret_cast<const char*>(shape.data()), shape.size() * sizeof(int64_t)});
  if (number == shapes_.size()) shapes_.emplace_back(shape.begin(), shape.end());
  return number;
}

}  // namespace ebb::graph
