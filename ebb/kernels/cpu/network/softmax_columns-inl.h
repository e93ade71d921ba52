// ebb/kernels/cpu/network/softmax_columns-inl.h -- softmax along a dim whose lines lie side by
// side.
//
// Dense memory is seen as [outer, count, inner] and the softmax goes along `count`. A task is a
// block of up to kColumns columns: its rows are read with vectors, once for the largest elements,
// once for the sums and once for the results. Sums are formed over kRowsPerLeaf rows first, then
// over those. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_SOFTMAX_COLUMNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_SOFTMAX_COLUMNS_INL_H
#undef EBB_KERNELS_CPU_SOFTMAX_COLUMNS_INL_H
#else
#define EBB_KERNELS_CPU_SOFTMAX_COLUMNS_INL_H
#endif

#include <algorithm>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/reduce/reduce-inl.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

struct Product {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Mul(lhs, rhs);
  }
};
struct Difference {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Sub(lhs, rhs);
  }
};
struct ExpOfDifference {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V shift) const {
    return exp_of(d, hn::Sub(x, shift));
  }
};
struct Logarithm {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log_of(d, x);
  }
};
struct Inverse {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), x);
  }
};
struct Exponential {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp_of(d, x);
  }
};

/// [outer, count, inner].
struct ColumnShape {
  int64_t outer = 1, count, inner = 1;

  ColumnShape(const TensorView& view, int dim) : count(view.sizes[dim]) {
    for (int i = 0; i < dim; ++i) outer *= view.sizes[i];
    for (int i = dim + 1; i < view.ndim; ++i) inner *= view.sizes[i];
  }
};

/// Whether lines along `dim` lie side by side in dense memory.
inline bool has_columns(const TensorView& view, int dim) {
  return view.contiguous && view.ndim > 1 && view.sizes[dim] > 1 &&
         ColumnShape(view, dim).inner > 1;
}

/// Calls body(offset of the first element, width) for all blocks of columns.
template <class Body>
void for_each_block(const ColumnShape& shape, Body body) {
  const int64_t blocks = (shape.inner + kColumns - 1) / kColumns;
  const int64_t work = shape.count * std::min(shape.inner, kColumns);
  const int64_t grain = std::max<int64_t>(1, kGrain / work);
  parallel_for(shape.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % blocks * kColumns;
      const int64_t first = task / blocks * shape.count * shape.inner + column;
      body(first, static_cast<size_t>(std::min(kColumns, shape.inner - column)));
    }
  });
}

/// sums[j] = sum of row(i)[j], where `row` is given scratch memory for one row.
template <typename T, class Row>
void sum_of_rows(int64_t count, size_t width, T* sums, Row row) {
  HWY_ALIGN T leaf[kColumns];
  HWY_ALIGN T tile[kColumns];
  std::fill_n(sums, width, T{0});
  for (int64_t i = 0; i < count;) {
    const int64_t stop = std::min(count, i + kRowsPerLeaf);
    std::fill_n(leaf, width, T{0});
    for (; i < stop; ++i) add_elements(SumOp{}, leaf, row(i, tile), width);
    add_row(SumOp{}, sums, static_cast<const T*>(leaf), width);
  }
}

/// powers[j] = exp(row[j] - shift[j]).
template <typename T, typename Acc>
HWY_NOINLINE void power_row(const T* row, const Acc* shift, Acc* powers, size_t width) {
  binary_row(ExpOfDifference{}, row, shift, powers, width, 0);
}

template <bool is_log, typename T>
void softmax_columns(const ColumnShape& shape, const T* in, T* out) {
  using Acc = AccumulatorOf<T>;
  // Powers wait in the result where they keep their digits there, else they are formed again.
  constexpr bool kKeepsPowers = !is_log && !is_half_type<T>;
  for_each_block(shape, [&](int64_t first, size_t width) HWY_ATTR {
    HWY_ALIGN Acc largest[kColumns];
    HWY_ALIGN Acc sums[kColumns];
    HWY_ALIGN Acc tile[kColumns];
    const Acc* const shift = largest;
    const Acc* const all = sums;
    const int64_t step = shape.inner;
    start_elements(MaxOp{}, largest, in + first, width);
    for (int64_t i = 1; i < shape.count; ++i) {
      add_elements(MaxOp{}, largest, in + first + i * step, width);
    }
    sum_of_rows(shape.count, width, sums, [&](int64_t i, Acc* scratch) HWY_ATTR {
      const int64_t at = first + i * step;
      if constexpr (kKeepsPowers) scratch = out + at;
      power_row(in + at, shift, scratch, width);
      return static_cast<const Acc*>(scratch);
    });
    if (is_log) {
      unary_row(Logarithm{}, all, sums, width);
    } else {
      unary_row(Inverse{}, all, sums, width);
    }
    for (int64_t i = 0; i < shape.count; ++i) {
      const int64_t at = first + i * step;
      const Acc* const part = tile;
      if constexpr (is_log) {
        binary_row(Difference{}, in + at, shift, tile, width, 0);
        binary_row(Difference{}, part, all, out + at, width, 0);
      } else if constexpr (kKeepsPowers) {
        binary_row(Product{}, static_cast<const T*>(out + at), all, out + at, width, 0);
      } else {
        power_row(in + at, shift, tile, width);
        binary_row(Product{}, part, all, out + at, width, 0);
      }
    }
  });
}

template <bool is_log, typename T>
void softmax_columns_backward(const ColumnShape& shape, const T* grad_out, const T* out,
                              T* grad_input) {
  using Acc = AccumulatorOf<T>;
  for_each_block(shape, [&](int64_t first, size_t width) HWY_ATTR {
    HWY_ALIGN Acc sums[kColumns];
    HWY_ALIGN Acc tile[kColumns];
    const int64_t step = shape.inner;
    sum_of_rows(shape.count, width, sums, [&](int64_t i, Acc* products) HWY_ATTR {
      const T* const grad = grad_out + first + i * step;
      if constexpr (is_log) {
        return grad;
      } else {
        binary_row(Product{}, grad, out + first + i * step, products, width, 0);
        return static_cast<const Acc*>(products);
      }
    });
    const Acc* const all = sums;
    for (int64_t i = 0; i < shape.count; ++i) {
      const int64_t at = first + i * step;
      const Acc* const part = tile;
      if (is_log) {
        unary_row(Exponential{}, out + at, tile, width);
        binary_row(Product{}, part, all, tile, width, 0);
        binary_row(Difference{}, grad_out + at, part, grad_input + at, width, 0);
      } else {
        binary_row(Difference{}, grad_out + at, all, tile, width, 0);
        binary_row(Product{}, part, out + at, grad_input + at, width, 0);
      }
    }
  });
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
