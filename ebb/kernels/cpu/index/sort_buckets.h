// ebb/kernels/cpu/index/sort_buckets.h -- sorts a long line bucket by bucket, in little memory.
//
// The digits of keys, counted from the highest bit in which they differ, cut the order of keys into
// buckets, none of which has many of them unless it is of one key. A second pass writes, into
// memory of the result, a word per element to its bucket: 32 bits of the key, as many as the keys
// of a bucket differ in or the highest of them, and the index. Then each bucket is sorted for
// itself. Keys are read more than once: should another thread write them meanwhile, the result is
// any, but all its indices are in range.
#pragma once

#include <bit>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/kernels/cpu/index/sort_lines.h"

namespace ebb::kernels::cpu {

/// In what some keys differ.
struct KeyRange {
  uint64_t least = ~uint64_t{0}, largest = 0;
  uint64_t in_all = ~uint64_t{0}, in_any = 0;  // bits

  [[gnu::always_inline]] void add(uint64_t key) {
    least = std::min(least, key);
    largest = std::max(largest, key);
    in_all &= key;
    in_any |= key;
  }
  int bits() const { return static_cast<int>(std::bit_width(largest - least)); }
  /// Whether keys are the same that are so without their lowest bits.
  bool tells(int lowest) const { return lowest <= std::countr_zero(in_all ^ in_any); }
};

/// Consecutive keys, from `first` on.
struct Bucket {
  uint64_t first;
  int64_t begin, end;  // the places of its elements in the result
  uint64_t range = 0;  // what its keys are beyond the first at most

  bool has_one_key() const { return range == 0; }
  /// Bits of a key that a word has no place for.
  int dropped() const { return std::max(0, static_cast<int>(std::bit_width(range)) - 32); }
};

/// A tree of digits: one that too many elements have leads to a node, where the next digit decides.
class BucketTree {
  static constexpr int kDigitBits = 14;
  static constexpr size_t kDigits = size_t{1} << kDigitBits;
  static constexpr uint32_t kNode = uint32_t{1} << 31;  // and its number
  struct Node {
    uint64_t first;  // the first key below
    int shift;       // of its digit
    bool has_one_key_each;

    [[gnu::always_inline]] size_t digit(uint64_t key) const {
      return ((key - first) >> shift) % kDigits;
    }
  };

  /// The function that gives the entry of a key.
  auto entry_of() const {
    return [ root = nodes_.front(), table = table_.data(), this ](uint64_t key)
        __attribute__((always_inline)) {
      size_t entry = root.digit(key);
      while (table[entry] >= kNode) [[unlikely]] {
          const size_t node = table[entry] - kNode;
          entry = node * kDigits + nodes_[node].digit(key);
        }
      return entry;
    };
  }

 public:
  /// for_each_key(body) calls body(key) for all of `count` keys.
  template <class ForEachKey>
  BucketTree(ForEachKey for_each_key, const KeyRange& range, int64_t count)
      : limit_(std::max(int64_t{1} << 15, count / 16)),
        merged_(std::max(int64_t{1} << 15, count / 256)) {
    add_node(range);
    for (size_t node = 0; node < nodes_.size();) {
      const size_t begin = node * kDigits;
      for_each_key([ entry_at = entry_of(), sizes = sizes_.data(), begin ](uint64_t key)
                       __attribute__((always_inline)) {
                         const size_t entry = entry_at(key);
                         if (entry >= begin) ++sizes[entry];
                       });
      node = nodes_.size();
      split_large_digits(for_each_key);
    }
    make_buckets();
  }

  const CountedVector<Bucket>& buckets() const { return buckets_; }
  /// The function that gives the number of a key's bucket.
  auto bucket_of() const {
    return [ entry_at = entry_of(), table = table_.data() ](uint64_t key)
        __attribute__((always_inline)) {
      return table[entry_at(key)];
    };
  }

 private:
  void add_node(const KeyRange& range) {
    const int shift = std::max(0, range.bits() - kDigitBits);
    nodes_.push_back({range.least, shift, range.tells(shift)});
    sizes_.resize(sizes_.size() + kDigits);
    table_.resize(sizes_.size());
  }

  uint64_t first_key(size_t node, size_t digit) const {
    return nodes_[node].first + (uint64_t{digit} << nodes_[node].shift);
  }

  struct Large {
    size_t entry;
    KeyRange range;
  };
  template <class ForEachKey>
  void split_large_digits(ForEachKey for_each_key) {
    CountedVector<Large> large;
    for (size_t entry = known_; entry < sizes_.size(); ++entry) {
      const bool is_large = sizes_[entry] > limit_ && !nodes_[entry / kDigits].has_one_key_each;
      if (is_large) large.push_back({entry, {}});
      table_[entry] = is_large ? static_cast<uint32_t>(large.size()) : 0;
    }
    known_ = sizes_.size();
    if (large.empty()) return;
    for_each_key([&, entry_at = entry_of() ](uint64_t key) __attribute__((always_inline)) {
      const uint32_t number = table_[entry_at(key)];
      if (number != 0) large[number - 1].range.add(key);
    });
    for (const auto& [entry, range] : large) {
      table_[entry] = 0;
      if (range.least >= range.largest) {
        one_keys_.push_back({entry, range});
      } else {
        table_[entry] = kNode + static_cast<uint32_t>(nodes_.size());
        add_node(range);
      }
    }
  }

  /// Visits the leaves in the order of their keys.
  void make_buckets() {
    struct Step {
      size_t node, digit;
    };
    CountedVector<Step> path{{0, 0}};
    while (!path.empty()) {
      const auto [node, digit] = path.back();
      if (digit == kDigits) {
        path.pop_back();
        continue;
      }
      ++path.back().digit;
      const size_t entry = node * kDigits + digit;
      if (table_[entry] < kNode) {
        add_leaf(entry, node, digit);
      } else {
        path.push_back({table_[entry] - kNode, 0});
      }
    }
  }

  /// Neighbours share a bucket while it is small.
  void add_leaf(size_t entry, size_t node, size_t digit) {
    const int64_t size = sizes_[entry];
    uint64_t first = first_key(node, digit);
    uint64_t last = first;
    if (!nodes_[node].has_one_key_each) last += (uint64_t{1} << nodes_[node].shift) - 1;
    for (const auto& one_key : one_keys_) {
      if (one_key.entry == entry) first = last = one_key.range.least;
    }
    if (buckets_.empty() || buckets_.back().end - buckets_.back().begin + size > merged_) {
      const int64_t begin = buckets_.empty() ? 0 : buckets_.back().end;
      buckets_.push_back({first, begin, begin});
    }
    Bucket& bucket = buckets_.back();
    bucket.end += size;
    if (size > 0) bucket.range = last - bucket.first;
    table_[entry] = static_cast<uint32_t>(buckets_.size() - 1);
  }

  int64_t limit_;   // elements of a leaf, unless they have one key
  int64_t merged_;  // elements of a bucket of several leaves
  CountedVector<Node> nodes_;
  // For each digit of each node: how many elements have it; and where it leads: to a node or, once
  // all is done, to a bucket.
  CountedVector<int64_t> sizes_;
  CountedVector<uint32_t> table_;
  size_t known_ = 0;               // digits up to here are leaves or lead to a node
  CountedVector<Large> one_keys_;  // large leaves
  CountedVector<Bucket> buckets_;
};

/// Sorts the first `wanted` elements of a line, those up to `last`. Its indices fit into 32 bits.
template <typename T>
class BucketSort {
 public:
  BucketSort(const LineSet<T>& set, int64_t line, bool descending, WideItem last, int64_t wanted)
      : set_(set),
        line_(line),
        keys_(set.keys(line, descending)),
        words_(reinterpret_cast<NarrowItem*>(set.line_of_indices(line))),
        last_(last),
        wanted_(wanted) {}

  void run() {
    const auto for_each_key = [&](auto body) {
      for_each_wanted([&](uint64_t key, int64_t) __attribute__((always_inline)) { body(key); });
    };
    KeyRange range;
    for_each_key([&](uint64_t key) __attribute__((always_inline)) { range.add(key); });
    const BucketTree tree(for_each_key, range, wanted_);
    CountedVector<Bucket> buckets = tree.buckets();
    int64_t largest = 0;
    buckets.back().end = wanted_;
    for (Bucket& bucket : buckets) {  // more than wanted: another thread has written the keys
      bucket.begin = std::min(bucket.begin, wanted_);
      bucket.end = std::min(bucket.end, wanted_);
      if (!bucket.has_one_key()) largest = std::max(largest, bucket.end - bucket.begin);
    }
    spread(tree, buckets);
    const Scratch scratch(2 * static_cast<size_t>(largest) * sizeof(NarrowItem));
    auto* const items = scratch.as<NarrowItem>();
    for (const Bucket& bucket : buckets) sort_bucket(bucket, items, items + largest);
  }

 private:
  template <class Body>
  void for_each_wanted(Body body) const {
    const Keys<T> keys = keys_;
    const WideItem last = last_;
    const int64_t count = set_.count;
    if (wanted_ == count) {
      for (int64_t i = 0; i < count; ++i) body(keys[i], i);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t key = keys[i];
      if (!(last < WideItem(key, i))) body(key, i);
    }
  }

  /// Writes a word for each element to its bucket, there in the order of the line.
  void spread(const BucketTree& tree, const CountedVector<Bucket>& buckets) {
    CountedVector<int64_t> places;
    CountedVector<int> dropped;
    for (const Bucket& bucket : buckets) {
      places.push_back(bucket.begin);
      dropped.push_back(bucket.dropped());
    }
    const int64_t step = set_.index_stride;
    for_each_wanted([&, bucket_of = tree.bucket_of() ](
        uint64_t key, int64_t index) __attribute__((always_inline)) {
      const size_t number = bucket_of(key);
      const Bucket& bucket = buckets[number];
      int64_t& place = places[number];
      if (place < bucket.end)
        words_[place++ * step] = NarrowItem((key - bucket.first) >> dropped[number], index);
    });
    for (size_t number = 0; number < buckets.size(); ++number) {
      // Another thread has written the keys: any index does.
      for (int64_t i = places[number]; i < buckets[number].end; ++i) words_[i * step] = {0, 0};
    }
  }

  void sort_bucket(const Bucket& bucket, NarrowItem* items, NarrowItem* spare) const {
    const int64_t size = bucket.end - bucket.begin, step = set_.index_stride;
    const NarrowItem* const words = words_ + bucket.begin * step;
    if (bucket.has_one_key()) {
      return set_.write_all(line_, bucket.begin, bucket.end,
                            [&](int64_t i) { return words[i * step].index(); });
    }
    for (int64_t i = 0; i < size; ++i) items[i] = words[i * step];
    NarrowItem* const sorted = sort_words(bucket, items, spare);
    if (bucket.dropped() > 0) sort_ties(sorted, size);
    set_.write_all(line_, bucket.begin, bucket.end, [&](int64_t i) { return sorted[i].index(); });
  }

  static NarrowItem* sort_words(const Bucket& bucket, NarrowItem* items, NarrowItem* spare) {
    constexpr int kBits = 11;
    const int64_t size = bucket.end - bucket.begin;
    if (size <= kFew) {
      std::sort(items, items + size);
      return items;
    }
    if (bucket.range >> kBits == 0) return sort_by_radix<kBits, 1>(items, spare, size);
    if (bucket.range >> 2 * kBits == 0) return sort_by_radix<kBits, 2>(items, spare, size);
    return sort_by_radix<kBits, 3>(items, spare, size);
  }

  /// Sorts elements with the same bits in their words by all bits of their keys.
  void sort_ties(NarrowItem* items, int64_t count) const {
    for (int64_t begin = 0, end = 0; begin < count; begin = end) {
      bool is_sorted = true;
      for (end = begin + 1; end < count && items[end].key() == items[begin].key(); ++end) {
        is_sorted = is_sorted && keys_[items[end - 1].index()] <= keys_[items[end].index()];
      }
      if (!is_sorted) sort_tied(items + begin, end - begin);
    }
  }
  void sort_tied(NarrowItem* items, int64_t count) const {
    const Scratch scratch(2 * static_cast<size_t>(count) * sizeof(WideItem));
    auto* const wide = scratch.as<WideItem>();
    for (int64_t i = 0; i < count; ++i) {
      wide[i] = WideItem(keys_[items[i].index()], items[i].index());
    }
    const WideItem* const sorted = first_in_order<sizeof(T)>(wide, wide + count, count, count);
    for (int64_t i = 0; i < count; ++i) items[i] = NarrowItem(0, sorted[i].index());
  }

  const LineSet<T>& set_;
  int64_t line_;
  Keys<T> keys_;
  NarrowItem* words_;
  WideItem last_;
  int64_t wanted_;
};

}  // namespace ebb::kernels::cpu
