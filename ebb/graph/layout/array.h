// ebb/graph/layout/array.h -- arrays, rows by key, numbers of keys, a stable sort: no library.
//
// The layout is compiled for the page too, where there is no C library: `operator new` is all that
// it needs from outside. Elements are numbers, copied as bytes.
#pragma once
#include <stdint.h>

namespace ebb::layout {

/// What an array holds, for reading.
template <typename T>
struct View {
  const T* data = nullptr;
  int size = 0;
  const T& operator[](int index) const { return data[index]; }
  const T* begin() const { return data; }
  const T* end() const { return data + size; }
};

/// A growing array of numbers.
template <typename T>
class Array {
 public:
  Array() = default;
  explicit Array(int size, T value = T()) {
    reserve(size);
    for (; size_ < size; ++size_) data_[size_] = value;
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() { release(); }

  int size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int index) { return data_[index]; }
  const T& operator[](int index) const { return data_[index]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator View<T>() const { return {data_, size_}; }  // NOLINT: an array is read as a view

  void push(T value) {
    if (size_ == room_) reserve(size_ < 8 ? 16 : 2 * size_);
    data_[size_++] = value;
  }
  Array copy() const {
    Array made;
    made.reserve(size_);
    for (const T& value : *this) made.data_[made.size_++] = value;
    return made;
  }

 private:
  void reserve(int room) {
    if (room <= room_) return;
    T* const grown = static_cast<T*>(::operator new(sizeof(T) * static_cast<unsigned long>(room)));
    for (int k = 0; k < size_; ++k) grown[k] = data_[k];
    release();
    data_ = grown;
    room_ = room;
  }
  void release() { ::operator delete(data_); }
  template <typename U>
  static void exchange(U& one, U& other) {
    const U kept = one;
    one = other;
    other = kept;
  }
  void swap(Array& other) {
    exchange(data_, other.data_);
    exchange(size_, other.size_);
    exchange(room_, other.room_);
  }

  T* data_ = nullptr;
  int size_ = 0;
  int room_ = 0;
};

/// Numbers sorted by a key: those of key k are `items[start[k]]` to `items[start[k + 1]]`.
struct Rows {
  Array<int> start;
  Array<int> items;
  View<int> operator[](int key) const {
    return {items.data() + start[key], start[key + 1] - start[key]};
  }
  int count(int key) const { return start[key + 1] - start[key]; }
};

/// Sorts 0..keys.size-1 by key, each from 0 to `count` - 1; those of one key as in `order`.
inline Rows group_rows(View<int> keys, int count, View<int> order) {
  Rows found{Array<int>(count + 1), Array<int>(keys.size)};
  for (const int key : keys) found.start[key + 1] += 1;
  for (int key = 0; key < count; ++key) found.start[key + 1] += found.start[key];
  Array<int> next = found.start.copy();
  for (const int row : order) found.items[next[keys[row]]++] = row;
  return found;
}

/// 0, 1, 2, ... `count` - 1.
inline Array<int> in_order(int count) {
  Array<int> made(count);
  for (int k = 0; k < count; ++k) made[k] = k;
  return made;
}

inline Rows group_rows(View<int> keys, int count) {
  return group_rows(keys, count, in_order(keys.size));
}

/// Gives each key a number: 0, 1, 2, ... in the order in which they come.
class Numbers {
 public:
  int size() const { return keys_.size(); }

  /// The number of a key, the next free one if it is new.
  int of(uint64_t key) {
    if (2 * keys_.size() >= slots_.size()) grow();
    int& slot = slots_[place_of(key)];
    if (slot < 0) {
      slot = keys_.size();
      keys_.push(key);
    }
    return slot;
  }
  /// The same, or -1 if it is new.
  int find(uint64_t key) const { return slots_.size() == 0 ? -1 : slots_[place_of(key)]; }

 private:
  int place_of(uint64_t key) const {
    const int mask = slots_.size() - 1;
    int place = static_cast<int>((key * 0x9E3779B97F4A7C15U) >> 33) & mask;
    while (slots_[place] >= 0 && keys_[slots_[place]] != key) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    slots_ = Array<int>(slots_.size() == 0 ? 64 : 2 * slots_.size(), -1);
    for (int number = 0; number < keys_.size(); ++number) slots_[place_of(keys_[number])] = number;
  }

  Array<uint64_t> keys_;
  Array<int> slots_;
};

/// Sorts by merging, so that equal ones keep their order.
template <typename Before>
void sort_stably(Array<int>& items, Before is_before) {
  const int count = items.size();
  Array<int> merged(count);
  for (int width = 1; width < count; width *= 2) {
    for (int from = 0; from < count; from += 2 * width) {
      const int middle = from + width < count ? from + width : count;
      const int end = from + 2 * width < count ? from + 2 * width : count;
      int left = from;
      int right = middle;
      for (int at = from; at < end; ++at) {
        const bool takes_right =
            left == middle || (right < end && is_before(items[right], items[left]));
        merged[at] = takes_right ? items[right++] : items[left++];
      }
    }
    Array<int> kept = static_cast<Array<int>&&>(items);
    items = static_cast<Array<int>&&>(merged);
    merged = static_cast<Array<int>&&>(kept);
  }
}

template <typename T>
constexpr T least(T one, T other) {
  return other < one ? other : one;
}
template <typename T>
constexpr T most(T one, T other) {
  return one < other ? other : one;
}

}  // namespace ebb::layout
