// ebb/autograd/watch/slow_call.h -- a call of an op that has more to do than compute or record.
//
// Some gate bit asks for it: autocast, a mode that watches, an operand that is undefined or not
// strided, a tangent, a history that is cut. One step is taken at a time, and the call goes on
// without its bit. What only the op knows, such as its arguments, is its own function of steps,
// generated beside it; all else is here, compiled once per type of result. Start at
// SlowCall::run() and SlowWrite::run().
#pragma once

#include <initializer_list>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "ebb/autograd/history/op_support.h"
#include "ebb/autograd/watch/op_watch.h"

namespace ebb::autograd {

/// A tensor that a call is given.
struct SlowOperand {
  const char* name;
  const Tensor* tensor;
  bool is_required = true;
};

/// What the function of an op is asked for: to call the op with operands that autocast has cast, to
/// hand its arguments to watched(), to do what a sparse operand means, to push tangents on to the
/// results, to record, to compute.
enum class SlowStep : uint8_t { cast, watch, sparse, push, record, run };

/// What calls of all ops share.
class EBB_API SlowCallBase {
 public:
  SlowCallBase(const char* op, std::span<const SlowOperand> operands, void* return_address,
               uint32_t unseen_modes)
      : op_(op),
        operands_(operands),
        return_address_(return_address),
        unseen_modes_(unseen_modes) {}

  /// The list among the operands.
  void take_list(const char* name, std::span<const Tensor> list) {
    list_name_ = name;
    list_ = list;
  }
  /// Every layout is the op's own matter.
  void knows_layouts() { knows_layouts_ = true; }
  /// The step `sparse` says what a call with a sparse operand means.
  void has_sparse() { has_sparse_ = true; }

 protected:
  /// Throws for an operand that must be there and is not; the gate bits once all are settled.
  uint32_t settle(uint32_t bits) const;
  /// Throws for an operand that is no strided memory.
  void refuse_layouts() const;
  Origin origin() const;
  bool meets_layouts(uint32_t bits) const {
    return (bits & gate::kNotStrided) != 0 && !knows_layouts_;
  }
  /// Those that must be there, but for the one that is written.
  std::vector<NamedTensor> named(const Tensor* written) const;
  void note_unrecorded(const Tensor& out, uint32_t bits) const;

  const char* op_;
  std::span<const SlowOperand> operands_;
  void* return_address_;
  uint32_t unseen_modes_;  // that the op's gate passes by
  const char* list_name_ = nullptr;
  std::span<const Tensor> list_;
  bool knows_layouts_ = false, has_sparse_ = false;
};

/// A call that makes its results.
template <typename Results>
class SlowCall : public SlowCallBase {
 public:
  using SlowCallBase::SlowCallBase;

  /// The call, with gate bits that are not 0. `step` puts what it makes into `out`.
  template <typename Step>
  Results make(uint32_t bits, const Step& step) {
    context_ = &step;
    step_ = [](const void* context, SlowCall& call, SlowStep one, Results& out) {
      (*static_cast<const Step*>(context))(call, one, out);
    };
    Results out;
    run(bits, out);
    return out;
  }

  /// For the step `watch`: the call within what watches.
  void watched(std::initializer_list<OpArgument> arguments, Results& out,
               bool scalars_are_finite = true);
  void* return_address() const { return return_address_; }

 private:
  void run(uint32_t bits, Results& out);
  void step(SlowStep one, Results& out) { step_(context_, *this, one, out); }
  void note(const Tensor& out, uint32_t bits) const { note_unrecorded(out, bits); }
  void note(const std::vector<Tensor>& outs, uint32_t bits) const {
    for (const Tensor& out : outs) note_unrecorded(out, bits);
  }
  template <typename... Outs>
  void note(const std::tuple<Outs...>& outs, uint32_t bits) const {
    std::apply([&](const auto&... out) { (note_unrecorded(out, bits), ...); }, outs);
  }

  const void* context_ = nullptr;
  void (*step_)(const void*, SlowCall&, SlowStep, Results&) = nullptr;
  uint32_t watched_bits_ = 0;
};

template <typename Results>
void SlowCall<Results>::run(uint32_t bits, Results& out) {
  if ((bits & gate::kAutocast) != 0) {
    const LocationScope scope(current_location(return_address_));
    return step(SlowStep::cast, out);
  }
  if ((bits & gate::kWatched) != 0) [[unlikely]] {
    watched_bits_ = bits;
    return step(SlowStep::watch, out);
  }
  if ((bits & gate::kUndefined) != 0) bits = settle(bits);
  if (meets_layouts(bits)) {
    if (has_sparse_) {
      const LocationScope scope(place_of_call(return_address_));
      return step(SlowStep::sparse, out);
    }
    refuse_layouts();
  }
  if ((bits & gate::kTangent) != 0) {
    run(bits & ~gate::kTangent, out);
    const LocationScope scope(current_location(return_address_));
    return step(SlowStep::push, out);
  }
  if (is_recorded(bits)) {
    step(SlowStep::record, out);
    out = packed(std::move(out), bits);
    return;
  }
  step(SlowStep::run, out);
  note(out, bits);
}

template <typename Results>
void SlowCall<Results>::watched(std::initializer_list<OpArgument> arguments, Results& out,
                                bool scalars_are_finite) {
  OpWatch watch(op_, watched_bits_, return_address_, {arguments.begin(), arguments.size()});
  if (watch.is_supplied()) {
    out = watch.template take_supplied<Results>();
    return;
  }
  run(watch.inner_bits(), out);
  watch.see(out, named(nullptr), scalars_are_finite);
}

extern template class SlowCall<Tensor>;
extern template class SlowCall<std::vector<Tensor>>;
extern template class SlowCall<std::tuple<Tensor, Tensor>>;
extern template class SlowCall<std::tuple<Tensor, Tensor, Tensor>>;

/// A call that writes its first operand.
class EBB_API SlowWrite : public SlowCallBase {
 public:
  SlowWrite(const char* op, std::span<const SlowOperand> operands, uint32_t unseen_modes)
      : SlowCallBase(op, operands, nullptr, unseen_modes) {}

  template <typename Step>
  void make(uint32_t bits, const Step& step) {
    context_ = &step;
    step_ = [](const void* context, SlowWrite& call, SlowStep one) {
      (*static_cast<const Step*>(context))(call, one);
    };
    run(bits);
  }
  /// For the step `watch`: the call within what watches.
  void watched(bool scalars_are_finite = true);
  /// For the step `push`: the call without its tangents.
  void write() { run(tangent_bits_ & ~gate::kTangent); }

 private:
  void run(uint32_t bits);
  const Tensor& self() const { return *operands_[0].tensor; }

  const void* context_ = nullptr;
  void (*step_)(const void*, SlowWrite&, SlowStep) = nullptr;
  uint32_t watched_bits_ = 0, tangent_bits_ = 0;
};

}  // namespace ebb::autograd
