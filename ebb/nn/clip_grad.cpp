// ebb/nn/clip_grad.cpp -- one pass over all gradients for their norm, one more to scale them.
#include "ebb/nn/clip_grad.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/location.h"
#include "ebb/core/runtime/parallel_arrays.h"
#include "ebb/core/runtime/profile.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/kernels/cpu/pointwise/clip.h"
#include "ebb/nn/queued_grads.h"
#include "ebb/ops/copy.h"
#include "ebb/ops/creation.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/prepare.h"
#include "ebb/ops/sparse.h"

namespace ebb::nn::utils {
namespace {

constexpr int64_t kGrain = 1 << 15;

/// The gradients of some parameters, packed where they are strided, end to end.
struct Gradients {
  const char* op;
  std::vector<size_t> indices;  // of the parameters
  std::vector<Tensor> grads;
  std::vector<Tensor> packed;
  std::vector<int64_t> ends;
};

/// A parameter's gradient as memory: of a sparse one the stored values, every place once.
Tensor elements_of(const Tensor& parameter) {
  const Tensor grad = grad_of(parameter);
  if (!grad.defined() || is_strided(grad)) return grad;
  const Tensor once = ops::coalesce(detached(grad));
  if (!is_coalesced(grad)) set_grad(parameter, once);  // the same numbers, to be written
  return ops::coalesced_values(once);
}

Gradients gradients_of(const char* op, const std::vector<Tensor>& parameters) {
  Gradients found{op, {}, {}, {}, {}};
  int64_t elements = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].defined()) {
      throw ValueError(str(op, ": needs tensors, got nothing as parameter ", i));
    }
    const Tensor grad = elements_of(parameters[i]);
    if (!grad.defined()) continue;
    if (is_meta(grad)) throw_no_elements(op);
    found.indices.push_back(i);
    found.grads.push_back(grad);
    found.packed.push_back(ops::impl::contiguous(host_copy(detached(grad))));
    elements += grad.numel();
    found.ends.push_back(elements);
  }
  return found;
}

const char* address_of(const Tensor& tensor, int64_t element) {
  return static_cast<const char*>(tensor.host_data()) +
         static_cast<size_t>(element) * item_size(tensor.dtype());
}

double norm_of(const Gradients& gradients, double norm_type) {
  const bool is_largest = std::isinf(norm_type);
  const auto pieces = static_cast<size_t>(count_pieces(gradients.ends, kGrain));
  std::vector<double> parts(pieces, 0.0);
  const auto join = [&](double& total, double part) {
    if (!is_largest) {
      total += part;
    } else if (part > total || std::isnan(part)) {
      total = part;
    }
  };
  parallel_over_arrays(
      gradients.ends, kGrain, [&](int64_t piece, size_t i, int64_t begin, int64_t end) {
        const Tensor& grad = gradients.packed[i];
        const void* const from = address_of(grad, begin);
        const double part =
            is_largest ? kernels::cpu::largest_magnitude(grad.dtype(), from, end - begin)
                       : kernels::cpu::sum_of_powers(grad.dtype(), from, end - begin, norm_type);
        join(parts[static_cast<size_t>(piece)], part);
      });
  double total = 0;
  for (const double part : parts) join(total, part);
  return is_largest ? total : std::pow(total, 1 / norm_type);
}

/// Which parameter's gradient is the first that is not finite.
[[noreturn]] void throw_not_finite(const Gradients& gradients, double norm) {
  for (size_t i = 0; i < gradients.packed.size(); ++i) {
    const Tensor& grad = gradients.packed[i];
    const double largest =
        kernels::cpu::largest_magnitude(grad.dtype(), grad.host_data(), grad.numel());
    if (!std::isfinite(largest)) {
      throw ValueError(str(gradients.op, ": needs finite gradients, got a norm of ", norm,
                           "; the gradient of parameter ", gradients.indices[i],
                           " is the first that holds inf or nan"));
    }
  }
  throw ValueError(str(gradients.op, ": needs a finite norm, got ", norm));
}

/// Calls `change(dtype, data, count)` for all gradients; complex numbers count as pairs.
template <typename Change>
void change_all(const Gradients& gradients, Change change) {
  for (const Tensor& grad : gradients.grads) ops::check_writable(gradients.op, grad);
  parallel_over_arrays(gradients.ends, kGrain, [&](int64_t, size_t i, int64_t begin, int64_t end) {
    const Tensor& grad = gradients.packed[i];
    const int64_t parts = (end - begin) * (is_complex(grad.dtype()) ? 2 : 1);
    change(real_type_of(grad.dtype()), const_cast<char*>(address_of(grad, begin)), parts);
  });
  for (size_t i = 0; i < gradients.grads.size(); ++i) {
    if (gradients.packed[i].data_ptr() == gradients.grads[i].data_ptr()) {
      ops::note_write(gradients.op, gradients.grads[i]);
    } else {
      ops::impl::copy_(gradients.grads[i], gradients.packed[i]);
    }
  }
}

Tensor norm_tensor(const Gradients& gradients, double norm) {
  DType dtype = DType::float32;
  for (const Tensor& grad : gradients.grads) {
    if (real_type_of(grad.dtype()) == DType::float64) dtype = DType::float64;
  }
  const Device device = gradients.grads.empty() ? Device{} : gradients.grads[0].device();
  return ops::full(Shape{}, norm, dtype, device);
}

/// Refuses what unscaling could not help.
void check_unscalable(const char* op, const std::vector<Tensor>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].defined()) {
      throw ValueError(str(op, ": needs tensors, got nothing as parameter ", i));
    }
    const Tensor grad = grad_of(parameters[i]);
    if (!grad.defined() || grad.dtype() != DType::float16) continue;
    throw DTypeError(str(op, ": needs gradients of a wider dtype, got float16 for parameter ", i,
                         "\nhint: keep the weights in float32 and let autocast cast them, or set "
                         "their grad_dtype to float32"));
  }
}

/// Multiplies gradients of the CPU, or copies there; whether all were finite before.
bool unscale_here(const Gradients& gradients, double inverse_scale) {
  std::atomic<bool> is_finite = true;
  change_all(gradients, [&](DType dtype, void* data, int64_t count) {
    constexpr int64_t kInCache = 2048;
    const auto size = static_cast<int64_t>(item_size(dtype));
    for (int64_t done = 0; done < count; done += kInCache) {
      void* const part = static_cast<char*>(data) + done * size;
      const int64_t numbers = std::min(kInCache, count - done);
      if (!std::isfinite(kernels::cpu::largest_magnitude(dtype, part, numbers))) {
        is_finite.store(false, std::memory_order_relaxed);
      }
      kernels::cpu::scale_in_place(dtype, part, numbers, inverse_scale);
    }
  });
  return is_finite;
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const LocationScope location(current_location(__builtin_return_address(0)));
  const char* const op = "clip_grad_norm_";
  const CallRange range(op, thread_state.location);
  if (!(max_norm >= 0)) throw ValueError(str(op, ": needs max_norm >= 0, got ", max_norm));
  if (!(norm_type > 0)) throw ValueError(str(op, ": needs norm_type > 0, got ", norm_type));
  const NoGradGuard no_grad;
  if (const auto grads = gradients_elsewhere(parameters); !grads.empty()) {
    const Tensor norm = queued_norm(grads, norm_type);
    if (error_if_nonfinite) {  // the question waits for the answer
      const double found = ops::to_device(norm, Device{}).item<double>();
      if (!std::isfinite(found)) throw_not_finite(gradients_of(op, parameters), found);
    }
    queue_scaling(op, grads, max_norm, norm);
    return norm;
  }
  const Gradients gradients = gradients_of(op, parameters);
  const double norm = norm_of(gradients, norm_type);
  if (error_if_nonfinite && !std::isfinite(norm)) throw_not_finite(gradients, norm);
  const double factor = max_norm / (norm + 1e-6);
  if (!(factor >= 1)) {  // NaN too: it shows in every gradient, as in PyTorch
    change_all(gradients, [&](DType dtype, void* data, int64_t count) {
      kernels::cpu::scale_in_place(dtype, data, count, factor);
    });
  }
  return norm_tensor(gradients, norm);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const LocationScope location(current_location(__builtin_return_address(0)));
  const char* const op = "clip_grad_value_";
  const CallRange range(op, thread_state.location);
  if (!(clip_value >= 0)) throw ValueError(str(op, ": needs clip_value >= 0, got ", clip_value));
  const NoGradGuard no_grad;
  if (const auto grads = gradients_elsewhere(parameters); !grads.empty()) {
    return queue_clamping(op, grads, clip_value);
  }
  const Gradients gradients = gradients_of(op, parameters);
  for (const Tensor& grad : gradients.grads) {
    if (is_complex(grad.dtype())) {
      throw DTypeError(str(op, ": needs real gradients, got ", grad.dtype()));
    }
  }
  change_all(gradients, [&](DType dtype, void* data, int64_t count) {
    kernels::cpu::clamp_in_place(dtype, data, count, clip_value);
  });
}

bool Finiteness::is_finite() const {
  bool is_finite = is_finite_here;
  for (const Tensor& one : found) {
    is_finite = ops::to_device(one, Device{}).item<float>() == 0 && is_finite;
  }
  return is_finite;
}

Finiteness unscale_grads_(const std::vector<Tensor>& parameters, double inverse_scale) {
  const LocationScope location(current_location(__builtin_return_address(0)));
  const char* const op = "unscale_";
  const CallRange range(op, thread_state.location);
  const NoGradGuard no_grad;
  check_unscalable(op, parameters);
  std::vector<Tensor> here, there;
  for (const Tensor& parameter : parameters) {
    const Tensor grad = grad_of(parameter);
    if (grad.defined() && can_queue_unscaling(grad)) {
      there.push_back(detached(grad));
    } else {
      here.push_back(parameter);
    }
  }
  Finiteness answer;
  answer.is_finite_here = unscale_here(gradients_of(op, here), inverse_scale);
  answer.found = queue_unscaling(op, there, inverse_scale);
  return answer;
}

}  // namespace ebb::nn::utils
