// ebb/kernels/cpu/simd/rows-inl.h -- vectorised loops over contiguous memory, for every target.
//
// Included by files that Highway compiles once per target (see each_target.h), hence no #pragma
// once. An Op is a struct with `operator()(d, v...)`. The last vector of a loop overlaps the one
// before; it is computed first, because `out` may be an input. Fewer elements than a vector use
// masks. Half types are float32 between memory and memory (memory-inl.h).
#if defined(EBB_KERNELS_CPU_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_ROWS_INL_H
#undef EBB_KERNELS_CPU_ROWS_INL_H
#else
#define EBB_KERNELS_CPU_ROWS_INL_H
#endif

#include <algorithm>
#include <iterator>

#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/memory-inl.h"
#include "ebb/kernels/cpu/simd/strided.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Op, typename In, typename Out>
HWY_INLINE void unary_row(Op op, const In* in, Out* out, size_t count) {
  const hn::ScalableTag<LaneOf<Out>> d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    if (count != 0) store_first(op(d, load_first(d, in, count)), d, out, count);
    return;
  }
  const auto last = op(d, load_lanes(d, in + count - lanes));
  for (size_t i = 0; i + lanes < count; i += lanes) {
    store_lanes(op(d, load_lanes(d, in + i)), d, out + i);
  }
  store_lanes(last, d, out + count - lanes);
}

/// Reads a contiguous operand.
template <typename T>
struct Stream {
  const T* data;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, size_t i) const {
    return load_lanes(d, data + i);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> first(D d, size_t count) const {
    return load_first(d, data, count);
  }
};

/// Reads one number again and again: see NumberOf.
template <typename T>
struct Repeat {
  LaneOf<T> value;
  explicit Repeat(const void* number) : value(*static_cast<const LaneOf<T>*>(number)) {}
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, size_t) const {
    return hn::Set(d, value);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> first(D d, size_t) const {
    return hn::Set(d, value);
  }
};

template <class Op, class Lhs, class Rhs, typename T>
HWY_INLINE void binary_loop(Op op, Lhs lhs, Rhs rhs, T* out, size_t count) {
  const hn::ScalableTag<LaneOf<T>> d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    if (count != 0) store_first(op(d, lhs.first(d, count), rhs.first(d, count)), d, out, count);
    return;
  }
  const auto last = op(d, lhs.load(d, count - lanes), rhs.load(d, count - lanes));
  for (size_t i = 0; i + lanes < count; i += lanes) {
    store_lanes(op(d, lhs.load(d, i), rhs.load(d, i)), d, out + i);
  }
  store_lanes(last, d, out + count - lanes);
}

/// Operands may be of other types than `out`. What `splat` says is repeated is a NumberOf its type.
template <class Op, typename Lhs, typename Rhs, typename Out>
HWY_INLINE void binary_row(Op op, const Lhs* lhs, const Rhs* rhs, Out* out, size_t count,
                           unsigned splat) {
  if (splat == 0) return binary_loop(op, Stream<Lhs>{lhs}, Stream<Rhs>{rhs}, out, count);
  if (splat == 2) return binary_loop(op, Stream<Lhs>{lhs}, Repeat<Rhs>(rhs), out, count);
  binary_loop(op, Repeat<Lhs>(lhs), Stream<Rhs>{rhs}, out, count);
}

/// RowFunction of an op with one input, for float32, float64 and the half types.
template <class Op, typename T>
void unary_function(const void* const* in, void* out, int64_t count, unsigned) {
  unary_row(Op{}, static_cast<const T*>(in[0]), static_cast<T*>(out), static_cast<size_t>(count));
}

/// RowFunction of an op with two inputs.
template <class Op, typename T>
void binary_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  binary_row(Op{}, static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out),
             static_cast<size_t>(count), splat);
}

/// One of three operands: contiguous, or one number that is read again and again.
template <typename T>
struct Strip {
  LaneOf<T> repeated[HWY_MAX_BYTES / sizeof(LaneOf<T>)];
  const T* data;  // null: repeated

  HWY_INLINE void set(const void* from, bool repeats) {
    data = repeats ? nullptr : static_cast<const T*>(from);
    if (!repeats) return;
    const LaneOf<T> number = *static_cast<const LaneOf<T>*>(from);
    std::fill(std::begin(repeated), std::end(repeated), number);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, size_t i) const {
    return data == nullptr ? hn::LoadU(d, repeated) : load_lanes(d, data + i);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> first(D d, size_t count) const {
    return data == nullptr ? hn::LoadU(d, repeated) : load_first(d, data, count);
  }
};

template <class Op, typename T>
HWY_INLINE void ternary_row(Op op, const Strip<T>* in, T* out, size_t count) {
  const hn::ScalableTag<LaneOf<T>> d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    if (count == 0) return;
    const auto result = op(d, in[0].first(d, count), in[1].first(d, count), in[2].first(d, count));
    return store_first(result, d, out, count);
  }
  const size_t end = count - lanes;
  const auto last = op(d, in[0].load(d, end), in[1].load(d, end), in[2].load(d, end));
  for (size_t i = 0; i < end; i += lanes) {
    store_lanes(op(d, in[0].load(d, i), in[1].load(d, i), in[2].load(d, i)), d, out + i);
  }
  store_lanes(last, d, out + end);
}

/// RowFunction of an op with three inputs.
template <class Op, typename T>
void ternary_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  Strip<T> strips[3];
  for (int k = 0; k < 3; ++k) strips[k].set(in[k], (splat >> k & 1u) != 0);
  ternary_row(Op{}, strips, static_cast<T*>(out), static_cast<size_t>(count));
}

/// Enters Op for all floating dtypes.
template <class Op>
void fill(KernelTable<UnaryKernel>& table) {
  set_rows<&unary_function<Op, Half>>(table, DType::float16);
  set_rows<&unary_function<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&unary_function<Op, float>>(table, DType::float32);
  set_rows<&unary_function<Op, double>>(table, DType::float64);
}
template <class Op>
void fill(KernelTable<BinaryKernel>& table) {
  set_rows<&binary_function<Op, Half>>(table, DType::float16);
  set_rows<&binary_function<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&binary_function<Op, float>>(table, DType::float32);
  set_rows<&binary_function<Op, double>>(table, DType::float64);
}
template <class Op>
void fill(KernelTable<TernaryKernel>& table) {
  set_rows<&ternary_function<Op, Half>>(table, DType::float16);
  set_rows<&ternary_function<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&ternary_function<Op, float>>(table, DType::float32);
  set_rows<&ternary_function<Op, double>>(table, DType::float64);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
