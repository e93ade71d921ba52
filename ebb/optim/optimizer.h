// ebb/optim/optimizer.h -- Optimizer: a list of parameters and how a step goes over them.
//
// A subclass collects targets() (parameters that have a gradient, checked), makes missing state,
// and then calls update() once per target: it hands flat pieces to a kernel and notes the write.
// Nothing is written before every check and allocation has succeeded.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "ebb/core/parallel.h"
#include "ebb/core/tensor.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::optim {

/// Base of all optimizers. Calls on one object from several threads run one after another.
class EBB_API Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient; the others stay as they are.
  virtual void step() = 0;
  /// Drops all gradients, or fills them with zeros.
  void zero_grad(bool set_to_none = true);
  const std::vector<Tensor>& parameters() const { return parameters_; }

 protected:
  /// Throws ValueError for a parameter that is undefined, not a leaf or given twice, DTypeError for
  /// one that is not of a floating or complex type.
  Optimizer(const char* name, std::vector<Tensor> parameters);

  /// A parameter with its gradient, both as contiguous memory.
  struct Target {
    size_t index = 0;  // in parameters()
    Tensor values;     // the parameter, or a packed copy if it is a strided view
    Tensor grad;
  };
  /// Throws ValueError for a parameter whose memory is read-only.
  std::vector<Target> targets() const;

  /// A tensor like parameter `index`, all zeros: fresh state.
  Tensor zeros_for(size_t index) const;
  /// Throws ShapeError or DTypeError unless `state` is undefined or fits parameter `index`.
  void check_state(const char* what, size_t index, const Tensor& state) const;

  /// Calls `kernel(views)` for pieces of the operands: values, gradient, then `states`, in order.
  /// An undefined state gives a view of null. Afterwards the parameter counts as written.
  void update(const Target& target, std::span<const Tensor> states,
              FunctionRef<void(std::span<const kernels::TensorView>)> kernel) const;

  std::mutex mutex_;

 private:
  const char* name_;  // a literal: the write log points at it
  std::vector<Tensor> parameters_;
};

/// `op: needs NAME RANGE, got VALUE`, unless `is_valid`.
void check_option(bool is_valid, const char* op, const char* what, double value);

}  // namespace ebb::optim
