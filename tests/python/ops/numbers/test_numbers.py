# tests/python/ops/numbers/test_numbers.py -- operators that shift bits, numbers taken apart, powers
# in double precision; beyond what the rows of the table say.
import math

import numpy as np
import pytest

import ebb
from ebb.errors import DTypeError, ShapeError

SIGNED = [ebb.int8, ebb.int16, ebb.int32, ebb.int64]


@pytest.mark.parametrize("dtype", [ebb.uint8, *SIGNED], ids=str)
def test_shift_operators_are_those_of_python(dtype):
    values, steps = [1, 5, 100], [0, 3, 1]
    x, by = ebb.tensor(values, dtype=dtype), ebb.tensor(steps, dtype=dtype)
    bits = (1 << 8) - 1 if dtype == ebb.uint8 else None
    wrapped = [v << s for v, s in zip(values, steps, strict=True)]
    wanted = np.array([one & bits if bits else one for one in wrapped]).astype(x.numpy().dtype)
    for got in (x << by, ebb.bitwise_left_shift(x, by)):
        assert got.dtype == dtype and got.tolist() == wanted.tolist()
    assert (x >> by).tolist() == [1, 0, 50] and (x >> 1).tolist() == [0, 2, 50]
    assert (3 << by).tolist() == [3, 24, 6] and (100 >> by).tolist() == [100, 12, 50]
    assert (3 << by).dtype == dtype


def test_shift_operators_write_in_place():
    x = ebb.tensor([[1, 2], [3, -4]])
    same = x
    x <<= ebb.tensor([1, 2])
    assert x is same and x.tolist() == [[2, 8], [6, -16]]
    x >>= 1
    assert x is same and x.tolist() == [[1, 4], [3, -8]]
    assert x.t()[0].tolist() == [1, 3]


def test_shift_operators_leave_other_operands_to_python():
    class Other:
        def __rlshift__(self, other):
            return "reflected"

    assert ebb.tensor([1]) << Other() == "reflected"
    with pytest.raises(TypeError, match="unsupported operand"):
        ebb.tensor([1]) >> "a"
    with pytest.raises(DTypeError, match="bitwise_left_shift: 'input' must have dtype"):
        ebb.ones(2) << ebb.tensor(1)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_frexp_takes_numbers_of_all_sizes_apart(name):
    dtype = getattr(ebb, name)
    info = ebb.finfo(dtype)
    values = [0.0, -0.0, 1.0, -3.0, info.tiny, info.tiny / 4, -info.max, math.inf, math.nan]
    x = ebb.tensor(values, dtype=dtype)
    mantissa, exponent = ebb.frexp(x)
    assert mantissa.dtype == dtype and exponent.dtype == ebb.int32
    pairs = [math.frexp(one) for one in x.double().tolist()]
    np.testing.assert_array_equal(mantissa.double().numpy(), [m for m, _ in pairs])
    assert exponent.tolist() == [e for _, e in pairs]
    assert math.copysign(1, mantissa[1].item()) == -1


def test_frexp_and_ldexp_are_inverse_and_so_are_their_gradients():
    x = ebb.tensor([0.3, -5.0, 1e-30], dtype=ebb.float64, requires_grad=True)
    parts = x.frexp()
    assert not parts.exponent.requires_grad
    back = ebb.ldexp(parts.mantissa, parts.exponent)
    assert back.tolist() == x.tolist()
    assert ebb.autograd.grad(back.sum(), x)[0].tolist() == [1, 1, 1]


def test_a_step_passes_gradients_to_its_values_where_the_operand_is_0():
    x = ebb.tensor([-1.0, 0.0, 2.0, -0.0], requires_grad=True)
    values = ebb.tensor([5.0, 6.0, 0.0, 8.0], requires_grad=True)
    (ebb.heaviside(x, values) * ebb.tensor([2.0, 3.0, 4.0, 5.0])).sum().backward()
    assert values.grad.tolist() == [0.0, 3.0, 0.0, 5.0]
    assert x.grad is None or x.grad.tolist() == [0.0] * 4


def test_a_sign_that_is_copied_passes_no_gradient_to_whose_it_is():
    x = ebb.tensor([-1.0, 2.0, 0.0], requires_grad=True)
    other = ebb.tensor([3.0, -4.0, 5.0], requires_grad=True)
    (ebb.copysign(x, other) * ebb.tensor([2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [-2.0, -3.0, 0.0]
    assert other.grad.tolist() == [0.0, 0.0, 0.0]


def test_float_power_is_in_double_precision_whatever_comes_in():
    half = ebb.tensor([3.0], dtype=ebb.float16)
    assert ebb.float_power(half, half).dtype == ebb.float64
    assert ebb.float_power(half, 2).item() == 9 and ebb.float_power(2, half).item() == 8
    assert ebb.float_power(ebb.tensor([3]), -1).item() == 1 / 3
    assert ebb.float_power(half, 1j).dtype == ebb.complex128
    assert (half + 0j).to(ebb.complex64).float_power(half).dtype == ebb.complex128
    x = ebb.tensor([2.0, 3.0])
    assert x.float_power_(2) is x and x.dtype == ebb.float32 and x.tolist() == [4, 9]
    with pytest.raises(ebb.Error, match="float_power_"):
        ebb.tensor([2]).float_power_(2)


def test_hardshrink_is_a_method():
    assert ebb.tensor([0.2, -0.7]).hardshrink(0.5).tolist() == [0, pytest.approx(-0.7)]


def test_adjoint_is_a_conjugated_view_of_matrices():
    x = ebb.tensor([[[1 + 2j, 3.0], [4.0, 5 - 1j]]])
    for got in (ebb.adjoint(x), x.adjoint(), x.mH):
        assert got.tolist() == x.numpy().conj().swapaxes(-1, -2).tolist()
    real = ebb.zeros(2, 3, requires_grad=True)
    assert real.adjoint().data_ptr() == real.data_ptr() and real.adjoint().shape == (3, 2)
    assert ebb.autograd.grad(real.adjoint().sum(), real)[0].shape == (2, 3)
    with pytest.raises(ShapeError, match=r"adjoint: input needs at least 2 dims, got \[3\]"):
        ebb.zeros(3).adjoint()
    with pytest.raises(DTypeError, match=r"adjoint\(\): argument 'input' must be Tensor, got int"):
        ebb.adjoint(3)


def test_is_inference_says_where_memory_was_made():
    with ebb.inference_mode():
        inside = ebb.ones(2)
    assert ebb.is_inference(inside) and inside.is_inference()
    assert not ebb.is_inference(ebb.ones(2))
    with pytest.raises(DTypeError, match=r"is_inference\(\): argument 'input' must be Tensor"):
        ebb.is_inference(3)


@pytest.mark.parametrize("call, value, dtype", [
    (lambda: ebb.add(2, 3), 5, "int64"),
    (lambda: ebb.add(2.5, 2, alpha=3), 8.5, "float32"),
    (lambda: ebb.add(True, other=2), 3, "int64"),
    (lambda: ebb.sub(2, 3j), 2 - 3j, "complex64"),
    (lambda: ebb.subtract(2, 3), -1, "int64"),
    (lambda: ebb.mul(np.float64(2), 3), 6.0, "float32"),
    (lambda: ebb.div(7, 2), 3.5, "float32"),
    (lambda: ebb.true_divide(7, 2), 3.5, "float32"),
    (lambda: ebb.div(7, 2, rounding_mode="floor"), 3, "int64"),
    (lambda: ebb.floor_divide(7, 2), 3, "int64"),
])  # fmt: skip
def test_arithmetic_of_two_numbers_is_a_tensor_without_dims(call, value, dtype):
    made = call()
    assert made.shape == () and made.item() == value and made.dtype is getattr(ebb, dtype)


def test_the_first_of_two_numbers_goes_where_the_result_goes():
    out = ebb.zeros((), dtype=ebb.float64)
    assert ebb.add(2, 3, out=out) is out and out.item() == 5.0
    ebb.set_default_dtype(ebb.float64)
    assert ebb.mul(2.0, 3).dtype is ebb.float64


@pytest.mark.parametrize("name", ["pow", "remainder", "eq", "maximum", "bitwise_and", "rsub"])
def test_other_functions_need_a_tensor(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\): argument .* must be Tensor, got int"):
        getattr(ebb, name)(2, 3)


def test_errors_of_arithmetic_name_what_was_given():
    with pytest.raises(TypeError, match=r"add\(\): argument 'other' .* got str"):
        ebb.add(2, "a")
    with pytest.raises(TypeError, match=r"add\(\): .*'alphas'"):
        ebb.add(2, 3, alphas=1)
