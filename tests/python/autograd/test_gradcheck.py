# tests/python/autograd/test_gradcheck.py -- gradcheck accepts right gradients, and finds and
# locates wrong ones.
import numpy as np
import pytest

import ebb
from ebb.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def leaf(*shape, dtype=ebb.float64):
    count = int(np.prod(shape))
    values = np.linspace(0.5, 2.0, count).reshape(shape)
    if dtype == ebb.complex128:
        values = values * (1 - 0.5j)
    return ebb.tensor(values, dtype=dtype, requires_grad=True)


def product(x, y):
    return x * y


def half_a_square(x):
    """x * x, whose gradient misses one factor."""
    return x * x.detach()


def flat_slope(x):
    """x * x, whose first derivative is right but looks constant."""
    fixed = x.detach()
    return fixed * fixed + (x - fixed) * (fixed * 2.0)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("dtype", [ebb.float64, ebb.complex128], ids=str)
def test_right_gradients_pass(fast_mode, dtype):
    inputs = (leaf(2, 3, dtype=dtype), leaf(3, dtype=dtype))
    assert gradcheck(product, inputs, fast_mode=fast_mode)
    assert gradgradcheck(product, inputs, fast_mode=fast_mode)


def test_a_real_and_a_complex_input_pass_together():
    assert gradcheck(product, (leaf(3), leaf(3, dtype=ebb.complex128)))
    assert gradgradcheck(product, (leaf(3), leaf(3, dtype=ebb.complex128)))


def test_a_function_that_is_not_holomorphic_passes():
    assert gradcheck(lambda z: z.conj() * z * z, leaf(3, dtype=ebb.complex128))


def test_a_wrong_gradient_is_found_and_located():
    with pytest.raises(GradcheckError) as caught:
        gradcheck(half_a_square, leaf(2))
    assert str(caught.value) == (
        "gradcheck: gradient of output 0 with respect to input 0 must match finite differences, "
        "got analytical 0.5 and numerical 1 at [0] of the input and [0] of the output\n"
        "worst: analytical 2 and numerical 4 at [1] of the input and [1] of the output\n"
        "wrong: 2 of 4 elements\n"
        "rows: output, columns: input, #: wrong\n"
        "  #.\n"
        "  .#"
    )
    with pytest.raises(GradcheckError, match="along a random direction"):
        gradcheck(half_a_square, leaf(2), fast_mode=True)


def test_a_wrong_complex_gradient_names_the_part():
    with pytest.raises(GradcheckError, match=r"at \[0\] \(real part\) of the input"):
        gradcheck(half_a_square, leaf(2, dtype=ebb.complex128))


def test_raise_exception_false_returns_false():
    assert gradcheck(half_a_square, leaf(2), raise_exception=False) is False
    assert gradgradcheck(flat_slope, leaf(2), raise_exception=False) is False


def test_a_wrong_second_derivative_is_found():
    assert gradcheck(flat_slope, leaf(2))
    with pytest.raises(GradcheckError, match="gradgradcheck: "):
        gradgradcheck(flat_slope, leaf(2))


def test_every_output_is_checked_and_integers_are_passed_over():
    def three(x):
        return -x, x > 0, half_a_square(x)

    with pytest.raises(GradcheckError, match="output 1"):
        gradcheck(three, leaf(2))


def test_only_inputs_that_require_a_gradient_are_checked():
    assert gradcheck(half_a_square_of_second, (leaf(2), leaf(2).detach(), 2.0))


def half_a_square_of_second(x, constant, number):
    return x * constant * constant * number


def test_given_grad_outputs_and_strided_ones():
    inputs = (leaf(2, 3), leaf(3))
    assert gradgradcheck(product, inputs, ebb.ones([2, 3], dtype=ebb.float64))
    assert gradgradcheck(product, inputs, gen_non_contig_grad_outputs=True)


def test_strided_inputs_are_perturbed_in_place_and_restored():
    base = leaf(3, 2)
    before = base.tolist()
    assert gradcheck(lambda x: x.tanh().sum(), base.transpose(0, 1))
    assert base.tolist() == before


def test_a_function_that_changes_from_call_to_call_is_found():
    calls = iter(range(100))

    def unsteady(x):
        return x * ebb.tensor(float(next(calls)), dtype=ebb.float64)

    with pytest.raises(GradcheckError, match="repeatable"):
        gradcheck(unsteady, leaf(2))


def test_inputs_that_cannot_be_checked_are_refused():
    with pytest.raises(TypeError, match="needs float64 or complex128 inputs, got float32"):
        gradcheck(half_a_square, leaf(2, dtype=ebb.float32))
    with pytest.raises(ValueError, match="needs an input that requires a gradient, got none in 1"):
        gradcheck(half_a_square, leaf(2).detach())
    with pytest.raises(ValueError, match=r"got strides \[0\] at position 0"):
        gradcheck(half_a_square, leaf(1).expand([4]))


def test_gradients_of_zero_size_inputs_pass():
    assert gradcheck(product, (leaf(0, 3), leaf(3)))
    assert gradgradcheck(product, (leaf(0, 3), leaf(3)))


# Forward mode.


def test_tangents_are_checked_beside_gradients_or_alone():
    inputs = (leaf(2, 3), leaf(3))
    assert gradcheck(product, inputs, check_forward_ad=True)
    assert gradcheck(product, inputs, check_forward_ad=True, fast_mode=True)
    assert gradcheck(product, inputs, check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(ValueError, match="needs check_backward_ad or check_forward_ad, got"):
        gradcheck(product, inputs, check_backward_ad=False)


def test_a_wrong_tangent_is_found_and_located():
    def drops_a_tangent(x):
        return x * x.detach()

    with pytest.raises(GradcheckError) as caught:
        gradcheck(drops_a_tangent, leaf(2), check_forward_ad=True, check_backward_ad=False)
    assert str(caught.value).startswith(
        "gradcheck: tangent of output 0 with respect to input 0 must match finite differences, "
        "got analytical 0.5 and numerical 1 at [0] of the input and [0] of the output\n"
    )
    with pytest.raises(GradcheckError, match=r"tangent of output 0 .* along a random direction"):
        gradcheck(
            drops_a_tangent,
            leaf(2),
            check_forward_ad=True,
            check_backward_ad=False,
            fast_mode=True,
        )


def test_tangents_of_complex_functions_that_are_not_holomorphic():
    z = leaf(3, dtype=ebb.complex128)
    assert gradcheck(lambda z: z.conj() * z * z, z, check_forward_ad=True)
    assert gradcheck(lambda z: (z.conj(), z.exp()), z, check_forward_ad=True, fast_mode=True)
    assert gradcheck(lambda x, z: x * z, (leaf(3), z), check_forward_ad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_second_derivatives_in_every_mixture_of_modes(fast_mode):
    for inputs in ((leaf(2, 3), leaf(3)), (leaf(3), leaf(3, dtype=ebb.complex128))):
        assert gradgradcheck(
            product,
            inputs,
            check_fwd_over_rev=True,
            check_rev_over_fwd=True,
            fast_mode=fast_mode,
        )


def test_a_wrong_second_derivative_is_found_in_each_mixture():
    for mixture in ("check_fwd_over_rev", "check_rev_over_fwd"):
        options = {"check_rev_over_rev": False, mixture: True}
        assert gradgradcheck(product, (leaf(2), leaf(2)), **options)
        with pytest.raises(GradcheckError, match="gradgradcheck: "):
            gradgradcheck(flat_slope, leaf(2), **options)
    with pytest.raises(ValueError, match="needs check_rev_over_rev, check_fwd_over_rev or check_"):
        gradgradcheck(product, (leaf(2), leaf(2)), check_rev_over_rev=False)


# What it says and what it refuses.


def test_the_map_shows_which_elements_are_wrong():
    def wrong_in_the_middle(x):
        slope = ebb.tensor([0.0, 1.0, 0.0], dtype=ebb.float64)
        return x * x - (x * x).detach() * 0 + (x - x.detach()) * slope

    with pytest.raises(GradcheckError) as caught:
        gradcheck(wrong_in_the_middle, leaf(3))
    text = str(caught.value)
    assert "at [1] of the input and [1] of the output" in text
    assert text.endswith(
        "wrong: 1 of 9 elements\nrows: output, columns: input, #: wrong\n  ...\n  .#.\n  ..."
    )


def test_large_maps_are_cut():
    with pytest.raises(GradcheckError) as caught:
        gradcheck(half_a_square, leaf(30))
    lines = str(caught.value).splitlines()
    assert lines[-1] == "  ..."
    assert lines[-2] == "  " + "." * 23 + "#..."


def test_fast_mode_looks_for_the_element_once_a_direction_disagrees():
    with pytest.raises(GradcheckError, match="along a random direction\nelement by element: grad"):
        gradcheck(half_a_square, leaf(2), fast_mode=True)


def test_inputs_that_overlap_are_refused():
    base = ebb.arange(6, dtype=ebb.float64)
    with pytest.raises(ValueError, match="share no memory, got elements in common at positions 0"):
        gradcheck(product, (base[:4].requires_grad_(), base.detach()[2:].requires_grad_()))
    apart = base.detach()[:3].requires_grad_(), base.detach()[3:].requires_grad_()
    assert gradcheck(product, apart)
    x = leaf(3)
    assert gradcheck(product, (x, x), check_forward_ad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_batches_of_seeds_and_directions_are_checked(fast_mode):
    options = {"check_batched_grad": True, "fast_mode": fast_mode, "masked": True}
    forward = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert gradcheck(product, (leaf(2), leaf(2)), **options, **forward)
    assert gradcheck(lambda x, y: (x * 2, x.sum()), (leaf(2), leaf(2)), **options, **forward)
    z = ebb.tensor([1 + 2j, 3 - 1j], dtype=ebb.complex128, requires_grad=True)
    assert gradcheck(lambda z: z * z, (z,), **options)
    assert gradgradcheck(product, (leaf(2), leaf(2)), check_fwd_over_rev=True, **options)


def test_a_gradient_that_depends_on_the_batch_is_found():
    class Counts(Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            Counts.calls += 1
            return g * (2 if Counts.calls <= correct else 3)

        @staticmethod
        def jvp(ctx, x):
            Counts.calls += 1
            return x * (2 if Counts.calls <= correct else 3)

    correct = 4 + 3  # two rows, computed twice, and a batch
    with pytest.raises(GradcheckError, match="input 0 must be the same in a batch as alone, got"):
        gradcheck(Counts.apply, (leaf(2),), check_batched_grad=True)
    Counts.calls, correct = 0, 3  # two steps, and the first of a batch
    options = {"check_batched_forward_grad": True, "check_forward_ad": True}
    with pytest.raises(GradcheckError, match="tangent of output 0 with respect to input 0 must be"):
        gradcheck(Counts.apply, (leaf(2),), check_backward_ad=False, **options)


def test_a_batched_check_needs_the_plain_one():
    with pytest.raises(ValueError, match="check_batched_grad needs check_backward_ad"):
        gradcheck(
            product,
            (leaf(2), leaf(2)),
            check_batched_grad=True,
            check_backward_ad=False,
            check_forward_ad=True,
        )
    with pytest.raises(ValueError, match="check_batched_forward_grad needs check_forward_ad"):
        gradcheck(product, (leaf(2), leaf(2)), check_batched_forward_grad=True)


def test_nondet_tol_allows_for_a_difference():
    calls = iter(range(100))

    def unsteady(x):
        return x * ebb.tensor(1 + 1e-13 * next(calls), dtype=ebb.float64)

    with pytest.raises(GradcheckError, match="hint: nondet_tol"):
        gradcheck(unsteady, leaf(2))
    assert gradcheck(unsteady, leaf(2), nondet_tol=1e-9)


def test_argument_errors_raise_even_if_exceptions_are_off():
    with pytest.raises(TypeError):
        gradcheck(half_a_square, leaf(2, dtype=ebb.float32), raise_exception=False)
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: 1 / 0, leaf(2), raise_exception=False)


MODES = [
    {},
    {"fast_mode": True},
    {"check_backward_ad": False, "check_forward_ad": True},
    {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True},
]


@pytest.mark.parametrize("options", MODES, ids=str)
def test_a_shape_that_depends_on_values_is_refused(options):
    # A tenth of an eps from where one element drops out: NumPy would broadcast [1] against [2].
    x = ebb.tensor([0.5 + 1e-7, 2.0], dtype=ebb.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match=r"must not depend on values, got \[2\] and, with in"):
        gradcheck(lambda x: x[x > 0.5] * 1, x, **options)
    assert x.tolist() == [0.5 + 1e-7, 2.0]


@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)], ids=str)
def test_inputs_and_outputs_without_elements_pass(shape, options):
    empty, full = leaf(*shape), leaf(2, 2)
    assert gradcheck(lambda x: x * 2, empty, **options)
    assert gradcheck(lambda x: x.sum(0), empty, **options)
    assert gradcheck(lambda x, y: (x.sin(), y.sin()), (empty, full), **options)
    assert gradcheck(lambda y: y[:0], full, **options)
    assert gradgradcheck(lambda x: x.sin().sum(0), empty, check_fwd_over_rev=True)


def test_sparse_outputs_are_compared_and_sparse_inputs_refused():
    indices = ebb.tensor([[0, 1], [1, 0]])
    values = leaf(2)

    def matrix(values):
        return ebb.sparse_coo_tensor(indices, values, (2, 2))

    assert gradcheck(lambda values: matrix(values * values), values)
    assert gradcheck(lambda values: matrix(values) @ leaf(2, 3).detach(), values)
    with pytest.raises(ValueError, match=r"gradcheck: needs strided inputs, got sparse_coo at pos"):
        gradcheck(lambda x: x.to_dense(), matrix(values).detach().requires_grad_())
