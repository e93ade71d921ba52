// ebb/kernels/cpu/simd/register.h -- stores the CPU kernels in the tables.
//
// One fill function per file of kernels; each knows its own ops and dtypes.
#pragma once

#include "ebb/core/base/export.h"
#include "ebb/kernels/cpu/simd/isa.h"

namespace ebb::kernels {

/// Fills the tables for the best usable instruction set. Only the first call does anything; safe
/// to call from several threads and from static initialisers.
EBB_API void register_cpu_kernels() noexcept;

namespace cpu {

void fill_activation(Isa isa);
void fill_pointwise_binary(Isa isa);
void fill_pointwise_complex();
void fill_pointwise_integer();
void fill_pointwise_math(Isa isa);
void fill_pointwise_scalar();
void fill_pointwise_trig(Isa isa);
void fill_pow(Isa isa);
void fill_ternary(Isa isa);
void fill_pointwise_unary(Isa isa);
void fill_attention(Isa isa);
void fill_recurrent(Isa isa);
void fill_reduce(Isa isa);
void fill_amax(Isa isa);
void fill_arrange();
void fill_max_dim(Isa isa);
void fill_max_pool(Isa isa);
void fill_batch_norm(Isa isa);
void fill_difference_loss(Isa isa);
void fill_pointwise_loss(Isa isa);
void fill_row_norm(Isa isa);
void fill_norm(Isa isa);
void fill_prod(Isa isa);
void fill_var(Isa isa);
void fill_softmax(Isa isa);
void fill_pointwise_plain();
void fill_compare();
void fill_where();
void fill_cast(Isa isa);
void fill_fill();
void fill_random(Isa isa);
void fill_random_choice();
void fill_dropout(Isa isa);
void fill_sort();
void fill_scan();
void fill_matmul();
void fill_index();
void fill_index_add();
void fill_index_places();
void fill_loss();
void fill_conv();
void fill_avg_pool();

}  // namespace cpu
}  // namespace ebb::kernels
