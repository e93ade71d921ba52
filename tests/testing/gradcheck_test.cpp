// tests/testing/gradcheck_test.cpp -- right gradients pass, wrong ones are found and located.
#include "ebb/testing/gradcheck.h"

#include <gtest/gtest.h>

#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/masked_select.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/autograd/ops/transpose.h"

namespace ebb {
namespace {

using testing::gradcheck;
using testing::GradcheckOptions;
using testing::gradgradcheck;
using testing::TensorFunction;

Tensor ramp(IntSpan sizes, DType dtype = DType::float64) {
  const Tensor flat = add(mul(arange(checked_numel("ramp", sizes, 8)), 0.3), 0.5);
  return requires_grad_(cast(reshape(flat, sizes), dtype));
}

/// The text of the error that `call` throws; empty if it throws none.
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nshould contain " << part;
}

std::vector<Tensor> product(std::span<const Tensor> inputs) { return {mul(inputs[0], inputs[1])}; }

/// Its gradient misses the second factor.
std::vector<Tensor> half_a_square(std::span<const Tensor> inputs) {
  return {mul(inputs[0], detach(inputs[0]))};
}

TEST(Gradcheck, AcceptsARightGradient) {
  const Tensor inputs[] = {ramp({2, 3}), ramp({3})};
  EXPECT_NO_THROW(gradcheck(product, inputs));
  EXPECT_NO_THROW(gradcheck(product, inputs, {.fast_mode = true}));
  EXPECT_NO_THROW(gradgradcheck(product, inputs));
  EXPECT_NO_THROW(gradgradcheck(product, inputs, {}, {.fast_mode = true}));
}

TEST(Gradcheck, AcceptsAComplexGradient) {
  const Tensor phases = ramp({2, 2}, DType::complex128);
  const Tensor inputs[] = {phases, requires_grad_(mul(detach(phases), std::complex<double>(0, 2)))};
  EXPECT_NO_THROW(gradcheck(product, inputs));
  EXPECT_NO_THROW(gradgradcheck(product, inputs));
  const TensorFunction conjugate = [](std::span<const Tensor> in) {
    return std::vector<Tensor>{mul(conj(in[0]), in[1])};
  };
  EXPECT_NO_THROW(gradcheck(conjugate, inputs));
}

TEST(Gradcheck, FindsAWrongGradientAndSaysWhere) {
  const Tensor inputs[] = {ramp({2})};
  expect_contains(error_of([&] { gradcheck(half_a_square, inputs); }),
                  "gradcheck: gradient of output 0 with respect to input 0 must match finite "
                  "differences, got analytical 0.5 and numerical 1");
  expect_contains(error_of([&] { gradcheck(half_a_square, inputs); }),
                  "at [0] of the input and [0] of the output");
  expect_contains(error_of([&] { gradcheck(half_a_square, inputs, {.fast_mode = true}); }),
                  "along a random direction");
}

TEST(Gradcheck, SaysWhichElementIsWorst) {
  const Tensor inputs[] = {ramp({2})};
  expect_contains(error_of([&] { gradcheck(half_a_square, inputs); }),
                  "worst: analytical 0.800000012 and numerical 1.60000002 at [1] of the input and "
                  "[1] of the output\nwrong: 2 of 4 elements\n"
                  "rows: output, columns: input, #: wrong\n  #.\n  .#");
}

TEST(Gradcheck, ChecksTangentsIfAsked) {
  const Tensor inputs[] = {ramp({2, 3}), ramp({3})};
  for (const bool fast : {false, true}) {
    const GradcheckOptions options{.fast_mode = fast, .check_forward_ad = true};
    EXPECT_NO_THROW(gradcheck(product, inputs, options));
    EXPECT_NO_THROW(gradgradcheck(product, inputs, {}, options));
  }
  const TensorFunction drops_a_tangent = [](std::span<const Tensor> in) {
    // Right for backward, which does not see that the value was taken from a twin.
    return std::vector<Tensor>{autograd::is_dual(in[0]) ? mul(in[0], detach(in[0]))
                                                        : mul(in[0], in[0])};
  };
  for (const bool fast : {false, true}) {
    const GradcheckOptions options{.fast_mode = fast, .check_forward_ad = true};
    expect_contains(error_of([&] { gradcheck(drops_a_tangent, std::span(inputs, 1), options); }),
                    "gradcheck: tangent of output 0 with respect to input 0 must match");
  }
}

TEST(Gradcheck, ChecksBatchesAndEveryMixtureOfModes) {
  const Tensor inputs[] = {ramp({2}), ramp({2})};
  EXPECT_NO_THROW(gradcheck(
      product, inputs,
      {.check_forward_ad = true, .check_batched_grad = true, .check_batched_forward_grad = true}));
  EXPECT_NO_THROW(gradgradcheck(
      product, inputs, {},
      {.check_forward_ad = true, .check_rev_over_fwd = true, .gen_non_contig_grad_outputs = true}));
  EXPECT_EQ(error_of([&] { gradcheck(product, inputs, {.check_backward_ad = false}); }),
            "gradcheck: needs check_backward_ad or check_forward_ad, got neither of them");
}

TEST(Gradcheck, RefusesInputsThatShareMemory) {
  const Tensor base = detach(ramp({6}));
  const Tensor inputs[] = {requires_grad_(narrow(base, 0, 0, 4)),
                           requires_grad_(narrow(base, 0, 2, 4))};
  expect_contains(error_of([&] { gradcheck(product, inputs); }),
                  "share no memory, got elements in common at positions 0 and 1");
  const Tensor twice[] = {inputs[0], inputs[0]};
  EXPECT_NO_THROW(gradcheck(product, twice, {.check_forward_ad = true}));
}

TEST(Gradcheck, FindsAWrongSecondDerivative) {
  const TensorFunction function = [](std::span<const Tensor> in) {
    // x * x, whose first derivative is right but looks constant.
    const Tensor fixed = detach(in[0]);
    return std::vector<Tensor>{add(mul(fixed, fixed), mul(sub(in[0], fixed), mul(fixed, 2)))};
  };
  const Tensor inputs[] = {ramp({2})};
  EXPECT_NO_THROW(gradcheck(function, inputs));
  expect_contains(error_of([&] { gradgradcheck(function, inputs); }), "gradgradcheck: ");
}

TEST(Gradcheck, ChecksEveryOutput) {
  const TensorFunction function = [](std::span<const Tensor> in) {
    return std::vector<Tensor>{neg(in[0]), greater(in[0], 0), half_a_square(in)[0]};
  };
  const Tensor inputs[] = {ramp({2})};
  expect_contains(error_of([&] { gradcheck(function, inputs); }), "output 2");
}

TEST(Gradcheck, PerturbsStridedInputsInPlaceAndRestoresThem) {
  const Tensor base = ramp({3, 2});
  const double before = base.data<double>()[1];
  const Tensor inputs[] = {transpose(base, 0, 1)};
  const TensorFunction function = [](std::span<const Tensor> in) {
    return std::vector<Tensor>{sum(tanh(in[0]))};
  };
  EXPECT_NO_THROW(gradcheck(function, inputs));
  EXPECT_EQ(base.data<double>()[1], before);
}

TEST(Gradcheck, RefusesAShapeThatDependsOnValues) {
  const Tensor x = requires_grad_(full(Shape{2}, 0.5 + 1e-7, DType::float64));
  const auto above_half = [](std::span<const Tensor> inputs) -> std::vector<Tensor> {
    return {masked_select(inputs[0], greater(inputs[0], Scalar(0.5)))};
  };
  for (const bool is_fast : {false, true}) {
    expect_contains(error_of([&] {
                      gradcheck(above_half, {&x, 1}, {.fast_mode = is_fast});
                    }),
                    "the shape of output 0 must not depend on values, got [2] and, with input 0");
    EXPECT_EQ(x.data<double>()[0], 0.5 + 1e-7);
  }
}

TEST(Gradcheck, RefusesInputsThatItCannotCheck) {
  const Tensor single[] = {ramp({2}, DType::float32)};
  EXPECT_EQ(error_of([&] { gradcheck(half_a_square, single); }),
            "gradcheck: needs float64 or complex128 inputs, got float32 at position 0");
  const Tensor constant[] = {detach(ramp({2}))};
  EXPECT_EQ(error_of([&] { gradcheck(half_a_square, constant); }),
            "gradcheck: needs an input that requires a gradient, got none in 1");
  const Tensor stretched[] = {expand(ramp({1}), Shape{4})};
  expect_contains(error_of([&] { gradcheck(half_a_square, stretched); }),
                  "inputs without overlapping elements, got strides [0]");
}

}  // namespace
}  // namespace ebb
