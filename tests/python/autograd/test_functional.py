# tests/python/autograd/test_functional.py -- ebb.autograd.functional: products, Jacobians,
# Hessians.
import math

import numpy as np
import pytest

import ebb
from ebb.autograd import functional as F
from ebb.autograd.forward_ad import dual_level, make_dual, unpack_dual

f64 = ebb.float64


def t(values, **options):
    return ebb.tensor(values, dtype=f64, **options)


def random(*shape):
    return ebb.randn(list(shape), dtype=f64)


def mixed(x, y):
    return (x * y).sum(1), ebb.sin(x[0]) * y.sum()


def two():
    return random(2, 3), random(2, 3)


def loss(x, y):
    return (x * x * y).sum() + ebb.exp(y).prod()


def contracted(matrix, vectors, over_outputs):
    """Products of a nested Jacobian with vectors, by NumPy."""
    rows = [[np.array(block.tolist()) for block in row] for row in matrix]
    flat = [np.array(vector.tolist()) for vector in vectors]
    if over_outputs:
        return [
            sum(np.tensordot(v, row[i], v.ndim) for row, v in zip(rows, flat, strict=True))
            for i in range(len(rows[0]))
        ]
    return [
        sum(np.tensordot(block, v, v.ndim) for block, v in zip(row, flat, strict=True))
        for row in rows
    ]


def assert_close(found, wanted, **tolerance):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(
            np.array(one.tolist()), np.array(other.tolist()), rtol=1e-9, atol=1e-12, **tolerance
        )


# Jacobians.


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_a_jacobian_has_the_nested_structure_of_outputs_and_inputs(strategy):
    x, y = two()
    matrix = F.jacobian(mixed, (x, y), strategy=strategy)
    assert [[list(one.shape) for one in row] for row in matrix] == [
        [[2, 2, 3], [2, 2, 3]],
        [[3, 2, 3], [3, 2, 3]],
    ]
    np.testing.assert_allclose(
        matrix[0][0].numpy()[1, 1], y.numpy()[1], err_msg="d (x y)_1 / d x_1 = y_1"
    )
    assert isinstance(F.jacobian(lambda a: mixed(a, y), x, strategy=strategy), tuple)
    single = F.jacobian(lambda a: a * a, t([1.0, 2.0]), strategy=strategy)
    assert single.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    in_tuple = F.jacobian(lambda a: a * a, (t([1.0]),), strategy=strategy)
    assert isinstance(in_tuple, tuple)
    assert in_tuple[0].tolist() == [[2.0]]


def test_both_strategies_give_one_jacobian():
    x, y = two()
    rows = F.jacobian(mixed, (x, y))
    columns = F.jacobian(mixed, (x, y), strategy="forward-mode", vectorize=True)
    for row, column in zip(rows, columns, strict=True):
        assert_close(row, column)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_a_jacobian_can_be_differentiated(strategy):
    x = t([1.0, 2.0]).requires_grad_()
    matrix = F.jacobian(lambda a: a**3, x, create_graph=True, strategy=strategy)
    matrix.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    assert not F.jacobian(lambda a: a**3, x, strategy=strategy).requires_grad


def test_empty_and_0d_jacobians():
    assert F.jacobian(lambda a: a * 2, ebb.zeros([0], dtype=f64)).shape == (0, 0)
    forward = F.jacobian(lambda a: a * 2, ebb.zeros([0], dtype=f64), strategy="forward-mode")
    assert forward.shape == (0, 0)
    assert F.jacobian(lambda a: a * 2, t(1.0)).tolist() == 2.0


def test_an_output_that_ignores_an_input_has_zeros_unless_strict():
    x, y = t([1.0, 2.0]), t([3.0])
    for strategy in ("reverse-mode", "forward-mode"):
        matrix = F.jacobian(lambda a, b: (a * 2, b * 0 + 1), (x, y), strategy=strategy)
        assert matrix[0][1].tolist() == [[0.0], [0.0]]
        constant = F.jacobian(lambda a: ebb.ones([2], dtype=f64), x, strategy=strategy)
        assert constant.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match="must depend on every input, got one independent of "):
        F.jacobian(lambda a, b: a * 2, (x, y), strict=True)
    with pytest.raises(RuntimeError, match="jacobian: output 0 must depend on the inputs"):
        F.jacobian(lambda a: ebb.ones([2], dtype=f64), x, strict=True)
    with pytest.raises(ValueError, match="strict needs the strategy 'reverse-mode'"):
        F.jacobian(lambda a: a, x, strict=True, strategy="forward-mode")


def test_errors_of_a_hessian_name_it():
    with pytest.raises(RuntimeError, match=r"^hessian: output 0 must depend on the inputs"):
        F.hessian(lambda a: ebb.ones([], dtype=f64), t([1.0]), strict=True)
    with pytest.raises(NotImplementedError, match=r"^hessian: .*sample of vmap"):
        ebb.func.vmap(lambda a: F.hessian(ebb.sum, a))(random(2, 2))


# Products.


def test_vjp_is_the_jacobian_transposed():
    x, y = two()
    v = (random(2), random(3))
    outputs, product = F.vjp(mixed, (x, y), v)
    assert_close(outputs, mixed(x, y))
    assert_close(product, contracted(F.jacobian(mixed, (x, y)), v, True))
    assert not any(one.requires_grad for one in (*outputs, *product))


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jvp_is_the_jacobian(strategy):
    x, y = two()
    v = (random(2, 3), random(2, 3))
    outputs, product = F.jvp(mixed, (x, y), v, strategy=strategy)
    assert_close(outputs, mixed(x, y))
    assert_close(product, contracted(F.jacobian(mixed, (x, y)), v, False))
    assert not any(one.requires_grad for one in (*outputs, *product))


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jvp_can_be_differentiated_by_its_inputs_and_its_direction(strategy):
    x, v = t(0.5, requires_grad=True), t(2.0, requires_grad=True)
    _, slope = F.jvp(ebb.sin, x, v, create_graph=True, strategy=strategy)
    by_x, by_v = ebb.autograd.grad(slope, [x, v])
    assert by_x.item() == pytest.approx(-2 * math.sin(0.5))
    assert by_v.item() == pytest.approx(math.cos(0.5))


def test_jvp_of_complex_numbers():
    z, v = ebb.tensor([1 + 2j]), ebb.tensor([0.5 - 1j])
    for strategy in ("reverse-mode", "forward-mode"):
        product = F.jvp(lambda a: a * a, z, v, strategy=strategy)[1]
        assert product.item() == pytest.approx(2 * (1 + 2j) * (0.5 - 1j))
        product = F.jvp(lambda a: a.conj(), z, v, strategy=strategy)[1]
        assert product.item() == pytest.approx(0.5 + 1j)


def test_v_may_be_left_out_for_one_element():
    assert F.vjp(lambda a: (a * a).sum(), t([1.0, 2.0]))[1].tolist() == [2.0, 4.0]
    assert F.jvp(lambda a: a * t([1.0, 3.0]), t(2.0))[1].tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="vjp: v may be left out for one output of one element"):
        F.vjp(lambda a: a * a, t([1.0, 2.0]))
    with pytest.raises(ValueError, match="jvp: v may be left out for one input of one element"):
        F.jvp(lambda a: a * a, t([1.0, 2.0]))


# Hessians.


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_a_hessian_is_symmetric_and_nested(strategy):
    x, y = random(2), random(2)
    matrix = F.hessian(loss, (x, y), outer_jacobian_strategy=strategy)
    np.testing.assert_allclose(matrix[0][0].numpy(), np.diag(2 * y.numpy()))
    np.testing.assert_allclose(matrix[0][1].numpy(), matrix[1][0].numpy().T)
    np.testing.assert_allclose(matrix[0][1].numpy(), np.diag(2 * x.numpy()))
    assert F.hessian(lambda a: (a**3).sum(), t([1.0, 2.0])).tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_hessian_vector_products_both_ways():
    x, y = random(2), random(2)
    v = (random(2), random(2))
    matrix = F.hessian(loss, (x, y))
    for product in (F.vhp, F.hvp):
        value, found = product(loss, (x, y), v)
        assert value.item() == pytest.approx(loss(x, y).item())
        assert_close(found, contracted(matrix, v, product is F.vhp))
        assert not any(one.requires_grad for one in (value, *found))


@pytest.mark.parametrize("product", [F.vhp, F.hvp])
def test_hessian_vector_products_can_be_differentiated(product):
    x = t([1.0, 2.0], requires_grad=True)
    _, found = product(lambda a: (a**4).sum(), x, t([1.0, 1.0]), create_graph=True)
    found.sum().backward()
    assert x.grad.tolist() == pytest.approx([24.0, 48.0])


@pytest.mark.parametrize("product", [F.vhp, F.hvp])
def test_linear_functions_have_no_hessian(product):
    x = t([1.0, 2.0])
    assert product(lambda a: (a * 3).sum(), x, x)[1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="must depend on"):
        product(lambda a: (a * 3).sum(), x, x, strict=True)


def test_a_hessian_can_be_differentiated():
    x = t([1.0, 2.0], requires_grad=True)
    F.hessian(lambda a: (a**3).sum(), x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


# Around the call.


def test_everything_works_under_no_grad_and_leaves_gradients_alone():
    x = t([1.0, 2.0], requires_grad=True)
    with ebb.no_grad():
        assert F.vjp(lambda a: a * a, x, t([1.0, 1.0]))[1].tolist() == [2.0, 4.0]
        assert F.jvp(lambda a: a * a, x, t([1.0, 1.0]))[1].tolist() == [2.0, 4.0]
        assert F.hessian(lambda a: (a * a).sum(), x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
        assert F.hvp(lambda a: (a * a).sum(), x, t([1.0, 0.0]))[1].tolist() == [2.0, 0.0]
    assert x.grad is None


def test_a_jacobian_inside_a_level_has_a_tangent():
    with dual_level():
        x = make_dual(t([1.0, 2.0]), t([1.0, 0.0]))
        for strategy in ("reverse-mode", "forward-mode"):
            matrix = F.jacobian(lambda a: a**3, x, strategy=strategy)
            assert unpack_dual(matrix).tangent.tolist() == [[6.0, 0.0], [0.0, 0.0]]


def test_arguments_are_checked():
    x = t([1.0, 2.0])
    with pytest.raises(TypeError, match="vjp: inputs must be a Tensor or a tuple of Tensors, got"):
        F.vjp(lambda a: a, [x])
    with pytest.raises(TypeError, match="got float at position 1"):
        F.jacobian(lambda a, b: a, (x, 2.0))
    with pytest.raises(TypeError, match="inputs need a floating or complex dtype, got int64"):
        F.jacobian(lambda a: a, ebb.tensor([1]))
    with pytest.raises(TypeError, match="what the function returns must be a Tensor or a tuple"):
        F.vjp(lambda a: [a], x, x)
    with pytest.raises(ValueError, match=r"vjp: v needs shape \[2\] of output 0, got \[1\]"):
        F.vjp(lambda a: a, x, t([1.0]))
    with pytest.raises(ValueError, match="jvp: v needs a tensor for each of the 1 inputs, got 2"):
        F.jvp(lambda a: a, x, (x, x))
    with pytest.raises(ValueError, match="must return one tensor of one element, got shape"):
        F.hessian(lambda a: a, x)
    with pytest.raises(ValueError, match="one tensor of one element, got a tuple of shape"):
        F.vhp(lambda a: (a.sum(),), x, x)
    with pytest.raises(ValueError, match="strategy must be 'reverse-mode' or 'forward-mode'"):
        F.jacobian(lambda a: a, x, strategy="sideways")
    with pytest.raises(TypeError, match="'forward-mode' needs real inputs, got complex"):
        F.jacobian(lambda a: a, ebb.tensor([1j]), strategy="forward-mode")
