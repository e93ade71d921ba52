// ebb/kernels/cpu/index/scatter_reduce.cpp -- products and extrema of what an index puts together.
#include <complex>

#include "ebb/kernels/cpu/index/scatter.h"
#include "ebb/kernels/tables/scatter_amax.h"
#include "ebb/kernels/tables/scatter_amin.h"
#include "ebb/kernels/tables/scatter_prod.h"

namespace ebb::kernels::cpu {
namespace {

template <class Combine>
void scatter_kernel(const Context&, const TensorView& index, const TensorView& src, int dim,
                    const TensorView& out) {
  scatter_with(index, src, dim, out, Combine());
}

template <typename... T>
void set_products() {
  (scatter_prod_kernels.set_cpu(dtype_of<T>, &scatter_kernel<Multiply<T>>), ...);
}
template <typename... T>
void set_extrema() {
  (scatter_amax_kernels.set_cpu(dtype_of<T>, &scatter_kernel<Larger<T>>), ...);
  (scatter_amin_kernels.set_cpu(dtype_of<T>, &scatter_kernel<Smaller<T>>), ...);
}

}  // namespace

void fill_scatter_reduce() {
  set_products<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double,
               std::complex<float>, std::complex<double>>();
  set_extrema<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>();
}

}  // namespace ebb::kernels::cpu
