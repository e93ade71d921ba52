# tests/python/ops/statistics/test_reductions.py -- reductions where rows of the table do not reach:
# zeros in a product, ties, NaN, degenerate variances and norms, long lines.
import math

import numpy as np
import pytest

import ebb
from tests.python.leaves import leaf_of

RNG = np.random.default_rng(5)


def gradient(output, x):
    return ebb.autograd.grad([output.sum()], [x])[0].tolist()


def check_both_orders(func, x):
    assert ebb.autograd.gradcheck(func, [x], eps=1e-6, atol=1e-6)
    assert ebb.autograd.gradgradcheck(func, [x], eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("zeros", [(), (1,), (0, 3), (0, 1, 2, 3, 4)])
def test_derivatives_of_a_product_with_zeros_are_exact(zeros):
    values = np.array([1.5, -2.0, 0.5, 3.0, -0.7])
    values[list(zeros)] = 0
    x = leaf_of(values)
    others = [np.prod(np.delete(values, i)) for i in range(5)]
    np.testing.assert_allclose(gradient(x.prod(), x), others, atol=1e-12)
    check_both_orders(lambda v: v.prod(), x)
    for keepdim in (False, True):
        np.testing.assert_allclose(gradient(x.prod(0, keepdim), x), others, atol=1e-12)
        check_both_orders(lambda v, keepdim=keepdim: v.prod(-1, keepdim), x)
    two = leaf_of(np.stack([values, [1.0, 2, 3, 4, 5]]))
    check_both_orders(lambda v: v.prod(1), two)
    check_both_orders(lambda v: v.prod(0, keepdim=True), two)


def test_third_derivative_of_a_product_with_a_zero():
    x = leaf_of([0.0, 2.0, 3.0])
    first = ebb.autograd.grad([x.prod()], [x], create_graph=True)[0]
    second = ebb.autograd.grad([first[0]], [x], create_graph=True)[0]
    assert second.tolist() == [0.0, 3.0, 2.0]
    assert ebb.autograd.grad([second[1]], [x])[0].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_ties_share_the_gradient_of_amax_and_amin(name):
    x = leaf_of([[2.0, 2.0, 2.0], [1.0, 5.0, 5.0]])
    wanted = {
        "amax": [[1 / 3, 1 / 3, 1 / 3], [0, 0.5, 0.5]],
        "amin": [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]],
    }
    np.testing.assert_allclose(gradient(getattr(x, name)(1), x), wanted[name])


def test_nan_wins_every_extremum_and_takes_the_gradient():
    x = leaf_of([1.0, math.nan, 3.0, math.nan])
    for name in ("max", "min", "amax", "amin"):
        assert math.isnan(getattr(x, name)().item())
        assert gradient(getattr(x, name)(), x) == [0.0, 0.5, 0.0, 0.5]
    assert x.argmax().item() == x.argmin().item() == 1
    assert x.max(0).indices.item() == x.min(0).indices.item() == 1
    wide = ebb.tensor(np.where(np.arange(70000) == 66000, np.nan, 1.0).astype(np.float32))
    assert wide.argmax().item() == wide.argmin().item() == 66000


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (100000,), (3, 70001), (70001, 3), (5, 64, 7)])
def test_indices_of_extrema_are_the_first_ones(dtype, shape):
    values = RNG.integers(0, 100, shape)
    x = ebb.tensor(values).to(getattr(ebb, dtype))
    assert x.argmax().item() == values.argmax() and x.argmin().item() == values.argmin()
    for dim in range(len(shape)):
        assert (x.argmax(dim).numpy() == values.argmax(dim)).all()
        assert (x.argmin(dim).numpy() == values.argmin(dim)).all()
        assert (x.transpose(0, -1).max(dim).indices.numpy() == values.T.argmax(dim)).all() or (
            len(shape) == 3
        )


@pytest.mark.parametrize("shape", [(100003,), (4, 40000), (5000, 300), (3000, 3), (2, 3000, 5)])
def test_moments_of_many_elements_are_accurate(shape):
    values = RNG.normal(1000.0, 1.0, shape)  # squares would lose all digits
    x = ebb.tensor(values.astype(np.float32))
    exact = values.astype(np.float32).astype(np.float64)
    for dim in (None, *range(len(shape))):
        wanted = np.var(exact, axis=dim, ddof=1)
        # The mean is rounded to a float32, which is 3e-5 at 1000: its square is the slack.
        var, std = (one.double().numpy() for one in (x.var(dim), x.std(dim)))
        np.testing.assert_allclose(var, wanted, rtol=2e-4, atol=4e-9)
        np.testing.assert_allclose(std**2, wanted, rtol=2e-4, atol=4e-9)


def test_a_variance_without_degrees_of_freedom_is_nan_or_infinite():
    assert math.isnan(ebb.ones(1).var().item())
    assert ebb.ones(1).var(correction=0).item() == 0
    assert math.isnan(ebb.ones(0).var().item())
    assert ebb.tensor([1.0, 2.0]).var(correction=2).item() == math.inf
    assert ebb.tensor([1.0, 2.0]).var(correction=3).item() == math.inf


def test_var_takes_its_arguments_like_pytorch():
    x = ebb.tensor(RNG.standard_normal((3, 4)))
    population, sample = np.var(x.numpy()), np.var(x.numpy(), ddof=1)
    assert x.var(False).item() == x.var(unbiased=False).item() == pytest.approx(population)
    assert x.var(True).item() == x.var().item() == pytest.approx(sample)
    rows = np.var(x.numpy(), axis=1, ddof=1, keepdims=True)
    np.testing.assert_allclose(x.var(1, True, True).numpy(), rows)
    np.testing.assert_allclose(x.var(dim=1, unbiased=True, keepdim=True).numpy(), rows)
    np.testing.assert_allclose(x.var(1, keepdim=True).numpy(), rows)


def test_a_truth_value_behind_the_input_is_no_dim():
    x = ebb.tensor([1.0, 2.0, 4.0])
    for moment, both in ((ebb.std, ebb.std_mean), (ebb.var, ebb.var_mean)):
        for unbiased in (True, False):
            spread, mean = both(x, unbiased)
            assert spread.item() == both(x, unbiased=unbiased)[0].item()
            assert spread.item() == moment(x, unbiased).item()
            assert mean.item() == pytest.approx(7 / 3)
            assert both(x, 0, unbiased, True)[0].tolist() == [spread.item()]
    assert ebb.std_mean(x, False)[0].item() == pytest.approx(1.2472191)
    for function in (ebb.sum, ebb.mean, ebb.amax, ebb.argmax, ebb.max, ebb.cumsum):
        with pytest.raises(TypeError, match=function.__name__ + r"\(\): argument .* got bool"):
            function(x, True)


@pytest.mark.parametrize(("op", "wanted"), [("max", [1, 2, 4]), ("min", [1, 1, 1])])
def test_max_and_min_of_two_tensors_compare_them(op, wanted):
    x = ebb.tensor([1, 2, 4])
    for other in (ebb.tensor(1), ebb.tensor([1])):
        assert getattr(ebb, op)(x, other).tolist() == wanted
        assert getattr(x, op)(other).tolist() == wanted
    assert isinstance(getattr(ebb, op)(x, 0), tuple)


def test_standard_deviation_of_equal_elements_has_no_slope():
    x = leaf_of([[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]])
    found = gradient(x.std(1), x)
    assert found[0] == [0.0, 0.0, 0.0] and all(np.isfinite(found[1]))


@pytest.mark.parametrize("dtype", (ebb.float16, ebb.bfloat16), ids=str)
def test_close_elements_of_a_half_type_give_the_deviation_its_slope(dtype):
    step = ebb.finfo(dtype).eps
    x = ebb.tensor([1.0, 1.0 + step]).to(dtype).requires_grad_()
    ebb.std(x).backward()
    assert x.grad.tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5], rel=0.01)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
def test_the_norm_of_zeros_has_no_slope(p):
    x = leaf_of([[0.0, 0.0], [3.0, -4.0]])
    norm = x.norm(p, 1)
    assert norm[0].item() == 0
    found = gradient(norm, x)
    assert found[0] == [0.0, 0.0]
    if p == 2:
        np.testing.assert_allclose(found[1], [0.6, -0.8])
    if p == math.inf:
        assert found[1] == [0.0, -1.0]


def test_logsumexp_of_infinities():
    x = leaf_of([[-math.inf, -math.inf], [math.inf, 1.0], [1e4, 1e4]])
    assert x.logsumexp(1).tolist() == [-math.inf, math.inf, 1e4 + math.log(2)]
    assert gradient(x.logsumexp(1)[2:], x)[2] == pytest.approx([0.5, 0.5])
    assert gradient(x.logsumexp(1)[:1], x)[0] == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(4, 5, 6), (2, 600, 3), (3, 64), (7, 1000)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_along_every_dim_and_size(name, shape):
    values = RNG.standard_normal(shape).astype(np.float32) * 5
    wide = values.astype(np.float64)
    for dim in range(len(shape)):
        log = wide - np.log(np.sum(np.exp(wide), dim, keepdims=True))
        wanted = np.exp(log) if name == "softmax" else log
        x = ebb.tensor(values, requires_grad=True)
        out = getattr(x, name)(dim)
        np.testing.assert_allclose(out.detach().numpy(), wanted, rtol=3e-6, atol=3e-6)
        seed = RNG.standard_normal(shape).astype(np.float32)
        (found,) = ebb.autograd.grad([out], [x], [ebb.tensor(seed)])
        total = np.sum(seed * np.exp(log) if name == "softmax" else seed, dim, keepdims=True)
        slope = (seed - total) * wanted if name == "softmax" else seed - np.exp(log) * total
        np.testing.assert_allclose(found.numpy(), slope, rtol=1e-4, atol=1e-4)


def test_softmax_of_rows_with_nan_or_nothing_but_minus_infinity_is_nan():
    for size in (3, 40, 2000):
        x = ebb.zeros(3, size)
        x[0, 1] = math.nan
        x[1] = -math.inf
        out = x.softmax(1)
        assert np.isnan(out[:2].numpy()).all() and not np.isnan(out[2].numpy()).any()


def test_norms_under_the_names_of_linalg():
    x = ebb.tensor([[1.0, -2.0, 2.0], [4.0, 0.0, -3.0]])
    assert x.norm().item() == ebb.norm(x, "fro").item() == pytest.approx(math.sqrt(34))
    assert ebb.linalg.vector_norm(x, 1, 1).tolist() == [5.0, 7.0]
    assert ebb.linalg.norm(x, dim=1).tolist() == [3.0, 5.0]
    assert ebb.linalg.norm(x, math.inf).item() == 7.0
    assert ebb.linalg.matrix_norm(x, 1).item() == 5.0
    assert ebb.linalg.matrix_norm(x, -1, keepdim=True).tolist() == [[2.0]]
    with pytest.raises(ebb.Error, match="norm: needs a number, fro or nuc for p, got 'x'"):
        x.norm("x")


def test_a_norm_of_a_half_type_bends_as_in_float32():
    values = np.linspace(0.01, 2, 30)
    bends = []
    for dtype in (ebb.float16, ebb.float32):
        x = ebb.tensor(values).to(dtype).requires_grad_()
        (slope,) = ebb.autograd.grad(x.norm(0.5), x, create_graph=True)
        (bend,) = ebb.autograd.grad(slope[:3].sum(), x)
        bends.append(bend.float().numpy())
    np.testing.assert_allclose(*bends, rtol=2e-2, atol=1e-1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 9])
def test_running_sums_of_rows_are_those_of_each_row_alone(rows, dtype):
    values = np.random.default_rng(rows).normal(size=(rows, 2, 37)) * 9
    x = ebb.from_numpy(values).to(getattr(ebb, dtype))
    for each in (x, x[:, :, ::2], x.flip(2), x[:, :, :0], x.transpose(0, 2)):
        found = each.cumsum(2)
        for i, j in np.ndindex(*each.shape[:2]):
            assert found[i, j].tolist() == each[i, j].cumsum(0).tolist()
    sums = x.cumsum(2)
    assert x.cumsum_(2).tolist() == sums.tolist()
