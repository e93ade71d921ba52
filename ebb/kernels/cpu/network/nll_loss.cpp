// ebb/kernels/cpu/network/nll_loss.cpp -- the negative log likelihood and its gradient.
//
// Reads one number per row, so there is nothing to vectorise. Sums run in float64 over chunks of
// rows of a fixed size, and are therefore the same for any number of threads.
#include "ebb/kernels/tables/nll_loss.h"

#include <algorithm>
#include <limits>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/checked_index.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/tables/nll_loss_backward.h"

namespace ebb::kernels::cpu {
namespace {

constexpr int64_t kRowGrain = 4096;

template <typename T>
struct Rows {
  const T* data;  // null: every class weighs 1
  int64_t stride;

  explicit Rows(const TensorView* view)
      : data(view == nullptr ? nullptr : view->as<const T>()),
        stride(view == nullptr || view->ndim == 0 ? 0 : view->strides[0]) {}
  double at(int64_t index) const {
    return data == nullptr ? 1.0 : convert<double>(data[index * stride]);
  }
};

/// A 0-d tensor of any floating dtype (the weights of a half-precision loss sum up in float32).
void store(double value, const TensorView& out) {
  visit_dtype(out.dtype, [&]<typename T>(TypeTag<T>) { *out.as<T>() = convert<T>(value); });
}
double load(const TensorView& view) {
  return visit_dtype(view.dtype,
                     [&]<typename T>(TypeTag<T>) { return convert<double>(*view.as<const T>()); });
}

struct Sums {
  double loss = 0, weight = 0;
};

template <typename T>
void nll_loss_kernel(const Context&, const TensorView& input, const TensorView& target,
                     const TensorView* weight, int64_t ignore_index, Reduction reduction,
                     const TensorView& out, const TensorView& total_weight) {
  const int64_t count = input.sizes[0];
  FirstWrong wrong;
  const Rows<T> weights(weight);
  const auto* classes = target.as<const int64_t>();
  const int64_t class_stride = target.ndim == 0 ? 0 : target.strides[0];
  const int64_t out_stride = out.ndim == 0 ? 0 : out.strides[0];
  CountedVector<Sums> parts(static_cast<size_t>((count + kRowGrain - 1) / kRowGrain));
  parallel_for(count, kRowGrain, [&](int64_t begin, int64_t end) {
    Sums sums;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t label = read_once(classes + i * class_stride);
      double loss = 0;
      if (label != ignore_index) {
        if (!is_index(label, input.sizes[1])) return wrong.note(label, i);
        const T value = input.as<const T>()[i * input.strides[0] + label * input.strides[1]];
        loss = -convert<double>(value) * weights.at(label);
        sums.weight += weights.at(label);
      }
      sums.loss += loss;
      if (reduction == Reduction::none) out.as<T>()[i * out_stride] = convert<T>(loss);
    }
    parts[static_cast<size_t>(begin / kRowGrain)] = sums;
  });
  Sums total;
  for (const Sums& part : parts) {
    total.loss += part.loss;
    total.weight += part.weight;
  }
  store(total.weight, total_weight);
  if (reduction == Reduction::sum) *out.as<T>() = convert<T>(total.loss);
  if (reduction == Reduction::mean) *out.as<T>() = convert<T>(total.loss / total.weight);
  wrong.throw_if_found();
}

template <typename T>
void nll_loss_backward_kernel(const Context&, const TensorView& grad_out, const TensorView& target,
                              const TensorView* weight, int64_t ignore_index, Reduction reduction,
                              const TensorView& total_weight, const TensorView& grad_input) {
  FirstWrong wrong;
  const Rows<T> weights(weight), grads(&grad_out);
  const auto* classes = target.as<const int64_t>();
  const int64_t class_stride = target.ndim == 0 ? 0 : target.strides[0];
  const int64_t count = grad_input.sizes[0], width = grad_input.sizes[1];
  const double divisor = reduction == Reduction::mean ? load(total_weight) : 1.0;
  const int64_t grain = std::max<int64_t>(1, kRowGrain / std::max<int64_t>(1, width / 8));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = grad_input.as<T>() + i * grad_input.strides[0];
      for (int64_t j = 0; j < width; ++j) row[j * grad_input.strides[1]] = T(0);
      const int64_t label = read_once(classes + i * class_stride);
      if (label == ignore_index) continue;
      if (!is_index(label, width)) return wrong.note(label, i);
      const double grad = -grads.at(i) * weights.at(label) / divisor;
      row[label * grad_input.strides[1]] = convert<T>(grad);
    }
  });
  wrong.throw_if_found();
}

template <typename... T>
void set() {
  (nll_loss_kernels.set_cpu(dtype_of<T>, &nll_loss_kernel<T>), ...);
  (nll_loss_backward_kernels.set_cpu(dtype_of<T>, &nll_loss_backward_kernel<T>), ...);
}

}  // namespace

void fill_nll_loss() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu
