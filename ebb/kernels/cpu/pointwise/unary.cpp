// ebb/kernels/cpu/pointwise/unary.cpp -- functions of a few instructions, and exp, log and tanh,
// for floating types. // Integers, bool and complex are in plain.cpp.
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/tables/abs.h"
#include "ebb/kernels/tables/ceil.h"
#include "ebb/kernels/tables/exp.h"
#include "ebb/kernels/tables/floor.h"
#include "ebb/kernels/tables/log.h"
#include "ebb/kernels/tables/neg.h"
#include "ebb/kernels/tables/reciprocal.h"
#include "ebb/kernels/tables/relu.h"
#include "ebb/kernels/tables/round.h"
#include "ebb/kernels/tables/rsqrt.h"
#include "ebb/kernels/tables/sign.h"
#include "ebb/kernels/tables/sqrt.h"
#include "ebb/kernels/tables/square.h"
#include "ebb/kernels/tables/tanh.h"
#include "ebb/kernels/tables/trunc.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

struct Neg {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Neg(x);
  }
};
struct Sqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};
struct Abs {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Abs(x);
  }
};
/// NaN gives 0, as both comparisons are false.
struct Sign {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V above = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, -1), above);
  }
};
struct Square {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Mul(x, x);
  }
};
struct Reciprocal {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, 1), x);
  }
};
struct Rsqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V one = hn::Set(d, T{1});
    const V root = hn::Sqrt(x);
    const V result = hn::Div(one, root);
#if HWY_NATIVE_FMA
    if constexpr (std::is_same_v<T, double>) {  // what root and quotient round away
      const V of_root = hn::Mul(hn::NegMulAdd(root, root, x), hn::Set(d, T{0.5}));
      const V of_quotient = hn::NegMulAdd(root, result, one);
      const V rest = hn::NegMulAdd(result, hn::Mul(result, of_root), of_quotient);
      const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
      const auto is_regular = hn::And(hn::Gt(result, hn::Zero(d)), hn::Lt(result, infinity));
      return hn::IfThenElse(is_regular, hn::MulAdd(result, rest, result), result);
    }
#endif
    return result;
  }
};
struct Floor {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Floor(x);
  }
};
struct Ceil {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Ceil(x);
  }
};
struct Round {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Round(x);
  }
};
struct Trunc {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Trunc(x);
  }
};
struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp_of(d, x);
  }
};
struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log_of(d, x);
  }
};
struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return tanh_of(d, x);
  }
};
/// max(x, 0); NaN stays NaN because it compares false.
struct Relu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
  }
};

/// Relu of a half type by its bits, none of which changes. As signed integers, what is not above
/// `least` is 0, a negative number or minus infinity; what is above it is positive or NaN.
template <int16_t least>
void relu_bits(const void* const* in, void* out, int64_t count, unsigned) {
  const hn::ScalableTag<int16_t> d;
  const auto* from = static_cast<const int16_t*>(in[0]);
  auto* to = static_cast<int16_t*>(out);
  const size_t lanes = hn::Lanes(d), size = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto bits = hn::LoadU(d, from + i);
    hn::StoreU(hn::IfThenElseZero(hn::Gt(bits, hn::Set(d, least)), bits), d, to + i);
  }
  for (; i < size; ++i) to[i] = from[i] > least ? from[i] : int16_t{0};
}

}  // namespace

void fill_unary() {
  fill<Neg>(neg_kernels);
  fill<Exp>(exp_kernels);
  fill<Sqrt>(sqrt_kernels);
  fill<Log>(log_kernels);
  fill<Tanh>(tanh_kernels);
  fill<Relu>(relu_kernels);
  set_rows<&relu_bits<0x7c00 - 0x8000>>(relu_kernels, DType::float16);
  set_rows<&relu_bits<0x7f80 - 0x8000>>(relu_kernels, DType::bfloat16);
  fill<Abs>(abs_kernels);
  fill<Sign>(sign_kernels);
  fill<Square>(square_kernels);
  fill<Reciprocal>(reciprocal_kernels);
  fill<Rsqrt>(rsqrt_kernels);
  fill<Floor>(floor_kernels);
  fill<Ceil>(ceil_kernels);
  fill<Round>(round_kernels);
  fill<Trunc>(trunc_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
