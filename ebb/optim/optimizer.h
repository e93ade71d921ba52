// ebb/optim/optimizer.h -- Optimizer: a list of parameters, their state, and a step over them all.
//
// A step collects every parameter that has a gradient and checks it, makes the state that is
// missing, and only then writes: all parameters lie end to end in one range that is cut into pieces
// by size alone, and a piece hands what it covers to the subclass's kernel. So nothing is written
// before every check and allocation has succeeded, many small parameters cost one dispatch, and
// the result is bitwise the same for any number of threads. Start reading at step().
//
// With master weights (the option `master_weights` of every optimizer) a bfloat16 or float16
// parameter has float32 values in the state, "master_weight", that make the steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/step_table.h"
#include "ebb/optim/options.h"

namespace ebb::optim {

using kernels::StepFactors;
using kernels::StepOperands;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Base of all optimizers. Calls on one object from several threads run one after another.
class EBB_API Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient; the others stay as they are. Throws ShapeError or
  /// DTypeError for a gradient that does not fit, ValueError for read-only memory.
  void step();
  /// Drops all gradients, or fills them with zeros; sparse ones are dropped.
  void zero_grad(bool set_to_none = true);

  const char* name() const { return name_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }

  /// Lets `assign` change options by name. Throws ValueError if one is then out of range, and
  /// changes nothing. From the next step on.
  virtual void assign_options(OptionVisitor assign) = 0;

  /// What the optimizer keeps per parameter, such as "exp_avg".
  std::span<const char* const> state_names() const { return state_names_; }
  /// Whether parameters of half types have float32 values that make the steps ("master_weight" in
  /// the state).
  bool has_master_weights() const;
  /// From the next step on. Masters begin as what the parameters are; without them state has the
  /// dtype of its parameter again.
  void set_master_weights(bool wanted);
  /// Whether the state has a step count as well.
  virtual bool counts_steps() const { return true; }
  /// How many steps a parameter has made. Throws IndexError.
  int64_t steps(size_t index) const;
  /// One tensor of the state; undefined until it is made. Throws IndexError or ValueError.
  Tensor state(size_t index, std::string_view state_name) const;
  /// Takes over copies; what is not named starts afresh. Throws IndexError, ShapeError, DTypeError
  /// or ValueError if it does not fit, and changes nothing then.
  void set_state(size_t index, int64_t steps, const NamedTensors& tensors);

  /// All state under names such as "0.exp_avg", with "0.step" as a 0-d int64: ready to be saved.
  NamedTensors state_dict() const;
  /// Takes over what state_dict() returned. Throws as set_state() does, and changes nothing then.
  void load_state_dict(const NamedTensors& state);

 protected:
  /// `name` and `state_names` must live for ever. Throws ValueError for a parameter that is
  /// undefined, not a leaf or given twice, DTypeError for one not of a floating or complex type.
  Optimizer(const char* name, std::vector<Tensor> parameters,
            std::span<const char* const> state_names);

  /// Which state the options ask for, and what fresh state is filled with.
  virtual bool needs_state(size_t /*which*/) const { return true; }
  virtual double initial_value(size_t /*which*/) const { return 0.0; }
  /// Numbers for the step that brings the count to `steps`.
  virtual StepFactors factors(int64_t /*steps*/) const { return {}; }
  /// The gradient as the step takes it: strided, or storing rows (selected_rows), of which then
  /// only those are updated, with their state. Throws NotImplementedError for what the step cannot
  /// use.
  virtual Tensor usable(const Tensor& grad) const;
  /// Updates one piece. Called from several threads; must not throw.
  virtual void update(const StepFactors& factors, const StepOperands& operands) const = 0;
  /// Whether the table of a device has this step, and how it is queued there for a whole parameter.
  virtual bool has_step(const kernels::StepTable& /*table*/) const { return false; }
  virtual void queue_step(const kernels::StepTable& /*table*/, const kernels::Context& /*context*/,
                          const StepFactors& /*factors*/, const StepOperands& /*operands*/) const {}

  mutable std::mutex mutex_;

 private:
  static constexpr size_t kMaxStates = kernels::kMaxStepOperands - 1;  // a master is one too
  struct State {
    int64_t steps = 0;
    std::array<Tensor, kMaxStates> tensors;
    Tensor seen;  // the parameter's memory when its master was last brought to it, and its version
    uint32_t version = 0;
  };
  struct Target;

  std::vector<Target> collect_targets() const;
  bool steps_in_place(const Tensor& parameter, const Tensor& grad) const;
  void make_missing_state(std::vector<Target>& targets) const;
  std::vector<int64_t> lay_out(std::vector<Target>& targets);
  void update_part(const Target& target, int64_t begin, int64_t end) const;
  void queue_on_device(const Target& target) const;
  Tensor state_of(const Target& target, const Tensor& whole) const;
  void take_gradient(Target& target, const Tensor& grad) const;
  size_t master_index() const { return state_names_.size() - 1; }
  bool keeps_state(size_t index, size_t which) const;
  Tensor fresh_state(size_t index, size_t which) const;
  Tensor fitting_state(size_t index, size_t which) const;
  void finish(const Target& target);
  void finish_rows(const Target& target) const;

  size_t which_state(std::string_view state_name) const;
  void check_shape(const char* what, size_t index, const Tensor& tensor) const;
  void check_state_dtype(size_t index, std::string_view state_name, DType dtype) const;
  State checked_state(size_t index, int64_t steps, const NamedTensors& tensors) const;

  const char* name_;  // a literal: the write log points at it
  std::vector<Tensor> parameters_;
  std::vector<const char*> state_names_;  // the master's is the last
  std::vector<State> states_;
  bool has_master_weights_ = false;
};

/// What an optimizer with a struct of options shares with all others.
template <typename Options>
class OptimizerWith : public Optimizer {
 public:
  const Options& options() const { return options_; }
  /// Throws ValueError for options out of range. From the next step on.
  void set_options(const Options& options) {
    check(name(), options);
    const std::lock_guard lock(mutex_);
    options_ = options;
  }
  void assign_options(OptionVisitor assign) override {
    Options changed = locked_options();
    bool has_masters = has_master_weights();
    list_options(changed, assign);  // runs code of the caller's, so without the lock
    assign({"master_weights", has_masters});
    set_options(changed);
    set_master_weights(has_masters);
  }

 protected:
  OptimizerWith(const char* name, std::vector<Tensor> parameters,
                std::span<const char* const> state_names, const Options& options)
      : Optimizer(name, std::move(parameters), state_names), options_(options) {
    check(name, options);
  }

 private:
  Options locked_options() {
    const std::lock_guard lock(mutex_);
    return options_;
  }
  static void check(const char* op, Options options) {
    list_options(options, [&](const OptionField& option) { check_option(op, option); });
    check_together(op, options);
  }

  Options options_;
};

/// An optimizer by the name of its class, with default options; null for an unknown name.
EBB_API std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                                  std::vector<Tensor> parameters);

}  // namespace ebb::optim
