// ebb/testing/gradcheck_options.h -- what gradcheck() takes, and what it throws.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::testing {

/// A derivative that does not agree with finite differences.
class EBB_API GradcheckError : public AutogradError {
 public:
  explicit GradcheckError(const std::string& message);
  ~GradcheckError() override;
};

/// The function under test. It is called many times and must be deterministic.
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct GradcheckOptions {
  double eps = 1e-6;   // step of the central difference
  double atol = 1e-5;  // tolerance: |a - n| <= atol + rtol * |n|
  double rtol = 1e-3;
  double nondet_tol = 0.0;           // by how much a second backward may differ from the first
  bool fast_mode = false;            // one random direction per pair instead of every element
  bool check_backward_ad = true;     // gradients; in gradgradcheck() those of the gradients
  bool check_forward_ad = false;     // tangents; in gradgradcheck() those of the gradients
  bool check_rev_over_fwd = false;   // only gradgradcheck(): gradients of the tangents
  bool check_undefined_grad = true;  // outputs without a gradient must count as zero
  bool check_grad_dtypes = false;    // gradients must have the dtypes of their inputs
  bool check_batched_grad = false;   // seeds given at once must give the gradients of each
  bool check_batched_forward_grad = false;   // and directions in one call the tangents of each
  bool gen_non_contig_grad_outputs = false;  // only gradgradcheck(): what kind of seeds to draw
};

}  // namespace ebb::testing
