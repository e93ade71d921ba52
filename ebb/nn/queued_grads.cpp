// ebb/nn/queued_grads.cpp -- ops and kernels for gradients of a device.
#include "ebb/nn/queued_grads.h"

#include <algorithm>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/norm.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/kernels/step_table.h"
#include "ebb/kernels/tables/mul.h"
#include "ebb/kernels/tables/norm.h"
#include "ebb/ops/creation.h"
#include "ebb/ops/fallback.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/pointwise.h"
#include "ebb/ops/prepare.h"

namespace ebb::nn::utils {
namespace {

bool is_queued(const Tensor& grad) {
  return ops::is_elsewhere(grad) && !is_meta(grad) && is_strided(grad) && is_floating(grad.dtype());
}

/// The norm of a gradient, 0-d, summed and stored in `dtype`.
Tensor norm_in(DType dtype, const Tensor& grad, double norm_type) {
  const auto kernel = ops::kernel_for("norm", kernels::norm_kernels, grad);
  const Tensor out = ops::empty(Shape{}, dtype, grad.device());
  note_use(grad);
  note_use(out);
  ops::Geometry all;
  for (int dim = 0; dim < grad.ndim(); ++dim) all.append(1, 1);
  kernel(ops::context_of(grad), ops::view_of(grad), norm_type, all.over(out));
  return out;
}

std::vector<Tensor> norms_in(DType dtype, const std::vector<Tensor>& grads, double norm_type) {
  std::vector<Tensor> norms;
  norms.reserve(grads.size());
  for (const Tensor& grad : grads) {
    if (grad.numel() != 0) norms.push_back(norm_in(dtype, grad, norm_type));
  }
  return norms;
}

/// In float64, so that squares of float32 cannot overflow; where the device has none, in float32.
std::vector<Tensor> norms_of(const std::vector<Tensor>& grads, double norm_type) {
  try {
    return norms_in(DType::float64, grads, norm_type);
  } catch (const ops::MissingKernel&) {
    return norms_in(DType::float32, grads, norm_type);
  }
}

}  // namespace

std::vector<Tensor> gradients_elsewhere(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> found;
  for (const Tensor& parameter : parameters) {
    if (!parameter.defined()) return {};
    const Tensor grad = grad_of(parameter);
    if (!grad.defined()) continue;
    const bool fits = is_queued(grad) && ops::has_kernel(kernels::norm_kernels, grad) &&
                      ops::has_kernel(kernels::mul_kernels, grad);
    if (!fits || (!found.empty() && grad.device() != found[0].device())) return {};
    found.push_back(detached(grad));
  }
  return found;
}

Tensor queued_norm(const std::vector<Tensor>& grads, double norm_type) {
  const bool is_wide = std::any_of(grads.begin(), grads.end(), [](const Tensor& grad) {
    return grad.dtype() == DType::float64;
  });
  const DType dtype = is_wide ? DType::float64 : DType::float32;
  const std::vector<Tensor> norms = norms_of(grads, norm_type);
  if (norms.empty()) return ops::full(Shape{}, 0.0, dtype, grads[0].device());
  return cast(ebb::norm(stack(norms, 0), norm_type), dtype);
}

void queue_scaling(const char* op, const std::vector<Tensor>& grads, double max_norm,
                   const Tensor& norm) {
  for (const Tensor& grad : grads) ops::check_writable(op, grad);
  const Tensor factor =
      clamp(div(Scalar(max_norm), add(norm, Scalar(1e-6))), std::nullopt, Scalar(1.0));
  for (const Tensor& grad : grads) {
    if (is_half(grad.dtype())) {  // a small factor is none of that type
      ops::impl::copy_(grad, mul(cast(grad, factor.dtype()), factor));
    } else {
      ops::mul_(grad, cast(factor, grad.dtype()));
    }
  }
}

void queue_clamping(const char* op, const std::vector<Tensor>& grads, double limit) {
  for (const Tensor& grad : grads) ops::check_writable(op, grad);
  for (const Tensor& grad : grads) clamp_(grad, Scalar(-limit), Scalar(limit));
}

bool can_queue_unscaling(const Tensor& grad) {
  if (!is_queued(grad)) return false;
  const kernels::StepTable& table = kernels::step_table(backend_of(grad.device()));
  return table.unscale != nullptr && table.takes(grad.device(), grad.dtype());
}

std::vector<Tensor> queue_unscaling(const char* op, const std::vector<Tensor>& grads,
                                    double inverse_scale) {
  for (const Tensor& grad : grads) ops::check_writable(op, grad);
  std::vector<Tensor> all_found;
  for (const Tensor& grad : grads) {
    const Device device = grad.device();
    const auto known = std::find_if(all_found.begin(), all_found.end(),
                                    [&](const Tensor& one) { return one.device() == device; });
    const Tensor found =
        known != all_found.end()
            ? *known
            : all_found.emplace_back(ops::full(Shape{}, 0.0, DType::float32, device));
    const Tensor packed = ops::impl::contiguous(grad);
    note_use(packed);
    note_use(found);
    const kernels::StepTable& table = kernels::step_table(backend_of(device));
    table.unscale(ops::context_on(device), packed.dtype(), packed.data_ptr(), packed.numel(),
                  inverse_scale, found.data_ptr());
    if (packed.data_ptr() == grad.data_ptr()) {
      ops::note_write(op, grad);
    } else {
      ops::impl::copy_(grad, packed);
    }
  }
  return all_found;
}

}  // namespace ebb::nn::utils
