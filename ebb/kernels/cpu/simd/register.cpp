// ebb/kernels/cpu/simd/register.cpp -- fills the tables once.
#include "ebb/kernels/cpu/simd/register.h"

#include <mutex>

namespace ebb::kernels {

void register_cpu_kernels() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    const Isa isa = cpu::usable_isa();
    cpu::fill_activation(isa);
    cpu::fill_pointwise_binary(isa);
    cpu::fill_pointwise_complex();
    cpu::fill_pointwise_integer();
    cpu::fill_pointwise_math(isa);
    cpu::fill_pointwise_scalar();
    cpu::fill_pointwise_trig(isa);
    cpu::fill_pow(isa);
    cpu::fill_ternary(isa);
    cpu::fill_pointwise_unary(isa);
    cpu::fill_pointwise_plain();
    cpu::fill_compare();
    cpu::fill_where();
    cpu::fill_cast(isa);
    cpu::fill_fill();
    cpu::fill_attention(isa);
    cpu::fill_recurrent(isa);
    cpu::fill_reduce(isa);
    cpu::fill_amax(isa);
    cpu::fill_arrange();
    cpu::fill_batch_norm(isa);
    cpu::fill_difference_loss(isa);
    cpu::fill_pointwise_loss(isa);
    cpu::fill_row_norm(isa);
    cpu::fill_max_dim(isa);
    cpu::fill_prod(isa);
    cpu::fill_norm(isa);
    cpu::fill_var(isa);
    cpu::fill_matmul();
    cpu::fill_softmax(isa);
    cpu::fill_loss();
    cpu::fill_index();
    cpu::fill_index_add();
    cpu::fill_index_places();
    cpu::fill_random(isa);
    cpu::fill_conv();
    cpu::fill_avg_pool();
    cpu::fill_max_pool(isa);
    cpu::fill_random_choice();
    cpu::fill_dropout(isa);
    cpu::fill_sort();
    cpu::fill_scan();
  });
}

}  // namespace ebb::kernels
