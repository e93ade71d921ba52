# tests/python/ops/numbers/test_complex.py -- complex numbers and their parts: views of each other,
# writes through them, lengths, angles and signs.
#
# Values and derivatives of the single ops are checked with all others, from their rows in
# ops/pointwise/complex.yaml.
import math

import numpy as np
import pytest

import ebb
from ebb.autograd import forward_ad as fwad, gradcheck, gradgradcheck


def numbers(*sizes, dtype=ebb.complex128, requires_grad=True):
    real, imag = ebb.randn(*sizes, dtype=ebb.float64), ebb.randn(*sizes, dtype=ebb.float64)
    return ebb.complex(real, imag).to(dtype).detach().requires_grad_(requires_grad)


def reals(*sizes):
    return ebb.randn(*sizes, dtype=ebb.float64).requires_grad_()


def test_parts_share_the_memory_of_the_number():
    z = ebb.tensor([1 + 2j, 3 - 4j])
    assert z.real.tolist() == [1, 3]
    assert z.imag.tolist() == [2, -4]
    z.real.mul_(10)
    z.imag[0] = 7
    assert z.tolist() == [10 + 7j, 30 - 4j]
    pairs = ebb.view_as_real(z)
    assert pairs.shape == (2, 2)
    assert pairs.stride() == (2, 1)
    pairs[1] = 0
    assert z.tolist() == [10 + 7j, 0]


def test_pairs_of_reals_share_the_memory_of_numbers():
    x = ebb.arange(0.0, 8.0).reshape(2, 2, 2)
    z = ebb.view_as_complex(x[:, 1])
    assert z.tolist() == [2 + 3j, 6 + 7j]
    z.mul_(1j)
    assert x[:, 1].tolist() == [[-3, 2], [-7, 6]]


def test_parts_can_be_assigned():
    z = ebb.zeros(2, dtype=ebb.complex64)
    z.real = ebb.tensor([1.0, 2.0])
    z.imag = 5
    assert z.tolist() == [1 + 5j, 2 + 5j]
    x = ebb.zeros(2)
    x.real = 3
    assert x.tolist() == [3, 3]
    with pytest.raises(TypeError, match="imag: 'input' must have dtype complex64, complex128"):
        x.imag = 1


def test_the_real_part_of_a_real_tensor_is_itself():
    x = ebb.ones(2, requires_grad=True)
    assert ebb.real(x).data_ptr() == x.data_ptr()
    assert ebb.real(x).is_leaf
    with pytest.raises(TypeError, match="got float32"):
        ebb.imag(x)


def test_a_loss_of_complex_numbers_is_real_and_descends():
    target = ebb.tensor([1 + 1j, -2j])
    z = ebb.zeros(2, dtype=ebb.complex64, requires_grad=True)
    for _ in range(60):
        loss = ((z - target).abs() ** 2).sum()
        (grad,) = ebb.autograd.grad(loss, z)
        with ebb.no_grad():
            z -= 0.2 * grad
    assert loss.dtype is ebb.float32
    assert np.allclose(z.detach().numpy(), target.numpy(), atol=1e-4)


@pytest.mark.parametrize(
    "function",
    [
        lambda z: z.abs(),
        lambda z: z.angle(),
        lambda z: z.sgn(),
        lambda z: z.real * z.imag,
        lambda z: ebb.view_as_real(z * z).sum(-1),
        lambda z: ebb.polar(z.abs(), z.angle() * 2),
        lambda z: ebb.complex(z.imag, z.real).exp(),
        lambda z: ebb.view_as_complex(ebb.view_as_real(z).flip(-1)),
        lambda z: (z @ z.conj().T).real,
    ],
)
def test_derivatives_of_functions_of_parts(function):
    z = numbers(3, 2)
    assert gradcheck(function, z, check_forward_ad=True)
    assert gradgradcheck(function, z)


def write_real_part(z):
    w = z * 1
    w.real.mul_(w.imag.clone())
    return w


def write_part_of_imaginary_part(z):
    w = z * 2
    w.imag[1:] = z.abs()[1:]
    return w * w


def write_pairs(z):
    w = z.clone()
    ebb.view_as_real(w)[..., 0].exp_()
    return w * z


def view_before_write(z):
    w = z * 1
    part = w.imag
    w.mul_(z)
    return part * part


def view_of_view_before_write(z):
    w = z * 1
    back = ebb.view_as_complex(ebb.view_as_real(w))
    part = w[1:].real
    w.imag.sin_()
    return (back * back).real.sum() + (part * part).sum() + part.sum()


@pytest.mark.parametrize(
    "function",
    [
        write_real_part,
        write_part_of_imaginary_part,
        write_pairs,
        view_before_write,
        view_of_view_before_write,
    ],
)
def test_writes_through_parts_of_numbers_are_followed(function):
    z = numbers(3)
    assert gradcheck(function, z, check_forward_ad=True)
    assert gradgradcheck(function, z)


def write_numbers(x):
    y = x * 1
    z = ebb.view_as_complex(y)
    z.mul_(z.clone())
    return y.sin()


def write_some_numbers(x):
    y = x * 1
    before = y[1:]
    ebb.view_as_complex(y[1:])[0] = 2j
    return before * y[1:]


def numbers_before_write(x):
    y = x * 1
    z = ebb.view_as_complex(y)
    y[:, 0].exp_()
    return z * z


@pytest.mark.parametrize("function", [write_numbers, write_some_numbers, numbers_before_write])
def test_writes_through_numbers_of_reals_are_followed(function):
    x = reals(3, 2)
    assert gradcheck(function, x, check_forward_ad=True)
    assert gradgradcheck(function, x)


def test_parts_of_numbers_that_overlap_follow_a_write():
    def function(z):
        w = z * 1
        part = w.expand(2, 2).real
        w.mul_(z)
        return part

    assert gradcheck(function, numbers(2))


def test_what_a_part_saved_is_told_apart_from_the_other_part():
    z = numbers(3)
    w = z * 1
    y = w.real.exp() * w.real  # saves the real parts
    w.imag.mul_(2)
    y.sum().backward()
    assert z.grad is not None
    w = z * 1
    y = w.real * w.real
    w.real.mul_(2)
    with pytest.raises(RuntimeError, match=r"MulBackward: needs .* modified in place by mul_"):
        y.sum().backward()


def test_derivatives_at_zero_are_zero():
    z = ebb.zeros(2, dtype=ebb.complex128, requires_grad=True)
    for function in (ebb.abs, ebb.angle, lambda z: ebb.view_as_real(ebb.sgn(z))):
        (grad,) = ebb.autograd.grad(function(z).sum(), z)
        assert grad.tolist() == [0, 0]


def test_lengths_and_signs_of_numbers_at_the_ends_of_the_range():
    z = ebb.tensor([3e38 + 3e38j, 1e-45 + 0j, 0, 2e38j])
    assert ebb.isinf(z.abs()).tolist() == [True, False, False, False]
    half = math.sqrt(0.5)
    expected = [complex(half, half), 1, 0, 1j]
    assert np.allclose(z.sgn().numpy(), expected, atol=1e-6)


def test_norms_are_those_of_the_lengths():
    z = numbers(3, 4)
    array = z.detach().numpy()
    for found in (z.norm(), ebb.norm(z), ebb.linalg.norm(z), ebb.linalg.matrix_norm(z)):
        assert found.dtype is ebb.float64
        assert found.item() == pytest.approx(np.linalg.norm(array))
    largest = ebb.linalg.vector_norm(z, ebb.inf, 1)
    assert np.allclose(largest.detach().numpy(), np.abs(array).max(1))
    assert gradcheck(lambda z: z.norm(dim=0), z)


def test_angles_of_real_numbers():
    x = ebb.tensor([2.0, -2.0, 0.0, float("nan")], requires_grad=True)
    angles = x.angle()
    assert np.allclose(angles.detach().numpy(), [0, math.pi, 0, math.nan], equal_nan=True)
    assert ebb.tensor([-3, 3]).angle().tolist() == pytest.approx([math.pi, 0])
    (grad,) = ebb.autograd.grad(angles[:3].sum(), x)
    assert grad.tolist() == [0, 0, 0, 0]


def test_a_real_result_is_not_written_over_complex_numbers():
    z = numbers(2)
    with pytest.raises(TypeError, match=r"abs_: 'self' must be real, as the result is, got"):
        (z * 1).abs_()
    out = ebb.empty(2, dtype=ebb.float64)
    ebb.abs(z.detach(), out=out)
    assert out.tolist() == pytest.approx(z.detach().abs().tolist())
    part = z.detach().clone()
    expected = part.abs().tolist()
    ebb.abs(part, out=part.real)  # over its own memory
    assert part.real.tolist() == pytest.approx(expected)


def test_signs_are_written_in_place():
    z = numbers(3)
    x = ebb.tensor([-2.0, 0.0, 3.0])
    assert x.sgn_().tolist() == [-1, 0, 1]
    assert gradcheck(lambda z: (z * 1).sgn_(), z)


def test_parts_are_combined_with_broadcasting():
    real, imag = ebb.ones(2, 1), ebb.arange(0.0, 3.0)
    assert ebb.complex(real, imag).shape == (2, 3)
    assert ebb.complex(real.double(), imag).dtype is ebb.complex128
    with pytest.raises(TypeError, match="complex: 'real' must have dtype float32, float64, got"):
        ebb.complex(ebb.ones(2, dtype=ebb.int64), imag)


def test_the_adjoint_is_conjugate():
    z = numbers(2, 3)
    assert np.allclose(z.H.detach().numpy(), z.detach().numpy().conj().T)
    batch = numbers(4, 2, 3)
    assert batch.mH.shape == (4, 3, 2)
    assert gradcheck(lambda z: z.mH @ z, batch)
    with pytest.raises(RuntimeError, match="H: needs a 2-d tensor"):
        _ = batch.H


def test_parts_carry_tangents():
    x = ebb.tensor([3.0, 4.0], dtype=ebb.float64)
    with fwad.dual_level():
        z = ebb.complex(fwad.make_dual(x, ebb.ones_like(x)), x)
        length = fwad.unpack_dual(z.abs())
        assert length.tangent.tolist() == pytest.approx([math.sqrt(0.5)] * 2)
        z.imag.mul_(fwad.make_dual(x, ebb.ones_like(x)))
        assert fwad.unpack_dual(z.imag).tangent.tolist() == [3, 4]
        assert fwad.unpack_dual(z.real).tangent.tolist() == [1, 1]


def test_snapshots_show_views_of_parts():
    z = numbers(3)
    w = z * 1
    w.real.mul_(2)
    graph = ebb.graph(w.abs().sum(), {"z": z})
    names = {node.name for node in graph}
    assert {"AbsBackward", "WriteToViewBackward", "RealBackward"} <= names


@pytest.mark.parametrize("dtype", [ebb.complex64, ebb.complex128], ids=str)
def test_functions_of_complex_numbers_keep_their_digits_far_out(dtype):
    x = ebb.tensor([0j, 1e-3j, 1000 + 1j, 1000.5 - 1j, 800 + 3j, -800 + 3j], dtype=dtype)
    turned = np.array([0, 1e-3j, 1j, 0.5 - 1j, 3j, 3j]) * np.pi  # whole turns make no difference
    z = x.numpy().astype(complex)
    wanted = np.sin(turned[1:]) / (np.pi * z[1:])
    np.testing.assert_allclose(ebb.sinc(x)[1:].numpy(), wanted, rtol=1e-6)
    assert ebb.sinc(x)[0].item() == 1
    silu = ebb.nn.functional.silu(x)
    assert silu[4].item() == 800 + 3j and silu[5].item() == 0
    both = ebb.logaddexp(x, x).numpy()
    imaginary = np.angle(np.exp(1j * z.imag))  # that of a logarithm
    np.testing.assert_allclose(both, z.real + np.log(2) + 1j * imaginary, rtol=1e-6)
    assert ebb.lerp(x, x + 1j, 1j).dtype == dtype
    np.testing.assert_allclose(ebb.lerp(x, x + 1j, 1j).numpy(), z - 1, rtol=1e-6)
