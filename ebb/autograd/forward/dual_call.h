// ebb/autograd/forward/dual_call.h -- gives the results of one op their tangents, level by level.
//
// The op has run, and was recorded, as if its operands carried no tangents. Then, for each live
// level that an operand carries a tangent on, lowest first, the op's rule is given the operands
// without that level and higher ones, and their tangents on it. Both may carry tangents on lower
// levels and history, so nested levels, and either mode over the other, come out by themselves:
//
//   DualCall call({&input, &other}, out, DualResult::fresh);
//   while (call.next()) {
//     call.set(out, rule(call.primal(input), call.primal(other), call.tangent(input), ...));
//   }
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "ebb/autograd/history/tensor_tangents.h"

namespace ebb::autograd {

/// Whether the result is new, or an operand that was written in place.
enum class DualResult : uint8_t { fresh, written };

class EBB_API DualCall {
 public:
  /// `out`: the first result, or the operand written. One without derivatives (of integers) has no
  /// levels.
  DualCall(std::initializer_list<const Tensor*> operands, const Tensor& out, DualResult kind);
  DualCall(std::span<const Tensor> operands, const Tensor& out, DualResult kind);

  /// Goes to the next level; false behind the last.
  bool next();
  const ForwardLevelPtr& level() const { return levels_[position_ - 1]; }

  /// The operand or result without tangents on this level and above; undefined stays undefined.
  Tensor primal(const Tensor& operand) const { return below_level(operand, *level()); }
  std::vector<Tensor> primals(std::span<const Tensor> operands) const;
  /// The tangent on this level; undefined stands for zero.
  Tensor tangent(const Tensor& operand);
  std::vector<Tensor> tangents(std::span<const Tensor> operands);
  /// Sets the tangent of a result on this level; undefined stands for zero. What the result's node
  /// saved of it carries the tangent too.
  void set(const Tensor& out, Tensor tangent);
  void set(std::span<const Tensor> outs, std::vector<Tensor> tangents);
  /// The same for an operand that was written, whatever the kind of the call.
  void set_written(const Tensor& self, Tensor tangent);

 private:
  /// An operand's tangent that a rule was given, and may give back as that of a result.
  struct Handed {
    const TensorImpl* operand;
    const Storage* memory;
    bool is_viewed;  // by views of the operand
  };
  void set_fresh(const Tensor& out, Tensor tangent);
  void replace_tangent(const Tensor& self, Tensor tangent);
  Tensor kept_apart(const Tensor& out, Tensor tangent);
  uint32_t owners_of(const Tensor& self) const;

  std::vector<ForwardLevelPtr> levels_;
  size_t position_ = 0;
  const DualResult kind_;
  const Storage* const out_storage_;
  const uint32_t out_owners_;                // of that storage, before primal() adds aliases
  const Storage* viewed_tangent_ = nullptr;  // memory of the tangent that a view looks at
  std::vector<Handed> handed_;               // on this level, of tangents that are "own"
};

/// The operand of a call that is about to write `self`: a copy if it shares memory with it.
EBB_API Tensor before_write(const Tensor& operand, const Tensor& self);
/// Lets the copy of `self` that its new node saved carry the tangents of `before`.
EBB_API void carry_before_write(const Tensor& self, const Tensor& before);
/// `self` was overwritten by what depends on nothing: its tangents are zero.
EBB_API void clear_written_tangents(const Tensor& self);
/// For ops recorded by hand that have no forward-mode rule: throws NotImplementedError, naming the
/// op, if an operand carries a tangent. (Ops of the table all have one.)
EBB_API void check_no_tangents(const char* op, std::initializer_list<const Tensor*> operands);
/// Throws AutogradError if a tensor of a call of an out= form carries a tangent.
EBB_API void check_out_tangents(const char* op, std::initializer_list<const Tensor*> operands);

}  // namespace ebb::autograd
