// ebb/ops/impl/random.h -- bodies of random ops and of dropout, which draw from
// default_generator().
#pragma once

#include <optional>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

EBB_API Tensor rand_like(const Tensor& input, std::optional<DType> dtype);
EBB_API Tensor randn_like(const Tensor& input, std::optional<DType> dtype);

/// Integers from `low` to `high` - 1; int64 unless told otherwise.
EBB_API Tensor randint(int64_t low, int64_t high, IntSpan size, std::optional<DType> dtype,
                       std::optional<Device> device);
EBB_API Tensor randint(int64_t high, IntSpan size, std::optional<DType> dtype,
                       std::optional<Device> device);
EBB_API Tensor randperm(int64_t n, std::optional<DType> dtype, std::optional<Device> device);

/// Mean and standard deviation broadcast.
EBB_API Tensor normal(const Tensor& mean, const Tensor& std);
EBB_API Tensor normal(const Tensor& mean, double std);
EBB_API Tensor normal(double mean, const Tensor& std);
EBB_API Tensor normal(double mean, double std, IntSpan size, std::optional<DType> dtype,
                      std::optional<Device> device);

EBB_API Tensor bernoulli(const Tensor& input);
EBB_API Tensor bernoulli(const Tensor& input, double p);
EBB_API const Tensor& bernoulli_(const Tensor& self, double p);
EBB_API const Tensor& bernoulli_(const Tensor& self, const Tensor& p);
EBB_API const Tensor& uniform_(const Tensor& self, double low, double high);
EBB_API const Tensor& normal_(const Tensor& self, double mean, double std);
EBB_API const Tensor& exponential_(const Tensor& self, double lambd);
EBB_API const Tensor& cauchy_(const Tensor& self, double median, double sigma);
EBB_API const Tensor& log_normal_(const Tensor& self, double mean, double std);
EBB_API const Tensor& geometric_(const Tensor& self, double p);
/// Whole numbers below `to`, or up to the largest that the dtype counts to.
EBB_API const Tensor& random_(const Tensor& self);
EBB_API const Tensor& random_(const Tensor& self, int64_t to);
EBB_API const Tensor& random_(const Tensor& self, int64_t low, std::optional<int64_t> to);

EBB_API Tensor multinomial(const Tensor& input, int64_t num_samples, bool replacement);

/// The result and the mask (bool) of what was kept; 0 <= p <= 1.
EBB_API std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p);
EBB_API Tensor masked_scale(const Tensor& input, const Tensor& mask, double scale);

}  // namespace ebb::ops::impl
