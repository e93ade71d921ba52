// ebb/autograd/rules/network/norm.cpp -- derivatives of the normalisations, of any order.
//
// Write n(x) = (x - mean) * r with r = 1 / sqrt(var + eps), over groups of M elements. Its
// derivative along v is D(v) = r (v - mean(v) - n mean(v n)), which is symmetric: the same operator
// takes gradients back, and the fused backward op computes it. So
//   grad_input = D(w g), grad_weight = sum(g n), grad_bias = sum(g).
// For gradients u, p, q that arrive at these three:
//   to g: w D(u) + p n + q                      to w: sum(g D(u))
//   to x: D(p g) + d<u, D(v)>/dx with v = w g, which is
//         -r (n mean(u D(v)) + mean(v n) D(u) + mean(u n) D(v)).
// Without centring (rms_norm) mean(v) drops out of D and all the rest stays; for fixed statistics
// D(v) = r v is linear in nothing but v, and the last term is 0.
//
// All of it is computed in what the kernels compute in, float32 for half types: so the dtypes of
// input, weight and gradients, which need not be one, agree.
#include "ebb/autograd/rules/network/norm.h"

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/group_norm.h"
#include "ebb/autograd/ops/group_norm_backward.h"
#include "ebb/autograd/ops/layer_norm.h"
#include "ebb/autograd/ops/layer_norm_backward.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/native_batch_norm.h"
#include "ebb/autograd/ops/native_batch_norm_backward.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/rdiv.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/rms_norm.h"
#include "ebb/autograd/ops/rms_norm_backward.h"
#include "ebb/autograd/ops/row_rms_norm.h"
#include "ebb/autograd/ops/row_rms_norm_backward.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/ops/impl/network/norm.h"

namespace ebb::autograd::rules {
namespace {

/// One normalisation without weight and bias, as its derivatives see it.
class Normalization {
 public:
  explicit Normalization(const Tensor& input) : input_(widened(input)) {}
  virtual ~Normalization() = default;

  /// n(x).
  virtual Tensor normalized() const = 0;
  /// D(v).
  virtual Tensor derivative(const Tensor& v) const = 0;
  /// The mean over each group, in a shape that broadcasts over the input.
  virtual Tensor mean_of(const Tensor& v) const = 0;
  virtual Tensor rstd() const = 0;
  /// Whether the statistics depend on the input.
  virtual bool is_curved() const { return true; }
  /// A weight in a shape that broadcasts over the input, and the sum that undoes this.
  virtual Tensor spread(const Tensor& weight) const = 0;
  virtual Tensor summed(const Tensor& grad) const = 0;

  const Tensor& input() const { return input_; }

 protected:
  /// 1 / sqrt(mean(x^2) + eps).
  Tensor rstd_of(const Tensor& x, double eps) const {
    return rdiv(sqrt(add(mean_of(mul(x, x)), eps)), 1.0);
  }
  Tensor centred() const { return sub(input_, mean_of(input_)); }

  Tensor input_;
};

/// `lhs + rhs`, where an undefined tensor stands for zero.
Tensor plus(const Tensor& lhs, const Tensor& rhs) {
  if (!lhs.defined() || !rhs.defined()) return lhs.defined() ? lhs : rhs;
  return add(lhs, rhs);
}

/// The product with a weight that may be absent.
Tensor weighted(const Normalization& norm, const Tensor& v, const Tensor& weight) {
  return weight.defined() ? mul(v, norm.spread(widened(weight))) : v;
}

Tensor zeros_unless_defined(const Tensor& tensor, const Tensor& like) {
  return tensor.defined() ? tensor : zeros_like(like);
}

/// v and D(v).
struct Direction {
  Tensor v, derivative;
};

/// The term with r at the top of the file, for u and v. It is the derivative of D(v) along u as
/// well, since <w, dD(v)> is the same for any order of u, v and w.
Tensor bend(const Normalization& norm, const Tensor& n, const Direction& u, const Direction& v) {
  const Tensor terms = add(mul(n, norm.mean_of(mul(u.v, v.derivative))),
                           add(mul(norm.mean_of(mul(v.v, n)), u.derivative),
                               mul(norm.mean_of(mul(u.v, n)), v.derivative)));
  return neg(mul(norm.rstd(), terms));
}

/// See the top of the file: u, p, q are `grads`, in that order.
NormGrads backward_grads(const Normalization& norm, std::span<const Tensor> grads,
                         const Tensor& grad_out, const Tensor& weight, int64_t wanted) {
  const Tensor grad = widened(grad_out), u = widened(grads[0]), p = widened(grads[1]);
  const Tensor q = grads.size() > 2 ? widened(grads[2]) : Tensor();
  NormGrads out;
  const bool is_curved = u.defined() && (wanted & 2) != 0 && norm.is_curved();
  const Tensor n = p.defined() || is_curved ? norm.normalized() : Tensor();
  const Tensor du = u.defined() ? norm.derivative(u) : Tensor();
  if ((wanted & 1) != 0) {
    Tensor to_grad = u.defined() ? weighted(norm, du, weight) : Tensor();
    if (p.defined()) to_grad = plus(to_grad, mul(n, norm.spread(p)));
    if (q.defined()) to_grad = plus(to_grad, expand(norm.spread(q), grad.sizes()));
    std::get<0>(out) = zeros_unless_defined(to_grad, grad);
  }
  if ((wanted & 2) != 0) {
    Tensor to_input = p.defined() ? norm.derivative(mul(grad, norm.spread(p))) : Tensor();
    if (is_curved) {
      const Tensor v = weighted(norm, grad, weight);
      to_input = plus(to_input, bend(norm, n, {u, du}, {v, norm.derivative(v)}));
    }
    std::get<1>(out) = zeros_unless_defined(to_input, norm.input());
  }
  if ((wanted & 4) != 0) {
    const Tensor to_weight = u.defined() ? norm.summed(mul(grad, du)) : Tensor();
    std::get<2>(out) = zeros_unless_defined(to_weight, weight);
  }
  return out;
}

/// How the gradients of a backward op (bits of `parts`) move if its operands do.
NormGrads backward_jvp(const Normalization& norm, const NormTangents& given, const Tensor& grad_out,
                       const Tensor& weight, int64_t parts) {
  NormGrads out;
  const Tensor grad = widened(grad_out), t = widened(given.input);
  const NormTangents along{widened(given.grad), t, widened(given.weight)};
  const Tensor n = norm.normalized();
  const Tensor dt = t.defined() ? norm.derivative(t) : Tensor();
  if ((parts & 1) != 0) {
    Tensor moved = along.grad.defined() ? weighted(norm, along.grad, weight) : Tensor();
    if (along.weight.defined()) moved = plus(moved, mul(grad, norm.spread(along.weight)));
    Tensor to_input = moved.defined() ? norm.derivative(moved) : Tensor();
    if (t.defined() && norm.is_curved()) {
      const Tensor v = weighted(norm, grad, weight);
      to_input = plus(to_input, bend(norm, n, {t, dt}, {v, norm.derivative(v)}));
    }
    std::get<0>(out) = to_input;
  }
  if ((parts & 2) != 0) {
    Tensor products = along.grad.defined() ? mul(along.grad, n) : Tensor();
    if (t.defined()) products = plus(products, mul(grad, dt));
    if (products.defined()) std::get<1>(out) = norm.summed(products);
  }
  if ((parts & 4) != 0 && along.grad.defined()) std::get<2>(out) = norm.summed(along.grad);
  return out;
}

/// Normalises the last dims.
class RowNormalization : public Normalization {
 public:
  RowNormalization(const Tensor& input, IntSpan shape) : Normalization(input), shape_(shape) {
    const int count = static_cast<int>(shape.size());
    for (int dim = input.ndim() - count; dim < input.ndim(); ++dim) dims_.push_back(dim);
  }
  Tensor mean_of(const Tensor& v) const override { return mean(v, IntSpan(dims_), true); }
  Tensor spread(const Tensor& weight) const override { return weight; }
  Tensor summed(const Tensor& grad) const override {
    std::vector<int64_t> dims;
    for (int dim = 0; dim < input_.ndim() - static_cast<int>(shape_.size()); ++dim) {
      dims.push_back(dim);
    }
    return dims.empty() ? grad : sum(grad, IntSpan(dims), false);
  }

 protected:
  IntSpan shape_;
  std::vector<int64_t> dims_;
};

class LayerNormalization final : public RowNormalization {
 public:
  LayerNormalization(const Tensor& input, IntSpan shape, double eps)
      : RowNormalization(input, shape), eps_(eps) {}
  Tensor normalized() const override { return layer_norm(input_, shape_, {}, {}, eps_); }
  Tensor derivative(const Tensor& v) const override {
    return std::get<0>(layer_norm_backward(v, input_, {}, shape_, eps_, 1));
  }
  Tensor rstd() const override { return rstd_of(centred(), eps_); }

 private:
  double eps_;
};

class RmsNormalization final : public RowNormalization {
 public:
  RmsNormalization(const Tensor& input, IntSpan shape, std::optional<double> eps)
      : RowNormalization(input, shape), eps_(eps.value_or(ops::impl::default_eps(input.dtype()))) {}
  Tensor normalized() const override { return rms_norm(input_, shape_, {}, eps_); }
  Tensor derivative(const Tensor& v) const override {
    return std::get<0>(rms_norm_backward(v, input_, {}, shape_, eps_, 1));
  }
  Tensor rstd() const override { return rstd_of(input_, eps_); }

 private:
  double eps_;
};

/// Normalises slices along the first dim, which have one weight each.
class SliceNormalization final : public Normalization {
 public:
  using Normalization::Normalization;
  Tensor normalized() const override { return row_rms_norm(input_, ones()); }
  Tensor derivative(const Tensor& v) const override {
    return std::get<0>(row_rms_norm_backward(v, input_, ones(), 1));
  }
  Tensor mean_of(const Tensor& v) const override {
    return input_.ndim() == 1 ? v : mean(v, IntSpan(all_but_first()), true);
  }
  Tensor rstd() const override { return rstd_of(input_, 0); }
  Tensor spread(const Tensor& weight) const override { return along_rows(weight, input_.ndim()); }
  Tensor summed(const Tensor& grad) const override {
    return input_.ndim() == 1 ? grad : sum(grad, IntSpan(all_but_first()), false);
  }

 private:
  Tensor ones() const { return ebb::ones({input_.size(0)}, input_.dtype(), input_.device()); }
  std::vector<int64_t> all_but_first() const {
    std::vector<int64_t> dims;
    for (int dim = 1; dim < input_.ndim(); ++dim) dims.push_back(dim);
    return dims;
  }
};

/// Has one weight per channel of an input [N, C, d...].
class ChannelNormalization : public Normalization {
 public:
  using Normalization::Normalization;
  Tensor spread(const Tensor& weight) const override {
    return along_channels(weight, input_.ndim());
  }
  Tensor summed(const Tensor& grad) const override {
    return sum(grad, IntSpan(all_but_channels()), false);
  }

 protected:
  std::vector<int64_t> all_but_channels() const {
    std::vector<int64_t> dims = {0};
    for (int dim = 2; dim < input_.ndim(); ++dim) dims.push_back(dim);
    return dims;
  }
};

class GroupNormalization final : public ChannelNormalization {
 public:
  GroupNormalization(const Tensor& input, int64_t num_groups, double eps)
      : ChannelNormalization(input), num_groups_(num_groups), eps_(eps) {}
  Tensor normalized() const override { return group_norm(input_, num_groups_, {}, {}, eps_); }
  Tensor derivative(const Tensor& v) const override {
    return std::get<0>(group_norm_backward(v, input_, {}, num_groups_, eps_, 1));
  }
  Tensor mean_of(const Tensor& v) const override {
    const int64_t rows = v.size(0) * num_groups_;
    const Shape by_group = {rows, rows == 0 ? 0 : v.numel() / rows};
    const int64_t dims[] = {1};
    const Tensor means = mean(reshape(v, by_group), IntSpan(dims), true);
    return reshape(expand(means, by_group), v.sizes());
  }
  Tensor rstd() const override { return rstd_of(centred(), eps_); }

 private:
  int64_t num_groups_;
  double eps_;
};

class BatchNormalization final : public ChannelNormalization {
 public:
  BatchNormalization(const Tensor& input, const Tensor& mean, const Tensor& var, bool training,
                     double eps)
      : ChannelNormalization(input),
        mean_(widened(mean)),
        var_(widened(var)),
        training_(training),
        eps_(eps) {}
  Tensor normalized() const override {
    return std::get<0>(native_batch_norm(input_, mean_, var_, {}, {}, training_, eps_));
  }
  Tensor derivative(const Tensor& v) const override {
    return std::get<0>(native_batch_norm_backward(v, input_, {}, mean_, var_, training_, eps_, 1));
  }
  Tensor mean_of(const Tensor& v) const override {
    return mean(v, IntSpan(all_but_channels()), true);
  }
  Tensor rstd() const override { return rstd_of(centred(), eps_); }
  bool is_curved() const override { return training_; }

 private:
  Tensor mean_, var_;
  bool training_;
  double eps_;
};

}  // namespace

Tensor along_channels(const Tensor& per_channel, int64_t ndim) {
  Shape shape = {per_channel.numel()};
  for (int64_t dim = 2; dim < ndim; ++dim) shape.push_back(1);
  return reshape(per_channel, shape);
}

Tensor along_rows(const Tensor& per_row, int64_t ndim) {
  Shape shape = {per_row.numel()};
  for (int64_t dim = 1; dim < ndim; ++dim) shape.push_back(1);
  return reshape(per_row, shape);
}

Tensor layer_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight,
                      IntSpan normalized_shape, double eps) {
  const LayerNormalization norm(input, normalized_shape, eps);
  return weighted(norm, norm.derivative(widened(tangent)), weight);
}

NormGrads layer_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                    const Tensor& input, const Tensor& weight,
                                    IntSpan normalized_shape, double eps, int64_t wanted) {
  const LayerNormalization norm(input, normalized_shape, eps);
  return backward_grads(norm, grads, grad, weight, wanted);
}

Tensor rms_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight,
                    IntSpan normalized_shape, std::optional<double> eps) {
  const RmsNormalization norm(input, normalized_shape, eps);
  return weighted(norm, norm.derivative(widened(tangent)), weight);
}

NormGrads rms_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                  const Tensor& input, const Tensor& weight,
                                  IntSpan normalized_shape, std::optional<double> eps,
                                  int64_t wanted) {
  const RmsNormalization norm(input, normalized_shape, eps);
  return backward_grads(norm, grads, grad, weight, wanted);
}

Tensor row_rms_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight) {
  const SliceNormalization norm(input);
  return weighted(norm, norm.derivative(widened(tangent)), weight);
}

NormGrads row_rms_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                      const Tensor& input, const Tensor& weight, int64_t wanted) {
  return backward_grads(SliceNormalization(input), grads, grad, weight, wanted);
}

Tensor group_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight,
                      int64_t num_groups, double eps) {
  const GroupNormalization norm(input, num_groups, eps);
  return weighted(norm, norm.derivative(widened(tangent)), weight);
}

NormGrads group_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                    const Tensor& input, const Tensor& weight, int64_t num_groups,
                                    double eps, int64_t wanted) {
  const GroupNormalization norm(input, num_groups, eps);
  return backward_grads(norm, grads, grad, weight, wanted);
}

Tensor batch_norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& weight,
                      const Tensor& mean, const Tensor& var, bool training, double eps) {
  const BatchNormalization norm(input, mean, var, training, eps);
  return weighted(norm, norm.derivative(widened(tangent)), weight);
}

NormGrads batch_norm_backward_grads(std::span<const Tensor> grads, const Tensor& grad,
                                    const Tensor& input, const Tensor& weight, const Tensor& mean,
                                    const Tensor& var, bool training, double eps, int64_t wanted) {
  const BatchNormalization norm(input, mean, var, training, eps);
  return backward_grads(norm, grads, grad, weight, wanted);
}

NormGrads layer_norm_backward_jvp(const NormTangents& along, const Tensor& grad,
                                  const Tensor& input, const Tensor& weight,
                                  IntSpan normalized_shape, double eps, int64_t parts) {
  const LayerNormalization norm(input, normalized_shape, eps);
  return backward_jvp(norm, along, grad, weight, parts);
}

NormGrads rms_norm_backward_jvp(const NormTangents& along, const Tensor& grad, const Tensor& input,
                                const Tensor& weight, IntSpan normalized_shape,
                                std::optional<double> eps, int64_t parts) {
  const RmsNormalization norm(input, normalized_shape, eps);
  return backward_jvp(norm, along, grad, weight, parts);
}

NormGrads row_rms_norm_backward_jvp(const NormTangents& along, const Tensor& grad,
                                    const Tensor& input, const Tensor& weight, int64_t parts) {
  return backward_jvp(SliceNormalization(input), along, grad, weight, parts);
}

NormGrads group_norm_backward_jvp(const NormTangents& along, const Tensor& grad,
                                  const Tensor& input, const Tensor& weight, int64_t num_groups,
                                  double eps, int64_t parts) {
  const GroupNormalization norm(input, num_groups, eps);
  return backward_jvp(norm, along, grad, weight, parts);
}

NormGrads batch_norm_backward_jvp(const NormTangents& along, const Tensor& grad,
                                  const Tensor& input, const Tensor& weight, const Tensor& mean,
                                  const Tensor& var, bool training, double eps, int64_t parts) {
  const BatchNormalization norm(input, mean, var, training, eps);
  return backward_jvp(norm, along, grad, weight, parts);
}

}  // namespace ebb::autograd::rules
