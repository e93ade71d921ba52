// ebb/devices/common/base/lines.h -- the lines along one dim of several tensors:
// kernels/reduce/lines.k.
//
// On a GPU the lanes of a group share a line and join what they have; on a CPU an item has a line
// of its own.
#pragma once

#include <span>

#include "ebb/devices/common/base/call.h"
#include "ebb/devices/launch/geometry.h"

namespace ebb::devices {

/// How many chains an item of a CPU adds up beside each other, of a line that long. Joining many
/// takes longer than adding a short line up.
constexpr uint32_t chains_of(int64_t length) { return length < 512 ? 8 : 16; }

class Lines {
 public:
  /// The views have one ndim. The last one says how long lines are; one of size 1 along `dim` has
  /// one element per line. `shares` is whether lanes may share a line.
  Lines(std::span<const kernels::TensorView* const> views, int dim, const Traits& traits,
        bool shares);

  /// Lets an item of a CPU take several lines that lie side by side, for a kernel with
  /// COLUMN_SETUP.
  void take_columns(const Traits& traits);

  int64_t lines() const { return places_.numel(); }
  int64_t length() const { return length_; }
  /// Work items: one per line, per lane of one, or per block of columns.
  int64_t items() const;
  bool fits_int32() const;

  /// Defines how lines lie.
  void specialise(KernelCall& call) const;
  /// Adds the arguments lines, length and geometry. They live in this object.
  void add_to(KernelCall& call);
  /// Queues the kernel, of lines.k and `part`.
  void run(KernelCall& call, std::string_view part) const;

 private:
  LoopNest places_;
  int views_;
  int64_t length_ = 1;
  int64_t steps_[kMaxOperands] = {};
  bool is_dense_ = true;  // the elements of all lines follow each other
  uint32_t lanes_ = 1;
  uint32_t chains_ = 1;   // that an item adds up beside each other
  uint32_t columns_ = 1;  // lines of an item
  int64_t fixed_ = 0;     // fixed_length()
  uint32_t group_size_ = 1;
  char packed_[kMostPacked + kMaxOperands * sizeof(int64_t)] = {};
};

}  // namespace ebb::devices
