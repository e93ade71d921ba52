// ebb/autograd/rules/index.h -- gradient rules of indexing.
#pragma once

#include "ebb/autograd/rules/sparse.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

Tensor gather_grad(const Tensor& grad, IntSpan shape, int64_t dim, const Tensor& index);
Tensor scatter_add_grad_src(const Tensor& grad, int64_t dim, const Tensor& index,
                            IntSpan src_shape);
Tensor index_select_grad(const Tensor& grad, IntSpan shape, int64_t dim, const Tensor& index);
Tensor index_add_grad_source(const Tensor& grad, int64_t dim, const Tensor& index,
                             const Scalar& alpha, IntSpan source_shape);
/// Of equal places only the last one written stays, and so only its source gets a gradient.
Tensor scatter_grad_src(const Tensor& grad, int64_t dim, const Tensor& index, IntSpan src_shape);
Tensor index_copy_grad_source(const Tensor& grad, int64_t dim, const Tensor& index,
                              IntSpan source_shape);
/// How the product changes with the input: the product of what src brings.
Tensor scatter_prod_slope(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src);
// Of what scatter puts together (scatter_reduce.cpp).
Tensor scatter_prod_grad_src(const Tensor& grad, const Tensor& input, int64_t dim,
                             const Tensor& index, const Tensor& src);
Tensor scatter_prod_jvp_src(const Tensor& tangent, const Tensor& input, int64_t dim,
                            const Tensor& index, const Tensor& src);
/// Gradients of input and src. Equal extrema share evenly.
std::vector<Tensor> scatter_extremum_grads(const Tensor& grad, const Tensor& input, int64_t dim,
                                           const Tensor& index, const Tensor& src,
                                           const Tensor& out);
/// Either tangent may be undefined.
std::vector<Tensor> scatter_extremum_jvp(const Tensor& input_tangent, const Tensor& src_tangent,
                                         const Tensor& input, int64_t dim, const Tensor& index,
                                         const Tensor& src, const Tensor& out);
/// `used`, the gradient of what the index covers of src, with zeros for the rest of src.
Tensor with_zeros_around(const Tensor& used, IntSpan src_shape);
Tensor index_put_grad_self(const Tensor& grad, IntSpan dims, const Tensor& index, bool accumulate);
Tensor index_put_grad_value(const Tensor& grad, IntSpan dims, const Tensor& index, bool accumulate,
                            IntSpan value_shape);
Tensor embedding_backward_grad(const Tensor& grad, const Tensor& indices, int64_t padding_idx);

}  // namespace ebb::autograd::rules
