// ebb/kernels/cpu/pointwise/activation.cpp -- activation functions and their fused gradients for
// floating types. relu and tanh are in unary.cpp.
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/cpu/simd/special-inl.h"
#include "ebb/kernels/tables/elu.h"
#include "ebb/kernels/tables/elu_backward.h"
#include "ebb/kernels/tables/gelu_erf.h"
#include "ebb/kernels/tables/gelu_erf_backward.h"
#include "ebb/kernels/tables/gelu_tanh.h"
#include "ebb/kernels/tables/gelu_tanh_backward.h"
#include "ebb/kernels/tables/glu_gate_backward.h"
#include "ebb/kernels/tables/glu_halves.h"
#include "ebb/kernels/tables/glu_input_backward.h"
#include "ebb/kernels/tables/hardswish.h"
#include "ebb/kernels/tables/hardswish_backward.h"
#include "ebb/kernels/tables/leaky_relu.h"
#include "ebb/kernels/tables/leaky_relu_backward.h"
#include "ebb/kernels/tables/logsigmoid.h"
#include "ebb/kernels/tables/mish.h"
#include "ebb/kernels/tables/mish_backward.h"
#include "ebb/kernels/tables/sigmoid.h"
#include "ebb/kernels/tables/sigmoid_backward.h"
#include "ebb/kernels/tables/silu.h"
#include "ebb/kernels/tables/silu_backward.h"
#include "ebb/kernels/tables/softplus.h"
#include "ebb/kernels/tables/softsign.h"
#include "ebb/kernels/tables/softsign_backward.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return sigmoid_of(d, x);
  }
};
/// grad * out * (1 - out).
struct SigmoidBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V out) const {
    return masked_product(d, grad, hn::Mul(out, hn::Sub(hn::Set(d, 1), out)));
  }
};
struct LogSigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Neg(softplus_of(d, hn::Neg(x)));
  }
};
/// x, at most 1000 from 0, where all gates are 0 or 1: their products with x do not meet an
/// infinity. NaN stays. (Not by CopySign: of bfloat16 widened, Clang 14 loses its magnitude with
/// AVX-512.)
template <class D, class V>
HWY_INLINE V within_gates(D d, V x) {
  const V far = hn::Set(d, hn::TFromD<D>{1000});
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(hn::Max(x, hn::Neg(far)), far));
}

/// A slope near its zero at `high` + `low`, as a polynomial in the distance from there.
template <typename T>
struct SlopeNearZero {
  T high, low;
  T factors[6];

  /// `slope`, but where x is close to the zero, and the terms of `slope` cancel, the polynomial.
  /// float64 has digits to spare, of which the polynomial has fewer.
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V slope) const {
    if constexpr (sizeof(T) == 8) return slope;
    const V distance = hn::Sub(hn::Sub(x, hn::Set(d, high)), hn::Set(d, low));
    V sum = hn::Set(d, factors[5]);
    for (int i = 4; i >= 0; --i) sum = hn::MulAdd(sum, distance, hn::Set(d, factors[i]));
    const auto is_near = hn::Le(hn::Abs(distance), hn::Set(d, T(0.0625)));
    return hn::IfThenElse(is_near, hn::Mul(sum, distance), slope);
  }
};

struct Silu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, sigmoid_of(d, x));
  }
};
/// s + x s (1 - s), s being sigmoid(x).
struct SiluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V given) const {
    const V x = within_gates(d, given);
    const V s = sigmoid_of(d, x);
    const V slope = hn::MulAdd(hn::Mul(x, s), hn::Sub(hn::Set(d, 1), s), s);
    using T = hn::TFromD<D>;
    constexpr SlopeNearZero<T> near_zero{
        T(-1.2784645557403564453),
        T(1.29792826502e-8),
        {T(0.217811705719800099), T(0.1466487969969469), T(0.0188748142237823134),
         T(-0.0152226552231880317), T(-0.00660658913835669644), T(0.000126627410081121997)}};
    return masked_product(d, grad, near_zero(d, x, slope));
  }
};
struct GeluErf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    V distribution, density;
    normal_of(d, x, distribution, density);
    return hn::Mul(x, distribution);
  }
};
/// Phi(x) + x phi(x).
struct GeluErfBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V given) const {
    const V x = within_gates(d, given);
    using T = hn::TFromD<D>;
    V distribution, density;
    normal_of(d, x, distribution, density);
    const V scaled = hn::Mul(density, hn::Set(d, T(0.39894228040143267794)));
    constexpr SlopeNearZero<T> near_zero{
        T(-0.75179153680801391602),
        T(1.21144494586e-8),
        {T(0.43149399231404692), T(0.388284982990551998), T(-0.0181996763986710871),
         T(-0.114008233297221709), T(-0.0147715221482443377), T(0.0194216798381890659)}};
    const V slope = hn::MulAdd(x, scaled, distribution);
    return masked_product(d, grad, near_zero(d, x, slope));
  }
};

/// sigmoid(2 k (x + 0.044715 x^3)), which is (1 + tanh(k (x + 0.044715 x^3))) / 2 without loss
/// where that is close to 0; k is sqrt(2 / pi).
template <class D, class V>
HWY_INLINE V gelu_gate(D d, V x) {
  using T = hn::TFromD<D>;
  const V square = hn::Mul(x, x);
  const V inner = hn::MulAdd(square, hn::Set(d, T(2 * 0.7978845608028654 * 0.044715)),
                             hn::Set(d, T(2 * 0.7978845608028654)));
  return sigmoid_of(d, hn::Mul(inner, x));
}
struct GeluTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, gelu_gate(d, x));
  }
};
/// g + x g (1 - g) (2 k + 6 k 0.044715 x^2), g being the gate.
struct GeluTanhBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V given) const {
    const V x = within_gates(d, given);
    using T = hn::TFromD<D>;
    const V gate = gelu_gate(d, x);
    const V steep = hn::MulAdd(hn::Mul(x, x), hn::Set(d, T(6 * 0.7978845608028654 * 0.044715)),
                               hn::Set(d, T(2 * 0.7978845608028654)));
    const V change = hn::Mul(gate, hn::Sub(hn::Set(d, T{1}), gate));
    constexpr SlopeNearZero<T> near_zero{
        T(-0.75246143341064453125),
        T(1.13396282728e-8),
        {T(0.430400091024858509), T(0.387518446135788926), T(-0.0157828535218480283),
         T(-0.113944483080958987), T(-0.0166193283430525627), T(0.0196823094598331175)}};
    const V slope = hn::MulAdd(hn::Mul(x, change), steep, gate);
    return masked_product(d, grad, near_zero(d, x, slope));
  }
};

/// tanh(softplus(x)) is n / (n + 2), with e = exp(x) and n = e (e + 2). Beyond 20 it is 1.
template <class D, class V>
HWY_INLINE V exp_for_mish(D d, V x) {
  const V far = hn::Set(d, hn::TFromD<D>{20});
  return exp_of(d, hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, far)));
}
struct Mish {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V two = hn::Set(d, 2), e = exp_for_mish(d, x);
    const V n = hn::Mul(e, hn::Add(e, two));
    return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
  }
};
/// e ((e + 2) (n + 2) + 4 x (e + 1)) / (n + 2)^2.
struct MishBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V given) const {
    const V x = within_gates(d, given);
    using T = hn::TFromD<D>;
    const V one = hn::Set(d, 1), two = hn::Set(d, 2), e = exp_for_mish(d, x);
    const V below = hn::MulAdd(e, hn::Add(e, two), two);
    const V bend = hn::Mul(hn::Mul(hn::Set(d, 4), x), hn::Add(e, one));
    const V sum = hn::MulAdd(hn::Add(e, two), below, bend);
    constexpr SlopeNearZero<T> near_zero{
        T(-1.1924312114715576172),
        T(-3.04393759495e-9),
        {T(0.266947914051572507), T(0.204731264086556681), T(0.041907811654177735),
         T(-0.0202718359284222406), T(-0.0158147189682697239), T(-0.00335392003563084091)}};
    const V slope = hn::Mul(hn::Div(e, below), hn::Div(sum, below));
    return masked_product(d, grad, near_zero(d, x, slope));
  }
};
/// x clamp(x + 3, 0, 6) / 6.
struct HardSwish {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V six = hn::Set(d, 6), raised = hn::Add(x, hn::Set(d, 3));
    const V held = hn::Min(hn::Max(raised, hn::Zero(d)), six);
    return hn::Mul(x, hn::Div(hn::IfThenElse(hn::IsNaN(x), x, held), six));
  }
};
/// 0 up to -3, 1 from 3 on.
struct HardSwishBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V x) const {
    const V three = hn::Set(d, 3), between = hn::Add(x, hn::Set(d, hn::TFromD<D>(1.5)));
    const V above = hn::IfThenElse(hn::Ge(x, three), hn::Set(d, 1), hn::Div(between, three));
    return masked_product(d, grad, hn::IfThenZeroElse(hn::Le(x, hn::Neg(three)), above));
  }
};

struct Softsign {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(x, hn::Add(hn::Abs(x), hn::Set(d, 1)));
  }
};
struct SoftsignBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V x) const {
    const V one = hn::Set(d, 1), share = hn::Div(one, hn::Add(hn::Abs(x), one));
    return masked_product(d, grad, hn::Mul(share, share));
  }
};
struct GluHalves {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V gate) const {
    return hn::Mul(x, sigmoid_of(d, gate));
  }
};
struct GluInputBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V gate) const {
    return masked_product(d, grad, sigmoid_of(d, gate));
  }
};
/// x s (1 - s), s being sigmoid(gate): with e = exp(-|gate|) s (1 - s) is e / (1 + e)^2. It is 0
/// where a factor is, whatever the others are.
struct GluGateBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V x, V gate) const {
    const V e = exp_of(d, hn::Neg(hn::Abs(gate))), sum = hn::Add(e, hn::Set(d, 1));
    const V slope = hn::Div(hn::Div(e, sum), sum);
    const V product = masked_product(d, x, slope);
    return masked_product(d, grad, hn::IfThenElse(hn::Eq(slope, hn::Zero(d)), slope, product));
  }
};

struct LeakyRelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V slope) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, slope));
  }
};
struct LeakyReluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V x, V slope) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), grad, hn::Mul(grad, slope));
  }
};
struct Elu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V alpha) const {
    const V below = hn::Mul(alpha, expm1_of(d, x));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
  }
};
struct EluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V x, V alpha) const {
    const V below = masked_product(d, hn::Mul(grad, alpha), exp_of(d, x));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), grad, below);
  }
};
struct Softplus {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V beta, V threshold) const {
    const V scaled = hn::Mul(x, beta);
    const V soft = hn::Div(softplus_of(d, scaled), beta);
    return hn::IfThenElse(hn::Gt(scaled, threshold), x, soft);
  }
};

/// Op as one of three operands, the last of which is not read.
template <class Op>
struct OfTwo {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V lhs, V rhs, V) const {
    return Op{}(d, lhs, rhs);
  }
};
template <class Op, typename T>
void compact_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const void* const all[] = {in[0], in[1], in[1]};
  ternary_function<OfTwo<Op>, T>(all, out, count, splat | (splat & 2u) << 1);
}
/// fill() for what is long beside its loads: of half types, whose conversions are long too, one
/// loop serves all, whichever operand is repeated, at a third of the code.
template <class Op>
void fill_compact(KernelTable<BinaryKernel>& table) {
  set_rows<&compact_function<Op, Half>>(table, DType::float16);
  set_rows<&compact_function<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&binary_function<Op, float>>(table, DType::float32);
  set_rows<&binary_function<Op, double>>(table, DType::float64);
}

}  // namespace

void fill_activation() {
  fill<Sigmoid>(sigmoid_kernels);
  fill_compact<SigmoidBackward>(sigmoid_backward_kernels);
  fill<LogSigmoid>(logsigmoid_kernels);
  fill<Silu>(silu_kernels);
  fill_compact<SiluBackward>(silu_backward_kernels);
  fill<GeluErf>(gelu_erf_kernels);
  fill_compact<GeluErfBackward>(gelu_erf_backward_kernels);
  fill<GeluTanh>(gelu_tanh_kernels);
  fill_compact<GeluTanhBackward>(gelu_tanh_backward_kernels);
  fill<Mish>(mish_kernels);
  fill_compact<MishBackward>(mish_backward_kernels);
  fill<HardSwish>(hardswish_kernels);
  fill_compact<HardSwishBackward>(hardswish_backward_kernels);
  fill<Softsign>(softsign_kernels);
  fill_compact<SoftsignBackward>(softsign_backward_kernels);
  fill_compact<GluHalves>(glu_halves_kernels);
  fill_compact<GluInputBackward>(glu_input_backward_kernels);
  fill<GluGateBackward>(glu_gate_backward_kernels);
  fill<LeakyRelu>(leaky_relu_kernels);
  fill<LeakyReluBackward>(leaky_relu_backward_kernels);
  fill<Elu>(elu_kernels);
  fill<EluBackward>(elu_backward_kernels);
  fill<Softplus>(softplus_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
