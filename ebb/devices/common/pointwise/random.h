// ebb/devices/common/pointwise/random.h -- random numbers, the CPU's own:
// kernels/pointwise/random.k, random_whole.k and dropout.k over kernels/philox.k.
//
// Uniform and whole numbers, permutations and masks are bit by bit those of the CPU; normal numbers
// and others made by log differ by what the device's log, cos and sin do.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

// kernels::RandomKernel
void run_rand(const kernels::Context&, const RandomState& state, double low, double high,
              const kernels::TensorView& out);
void run_randn(const kernels::Context&, const RandomState& state, double mean, double deviation,
               const kernels::TensorView& out);
void run_log_normal(const kernels::Context&, const RandomState& state, double mean,
                    double deviation, const kernels::TensorView& out);
void run_exponential(const kernels::Context&, const RandomState& state, double rate, double,
                     const kernels::TensorView& out);
void run_cauchy(const kernels::Context&, const RandomState& state, double median, double sigma,
                const kernels::TensorView& out);
void run_geometric(const kernels::Context&, const RandomState& state, double p, double,
                   const kernels::TensorView& out);
/// kernels::RandintKernel
void run_randint(const kernels::Context&, const RandomState& state, int64_t low, uint64_t range,
                 const kernels::TensorView& out);
/// kernels::RandpermKernel
void run_randperm(const kernels::Context&, const RandomState& state,
                  const kernels::TensorView& out);
/// kernels::MultinomialKernel
void run_multinomial(const kernels::Context&, const RandomState& state,
                     const kernels::TensorView& weights, bool replacement,
                     const kernels::TensorView& out);
/// kernels::DropoutKernel
void run_dropout(const kernels::Context&, const kernels::TensorView& input,
                 const RandomState& state, double p, const kernels::TensorView& out,
                 const kernels::TensorView& mask);
/// kernels::MaskedScaleKernel
void run_masked_scale(const kernels::Context&, const kernels::TensorView& input,
                      const kernels::TensorView& mask, double scale,
                      const kernels::TensorView& out);

}  // namespace ebb::devices
