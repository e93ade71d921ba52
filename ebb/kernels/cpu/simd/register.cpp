// ebb/kernels/cpu/simd/register.cpp -- fills the tables once.
//
// `name.cpp` stores its kernels in fill_name(); a file that is compiled once per target
// (each_target.h) has one such function in the namespace of each. Both kinds are listed here and
// nowhere else.
#include "ebb/kernels/cpu/simd/register.h"

#include "ebb/kernels/cpu/each_target.h"
#include "hwy/highway.h"

namespace ebb::kernels::cpu::HWY_NAMESPACE {

using Fill = void();
Fill fill_activation, fill_amax, fill_attention, fill_batch_norm, fill_binary, fill_difference_loss,
    fill_dropout, fill_fft, fill_index_range, fill_loss, fill_lu, fill_math, fill_max_dim,
    fill_max_pool, fill_norm, fill_pow, fill_prod, fill_random, fill_recurrent, fill_row_norm,
    fill_softmax, fill_sum, fill_ternary, fill_trig, fill_unary, fill_var;

constexpr Fill* kVectorised[] = {fill_activation, fill_amax,     fill_attention,
                                 fill_batch_norm, fill_binary,   fill_difference_loss,
                                 fill_dropout,    fill_fft,      fill_index_range,
                                 fill_loss,       fill_lu,       fill_math,
                                 fill_max_dim,    fill_max_pool, fill_norm,
                                 fill_pow,        fill_prod,     fill_random,
                                 fill_recurrent,  fill_row_norm, fill_softmax,
                                 fill_sum,        fill_ternary,  fill_trig,
                                 fill_unary,      fill_var};

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE

#if HWY_ONCE
namespace ebb::kernels {
namespace cpu {

using Fill = void();
Fill fill_airy, fill_arrange, fill_avg_pool, fill_bessel, fill_cast, fill_compare, fill_complex,
    fill_complex_kinds, fill_complex_math, fill_conv, fill_error_function, fill_factor, fill_fill,
    fill_gamma, fill_igamma, fill_index, fill_index_add, fill_index_places, fill_integer, fill_ldl,
    fill_matmul, fill_nll_loss, fill_numbers, fill_orthogonal, fill_plain, fill_qr,
    fill_random_choice, fill_random_counts, fill_random_gamma, fill_running, fill_scalar, fill_scan,
    fill_scatter_reduce, fill_sort, fill_spectrum, fill_where;

constexpr Fill* kPlain[] = {
    fill_airy,           fill_arrange,      fill_avg_pool,       fill_bessel,
    fill_cast,           fill_compare,      fill_complex,        fill_complex_kinds,
    fill_complex_math,   fill_conv,         fill_error_function, fill_factor,
    fill_fill,           fill_gamma,        fill_igamma,         fill_index,
    fill_index_add,      fill_index_places, fill_integer,        fill_ldl,
    fill_matmul,         fill_nll_loss,     fill_numbers,        fill_orthogonal,
    fill_plain,          fill_qr,           fill_random_choice,  fill_random_counts,
    fill_random_gamma,   fill_running,      fill_scalar,         fill_scan,
    fill_scatter_reduce, fill_sort,         fill_spectrum,       fill_where};

void fill_tables() {
  for (Fill* fill : EBB_CALL_FOR_ISA(usable_isa(), kVectorised)) fill();
  for (Fill* fill : kPlain) fill();
}

}  // namespace cpu

void register_cpu_kernels() noexcept {
  // No std::call_once(): it reads thread-locals of libstdc++, for which a program that has loaded
  // that library long before, and much else, has no room in the static block.
  [[maybe_unused]] static const bool is_filled = (cpu::fill_tables(), true);
}

}  // namespace ebb::kernels
#endif
