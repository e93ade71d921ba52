// ebb/autograd/watch/cut_notes.h -- what was noted of cuts, in tables (see cut_trace.h).
//
// Sources of a note have smaller numbers, so that one pass tells what holds values of what. Of the
// notes the latest kMostNotes are kept.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/core/base/location.h"
#include "ebb/core/device/op_context.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// What a note stands for.
enum class NoteKind : uint8_t {
  recorded,    // a node of a graph
  unrecorded,  // an op whose result has no history
  left,        // a value that became a number, a list or an array
  entered,     // a tensor made from such, after some had left
};

struct CutNote {
  const char* name;  // the op; kept for good
  LocationId place;
  OpContext context;      // where the op was recorded, or ran
  uint32_t first_source;  // of a table that numbers keep counting for
  uint32_t source_count;
  NoteKind kind;
  Cut cut;
};

/// Numbers of notes count on for ever; a source holds the low bits of one, or a leaf's number.
using NoteId = uint64_t;
inline constexpr NoteId kNoNote = UINT64_MAX;
using NoteSource = uint32_t;
inline constexpr uint32_t kLeafSource = 1u << 31;
inline constexpr uint32_t kNoteMask = (1u << 29) - 1;
inline constexpr uint32_t kTracedOrigin = 1u << 29;  // in the place of an origin

/// All notes of the process. Ask under the lock only.
class EBB_API CutNotes {
 public:
  static constexpr size_t kMostNotes = size_t{1} << 18;
  static constexpr size_t kMostSources = 4 * kMostNotes;

  /// The notes, and the lock that guards them.
  static CutNotes& shared();
  std::mutex& mutex() { return mutex_; }

  NoteId first() const { return first_; }
  NoteId end() const { return first_ + notes_.size(); }
  const CutNote& at(NoteId id) const { return notes_[id - first_]; }
  std::span<const NoteSource> sources_of(NoteId id) const;
  /// The note that a source or an origin means; kNoNote if it is forgotten.
  NoteId note_of(uint32_t low) const;
  NoteId note_of_origin(Origin origin) const;
  /// The note of a node, kNoNote if it has none.
  NoteId note_of_node(uint64_t sequence) const;
  /// The number of a leaf, as a source; 0 if it has none.
  NoteSource source_of_leaf(const Node& accumulator) const;
  /// Calls `visit` with each note of a value that went into a node, or was written over a leaf.
  template <typename Visit>
  void for_joined(uint64_t sequence, Visit visit) const {
    const auto [begin, end] = joins_.equal_range(sequence);
    for (auto join = begin; join != end; ++join) visit(join->second);
  }
  static uint64_t join_of_leaf(NoteSource leaf) { return uint64_t{leaf} << 32; }
  bool has_joins() const { return !joins_.empty(); }
  bool has_left() const { return has_left_; }
  size_t memory_bytes() const;

  // What follows adds; the same lock.

  NoteId add(CutNote note, std::span<const NoteSource> sources);
  void join(uint64_t sequence, NoteId note) { joins_.emplace(sequence, note); }
  /// The leaf or the node that a tensor's gradient goes to, as a source; false if there is none.
  bool find_source(const Tensor& tensor, NoteSource& source);
  /// Leaves that were looked at: they must not die under the lock, which their end asks for.
  std::vector<Tensor> take_held() { return std::exchange(held_, {}); }
  /// Makes room: else what is noted for one call might be forgotten during it.
  void make_room();
  void forget_leaf(const Node& accumulator) {
    leaves_.erase(&accumulator);
    frozen_.erase(&accumulator);
  }
  /// Leaves that were told to require no gradient, and where: known without tracing.
  std::unordered_map<const Node*, LocationId>& frozen() { return frozen_; }
  void clear();
  /// The name of an op for a note.
  const char* kept_name(const char* name, bool is_static);

 private:
  NoteSource leaf_source(Node& accumulator);
  NoteSource node_source(Node& node);
  void add_node(Node& node);
  void drop_first(size_t count);

  std::mutex mutex_;
  std::vector<CutNote> notes_;
  std::vector<NoteSource> sources_;
  NoteId first_ = 0;
  uint32_t first_source_ = 0;
  NoteSource next_leaf_ = 1;
  bool has_left_ = false;
  std::unordered_map<uint64_t, NoteId> nodes_;  // by sequence number
  std::unordered_multimap<uint64_t, NoteId> joins_;
  std::unordered_map<const Node*, NoteSource> leaves_;
  std::unordered_map<const Node*, LocationId> frozen_;
  std::unordered_set<std::string> names_;  // of custom functions
  std::vector<Tensor> held_;
};

/// Where a leaf was told to require no gradient, 0 if it was not.
EBB_API LocationId frozen_at(const Tensor& leaf);

}  // namespace ebb::autograd
