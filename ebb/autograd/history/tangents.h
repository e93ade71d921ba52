// ebb/autograd/history/tangents.h -- forward-mode levels, and the tangents that a tensor carries on
// them.
//
// A tensor that carries a tangent has an autograd meta with a Tangents list, highest level first,
// and the flag gate::kTangent, which sends every op on it to its slow path. A level knows all
// tangents on it and lets go of them when it ends, so nothing that was computed inside a level
// keeps memory alive behind it; this also undoes the one cycle that can form (a node that saved its
// result, whose tangent was computed from that result). Users meet levels in forward_mode.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

class ForwardLevel;
using ForwardLevelPtr = std::shared_ptr<ForwardLevel>;

/// Whether others may see a tangent's memory (a user's tensor, an operand's tangent).
enum class TangentMemory : uint8_t { shared, own };

/// One tangent: in the list of its tensor and in that of its level.
struct TangentEntry {
  ForwardLevelPtr level;
  TangentEntry* lower = nullptr;     // of the same tensor; owned
  TangentEntry* previous = nullptr;  // of the same level, as `next` and `value`: under its mutex
  TangentEntry* next = nullptr;
  Tensor value;  // undefined once the level has ended
  TangentMemory memory = TangentMemory::shared;
  uint32_t given_at = 0;  // version of the storage whose write gave the first tangent; 0: no write
};

/// One entered level. Tensors from any thread may carry tangents on it.
class EBB_API ForwardLevel {
 public:
  /// `outer`: the level it is entered in, or null.
  explicit ForwardLevel(ForwardLevelPtr outer);

  /// Unique, and above that of every level entered before.
  uint64_t id() const { return id_; }
  const ForwardLevelPtr& outer() const { return outer_; }
  bool is_alive() const;
  /// Drops every tangent on this level; from now on it takes no more.
  void end() noexcept;

  // For Tangents.
  Tensor value_of(const TangentEntry& entry) const;
  TangentMemory memory_of(const TangentEntry& entry) const;
  void set_value(TangentEntry& entry, Tensor value, TangentMemory memory);
  /// From now on others see the value's memory too.
  void share(TangentEntry& entry);
  /// Puts `value`, a copy, in place of a shared value; what the entry holds from now on.
  Tensor make_own(TangentEntry& entry, Tensor value);
  /// Takes the entry out of the level; gives its value for the caller to drop.
  Tensor unlink(TangentEntry& entry) noexcept;

 private:
  Tensor take(TangentEntry& entry) noexcept;

  const uint64_t id_;
  const ForwardLevelPtr outer_;
  mutable std::mutex mutex_;  // guards what follows; never held while a tensor dies
  TangentEntry* first_ = nullptr;
  bool is_alive_ = true;
};

/// The tangents of one tensor. One thread at a time may change them; many may read.
class EBB_API Tangents {
 public:
  Tangents() = default;
  Tangents(const Tangents&) = delete;
  Tangents& operator=(const Tangents&) = delete;
  ~Tangents() { clear(); }

  void clear() noexcept { drop_from(0); }
  void take_over(Tangents& other) noexcept { std::swap(first_, other.first_); }
  /// The entry on a level, or null. Its value may be undefined: the level has ended.
  TangentEntry* find(const ForwardLevel& level) const;
  void set(const ForwardLevelPtr& level, Tensor value, TangentMemory memory);
  /// Drops tangents on levels whose id is at least this.
  void drop_from(uint64_t level) noexcept;
  const TangentEntry* first() const { return first_; }

 private:
  TangentEntry* first_ = nullptr;  // highest level first
};

/// The innermost level of this thread; modes of a thread are carried to others (thread_modes.h).
EBB_API const ForwardLevelPtr& innermost_forward_level();
EBB_API void set_innermost_forward_level(ForwardLevelPtr level) noexcept;

}  // namespace ebb::autograd
