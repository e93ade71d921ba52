// ebb/testing/check.h -- Check: one function, its inputs and what gradcheck asks of them.
//
// Inputs are perturbed in place, element by element through their own strides, so the function sees
// the very layouts that it was given. For a seed v and a direction u the numbers compared are
// dot(v, df) and dot(grad, u) over components. Start reading at run().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ebb/testing/components.h"
#include "ebb/testing/gradcheck_options.h"
#include "ebb/testing/jacobian.h"

namespace ebb::testing {

class Check {
 public:
  /// Throws ValueError or DTypeError for inputs that cannot be checked.
  Check(const char* name, const TensorFunction& function, std::span<const Tensor> inputs,
        const GradcheckOptions& options);

  /// Checks the gradient of every output for every input. Throws GradcheckError.
  void run();
  /// Checks the tangent of every output along every input. Throws GradcheckError.
  void run_forward();

 private:
  using Rows = std::vector<Components>;

  void check_input(size_t index) const;
  void check_memory() const;
  std::vector<Tensor> outputs() const { return function_(inputs_); }
  /// Calls the function with `given` in the place of an input, wherever that stands.
  std::vector<Tensor> outputs_with(size_t index, const Tensor& given) const;
  std::vector<Tensor> checked_inputs() const;

  /// How fast each output moves as one input moves along a direction.
  Rows slopes(size_t index, const Components& direction) const;
  Rows moved_outputs(size_t index, const std::vector<Tensor>& before) const;
  /// A Jacobian by finite differences.
  const Jacobian& numerical(size_t output, size_t index, size_t rows);
  /// What backward makes of a seed, for each checked input: computed twice, or once.
  Rows gradients(size_t output, const Components& seed) const;
  Rows gradients_once(size_t output, const Components& seed) const;
  void check_kind(size_t index, const Tensor& grad) const;
  /// What forward mode makes of a direction of one input, for each output.
  Rows tangents(size_t index, const Components& direction) const;

  void check_rows(size_t output, const Tensor& out);
  void check_seed(size_t output, const Tensor& out);
  /// What a check of all elements says about an output that fails along a direction.
  std::string details(size_t output, const Tensor& out) const;
  void check_undefined(size_t count) const;
  void check_batched_seeds(size_t output, const Tensor& out) const;
  void check_batched_steps(size_t index) const;
  std::vector<Rows> tangents_at_once(size_t index, const Rows& steps) const;

  void compare(const char* what, size_t output, size_t index, const Comparison& pair,
               const Tensor& out) const;
  void compare_batch(const char* what, size_t output, size_t index, size_t number,
                     const Components& got, const Components& alone) const;
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw GradcheckError(str(name_, ": ", parts...));
  }

  const char* name_;
  const TensorFunction& function_;
  std::span<const Tensor> inputs_;
  GradcheckOptions options_;
  std::vector<size_t> checked_;                   // positions of inputs that require a gradient
  std::vector<std::vector<Jacobian>> numerical_;  // by input, then by output
};

}  // namespace ebb::testing
