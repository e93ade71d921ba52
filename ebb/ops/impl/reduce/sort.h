// ebb/ops/impl/reduce/sort.h -- bodies of sorts and searches.
#pragma once

#include <optional>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// Values and indices. `stable` asks for nothing more: every sort is.
EBB_API std::tuple<Tensor, Tensor> sort(const Tensor& input, int64_t dim, bool descending,
                                        bool stable);
EBB_API Tensor argsort(const Tensor& input, int64_t dim, bool descending, bool stable);
/// `sorted` asks for nothing more: the result always is.
EBB_API std::tuple<Tensor, Tensor> topk(const Tensor& input, int64_t k, int64_t dim, bool largest,
                                        bool sorted);
EBB_API std::tuple<Tensor, Tensor> kthvalue(const Tensor& input, int64_t k, int64_t dim,
                                            bool keepdim);
EBB_API Tensor median(const Tensor& input);
EBB_API std::tuple<Tensor, Tensor> median(const Tensor& input, int64_t dim, bool keepdim);

EBB_API Tensor search_in_order(const Tensor& sorted_sequence, const Tensor& input, bool out_int32,
                               bool right);

}  // namespace ebb::ops::impl
