// ebb/kernels/cpu/index/index_add.cpp -- kernels that write where an index points: scatter_add,
// scatter, index_add and index_copy. The loops are in scatter.h and index_rows.h.
#include "ebb/kernels/tables/index_add.h"

#include <complex>
#include <utility>

#include "ebb/kernels/cpu/index/index_rows.h"
#include "ebb/kernels/cpu/index/scatter.h"
#include "ebb/kernels/tables/index_copy.h"
#include "ebb/kernels/tables/scatter.h"
#include "ebb/kernels/tables/scatter_add.h"

namespace ebb::kernels::cpu {

IndexOrder::IndexOrder(const int64_t* index, int64_t stride, int64_t count, int64_t positions,
                       FirstWrong* wrong)
    : targets(static_cast<size_t>(count)), sources(static_cast<size_t>(count)) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t target = read_once(index + i * stride);
    if (!is_index(target, positions)) {
      wrong->note(target);
      return;
    }
    targets[static_cast<size_t>(i)] = target;
  }
  const auto target_of = [&](int64_t source) { return targets[static_cast<size_t>(source)]; };
  if (positions <= 4 * count + 4096) {
    // By counting: where the sources of each position begin, then each source to its place.
    CountedVector<int64_t> next(static_cast<size_t>(positions) + 1, 0);
    for (int64_t i = 0; i < count; ++i) ++next[static_cast<size_t>(target_of(i)) + 1];
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    for (int64_t i = 0; i < count; ++i) {
      sources[static_cast<size_t>(next[static_cast<size_t>(target_of(i))]++)] = i;
    }
  } else {
    for (int64_t i = 0; i < count; ++i) sources[static_cast<size_t>(i)] = i;
    std::sort(sources.begin(), sources.end(), [&](int64_t lhs, int64_t rhs) {
      return std::pair(target_of(lhs), lhs) < std::pair(target_of(rhs), rhs);
    });
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool begins = i == 0 || target_of(sources[at]) != target_of(sources[at - 1]);
    if (begins) runs.push_back(i);
  }
  runs.push_back(count);
}

namespace {

template <typename T>
void scatter_add_kernel(const Context&, const TensorView& index, const TensorView& src, int dim,
                        const TensorView& out) {
  scatter_with(index, src, dim, out, Add<T>());
}

template <typename Word>
void scatter_kernel(const Context&, const TensorView& index, const TensorView& src, int dim,
                    const TensorView& out) {
  scatter_with(index, src, dim, out, Assign<Word>());
}

template <class Combine>
void index_with(const TensorView& index, const TensorView& src, int dim, const TensorView& out,
                Combine combine) {
  if (src.numel == 0) return;
  FirstWrong wrong;
  int64_t strides[kMaxDims] = {};  // the index repeated over all other dims
  if (src.ndim > 0) strides[dim] = index.ndim == 0 ? 0 : index.strides[0];
  const Scatter<Combine> loop(index, strides, src, dim, out, combine, &wrong);
  const int last = src.ndim - 1;
  const int64_t positions = out.ndim == 0 ? 1 : out.sizes[dim];
  const bool has_rows = src.ndim >= 2 && src.ndim <= 3 && dim == src.ndim - 2 &&
                        loop.src_strides[last] == 1 && loop.out_strides[last] == 1;
  if (has_rows) {
    RowsByTarget<Combine>(loop, dim).run(positions);
  } else {
    run_scatter(loop, dim, src.numel, positions);
  }
  wrong.throw_if_found();
}

template <typename T>
T number_as(const Scalar& value) {
  if (value.kind() <= Kind::integer) return convert<T>(value.to_int());
  if (value.kind() == Kind::floating) return convert<T>(value.to_double());
  return convert<T>(value.to_complex());
}

template <typename T>
void index_add_kernel(const Context&, const TensorView& index, const TensorView& src, int dim,
                      const Scalar& alpha, const TensorView& out) {
  const bool has_factor = !(alpha == Scalar(1)) && !(alpha == Scalar(1.0));
  index_with(index, src, dim, out, Add<T>{number_as<typename Add<T>::Factor>(alpha), has_factor});
}

template <typename Word>
void index_copy_kernel(const Context&, const TensorView& index, const TensorView& src, int dim,
                       const TensorView& out) {
  index_with(index, src, dim, out, Assign<Word>());
}

template <typename... T>
void set() {
  (scatter_add_kernels.set_cpu(dtype_of<T>, &scatter_add_kernel<T>), ...);
  (index_add_kernels.set_cpu(dtype_of<T>, &index_add_kernel<T>), ...);
}

}  // namespace

void fill_index_add() {
  set<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double,
      std::complex<float>, std::complex<double>>();
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    visit_word(static_cast<int64_t>(item_size(dtype)), [&]<typename Word>(Word*) {
      scatter_kernels.set_cpu(dtype, &scatter_kernel<Word>);
      index_copy_kernels.set_cpu(dtype, &index_copy_kernel<Word>);
    });
  }
}

}  // namespace ebb::kernels::cpu
