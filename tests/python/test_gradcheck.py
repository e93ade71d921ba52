# tests/python/test_gradcheck.py -- gradcheck accepts right gradients, and finds and locates wrong
# ones.
import numpy as np
import pytest

import ebb
from ebb.autograd import GradcheckError, gradcheck, gradgradcheck


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
        "got analytical 0.5 and numerical 1 at [0] of the input and [0] of the output"
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
