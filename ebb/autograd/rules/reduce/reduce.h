// ebb/autograd/rules/reduce/reduce.h -- gradient rules of reductions, scans and sorts.
//
// `dim` and `keepdim` are those of the op, `shape` is its input's. A rule that ends in _jvp is the
// forward rule: as every reduction here gives one number per group, it is the sum of the tangent's
// elements times the slopes.
#pragma once

#include <optional>

#include "ebb/autograd/rules/reduce/extrema.h"
#include "ebb/autograd/rules/sparse_math.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// `tensor`, a result of a reduction of `shape`, with a size of 1 in place of each reduced dim.
Tensor with_reduced_dims(const Tensor& tensor, IntSpan shape, std::optional<IntSpan> dim,
                         bool keepdim);
/// How many elements of `shape` are reduced to one.
int64_t reduced_count(IntSpan shape, std::optional<IntSpan> dim);

// Sums (reduce.cpp).
Tensor sum_grad(const Tensor& grad, IntSpan shape, std::optional<IntSpan> dim, bool keepdim);
/// The mean of what is not NaN; half types hold neither long sums nor counts.
Tensor mean_of_numbers(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
                       std::optional<DType> dtype);
Tensor mean_grad(const Tensor& grad, IntSpan shape, std::optional<IntSpan> dim, bool keepdim);

// Products (prod.cpp). Right with zeros among the elements, in every order.
Tensor prod_grad(const Tensor& grad, const Tensor& input, const Tensor& out);
Tensor prod_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out);
Tensor prod_dim_grad(const Tensor& grad, const Tensor& input, const Tensor& out, int64_t dim,
                     bool keepdim);
Tensor prod_dim_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out, int64_t dim,
                    bool keepdim);

// Moments and norms (moments.cpp).
Tensor var_grad(const Tensor& grad, const Tensor& input, std::optional<IntSpan> dim,
                double correction, bool keepdim);
Tensor var_jvp(const Tensor& tangent, const Tensor& input, std::optional<IntSpan> dim,
               double correction, bool keepdim);
/// 0 where all elements are equal.
Tensor std_grad(const Tensor& grad, const Tensor& input, const Tensor& out,
                std::optional<IntSpan> dim, double correction, bool keepdim);
Tensor std_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out,
               std::optional<IntSpan> dim, double correction, bool keepdim);
/// 0 where the norm is 0.
Tensor norm_grad(const Tensor& grad, const Tensor& input, const Tensor& out, double p,
                 std::optional<IntSpan> dim, bool keepdim);
Tensor norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out, double p,
                std::optional<IntSpan> dim, bool keepdim);
Tensor logsumexp_grad(const Tensor& grad, const Tensor& input, const Tensor& out, IntSpan dim,
                      bool keepdim);
Tensor logsumexp_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out, IntSpan dim,
                     bool keepdim);

}  // namespace ebb::autograd::rules
