# tests/python/nn/weights/test_utils.py -- bounded gradients, and parameters as one vector.
import math

import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.nn.utils import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    get_total_norm,
    parameters_to_vector,
    skip_init,
    vector_to_parameters,
)

GRADS = [[3.0, -4.0], [[12.0]]]


def parameters(dtype=ebb.float64, grads=GRADS):
    found = []
    for grad in grads:
        p = ebb.zeros(np.shape(grad), dtype=dtype, requires_grad=True)
        p.grad = ebb.tensor(grad, dtype=dtype)
        found.append(p)
    return found


@pytest.mark.parametrize(
    "norm_type, norm",
    [(2, 13.0), (1, 19.0), (math.inf, 12.0), (3, (27 + 64 + 1728) ** (1 / 3)), (0.5, None)],
)
def test_norm_is_bounded(norm_type, norm):
    norm = (3**0.5 + 2 + 12**0.5) ** 2 if norm is None else norm
    found = parameters()
    assert clip_grad_norm_(found, norm / 2, norm_type).item() == pytest.approx(norm)
    for p, grad in zip(found, GRADS, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), np.array(grad) / 2, rtol=1e-6)


def test_the_older_spelling_bounds_the_norm_and_says_so():
    found = parameters()
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        assert clip_grad_norm(found, 6.5).item() == 13.0
    assert found[0].grad.tolist() == pytest.approx([1.5, -2.0])


@pytest.mark.parametrize("make", [nn.Linear, nn.LSTM, nn.Bilinear, nn.Embedding, nn.Conv1d])
def test_skip_init_draws_no_number(make):
    sizes = (2, 3, 4)[: 3 if make in (nn.Bilinear, nn.Conv1d) else 2]
    ebb.manual_seed(0)
    before = ebb.get_rng_state()
    layer = skip_init(make, *sizes)
    assert ebb.equal(ebb.get_rng_state(), before)
    shapes = [list(p.shape) for p in layer.parameters()]
    assert shapes == [list(p.shape) for p in make(*sizes).parameters()]
    assert not ebb.equal(ebb.get_rng_state(), before)  # only what is made inside is not filled


def test_skip_init_needs_modules_that_take_a_device():
    with pytest.raises(ebb.errors.ValueError, match="takes 'device', got ReLU"):
        skip_init(nn.ReLU)
    with pytest.raises(ebb.errors.DTypeError, match="needs a class of modules"):
        skip_init(nn.Linear(2, 3))


def test_the_norm_of_the_largest_element_has_a_name():
    for order in ("inf", math.inf):
        x = ebb.zeros(2, requires_grad=True)
        x.grad = ebb.tensor([3.0, -4.0])
        assert get_total_norm([x.grad], order).item() == 4.0
        assert clip_grad_norm_(x, 2.0, order).item() == 4.0
        np.testing.assert_allclose(x.grad, [1.5, -2.0], rtol=1e-6)
    with pytest.raises(TypeError, match="needs a number for norm_type, got str"):
        clip_grad_norm_(x, 2.0, "two")


def test_a_small_norm_stays():
    found = parameters()
    version = found[0].grad._version if hasattr(found[0].grad, "_version") else None
    assert clip_grad_norm_(iter(found), 14.0).item() == 13.0
    assert found[0].grad.tolist() == [3.0, -4.0]
    assert version is None or found[0].grad._version == version


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_every_dtype_has_its_norm(name):
    dtype = getattr(ebb, name)
    found = parameters(dtype)
    norm = clip_grad_norm_(found, 6.5)
    assert norm.dtype is (ebb.float64 if name == "float64" else ebb.float32)
    assert norm.shape == () and norm.item() == pytest.approx(13.0)
    assert abs(found[1].grad.item()) == pytest.approx(6.0, rel=4e-3)


def test_squares_of_large_numbers_do_not_overflow():
    found = parameters(ebb.float32, [[3e30], [4e30]])
    assert clip_grad_norm_(found, 5.0).item() == pytest.approx(5e30)
    assert found[0].grad.item() == pytest.approx(3.0)


@pytest.mark.parametrize("norm_type", [1, 2, math.inf, 3])
def test_norms_agree_with_numpy_on_any_number_of_threads(norm_type):
    rng = np.random.default_rng(0)
    grads = [rng.standard_normal(n) for n in (1, 40_000, 0, 7, 70_001)]
    whole = np.concatenate(grads)
    expected = np.linalg.norm(whole, norm_type)
    results = []
    for threads in (1, 2, 5):
        ebb.set_num_threads(threads)
        found = parameters(ebb.float32, grads)
        norm = clip_grad_norm_(found, 1.0, norm_type)
        results.append((norm.item(), found[4].grad.numpy().tobytes()))
    assert results[0] == results[1] == results[2]
    assert results[0][0] == pytest.approx(expected, rel=1e-6)


def test_strided_gradients_and_missing_ones():
    p, idle = ebb.zeros(2, 3, requires_grad=True), ebb.zeros(2, requires_grad=True)
    p.grad = ebb.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]).transpose(0, 1)
    grad = p.grad
    assert clip_grad_norm_([p, idle], 1.0).item() == pytest.approx(5.0)
    assert grad.tolist()[1][1] == pytest.approx(0.8)
    assert clip_grad_norm_([idle], 1.0).item() == 0.0 and clip_grad_norm_([], 1.0).item() == 0.0
    assert clip_grad_norm_(p, 10.0).item() == pytest.approx(1.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_norm_that_is_not_finite_can_be_refused(value):
    found = parameters(grads=[[1.0], [2.0, value]])
    text = (
        f"needs finite gradients, got a norm of {value}; the gradient of parameter 1 is the first"
    )
    with pytest.raises(ValueError, match=text):
        clip_grad_norm_(found, 1.0, error_if_nonfinite=True)
    assert found[0].grad.item() == 1.0
    assert not math.isfinite(clip_grad_norm_(found, 1.0, math.inf).item())
    # As in PyTorch: nan goes into every gradient, inf makes the others 0.
    assert math.isnan(found[0].grad.item()) if math.isnan(value) else found[0].grad.item() == 0


def test_values_are_bounded():
    found = parameters(ebb.float32, [[-3.0, 0.5, math.nan], np.linspace(-2, 2, 41).tolist()])
    clip_grad_value_(found, 1.5)
    assert found[0].grad.tolist()[:2] == [-1.5, 0.5] and math.isnan(found[0].grad.tolist()[2])
    np.testing.assert_allclose(found[1].grad.numpy(), np.clip(np.linspace(-2, 2, 41), -1.5, 1.5),
                               rtol=1e-6)  # fmt: skip


def test_bad_arguments_are_refused():
    found = parameters()
    with pytest.raises(ValueError, match="clip_grad_norm_: needs max_norm >= 0, got -1"):
        clip_grad_norm_(found, -1)
    with pytest.raises(ValueError, match="clip_grad_norm_: needs norm_type > 0, got 0"):
        clip_grad_norm_(found, 1, 0)
    with pytest.raises(TypeError, match="needs Tensors, got str as parameter 0"):
        clip_grad_norm_("x", 1)
    with pytest.raises(TypeError, match="needs a number for max_norm, got list"):
        clip_grad_norm_(found, [])
    with pytest.raises(ValueError, match="clip_grad_value_: needs clip_value >= 0, got nan"):
        clip_grad_value_(found, math.nan)
    with pytest.raises(TypeError, match="clip_grad_value_: needs real gradients, got complex64"):
        clip_grad_value_(parameters(ebb.complex64), 1)


def test_parameters_become_one_vector_and_come_back():
    net = nn.Linear(3, 2)
    vector = parameters_to_vector(net.parameters())
    assert vector.shape == (8,) and vector.requires_grad
    weight = net.weight
    vector_to_parameters(ebb.arange(8.0), net.parameters())
    assert net.weight is weight and net.weight.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert net.bias.tolist() == [6, 7] and net.weight.is_leaf
    with pytest.raises(ValueError, match=r"needs a vector of 8 elements, got \[9\]"):
        vector_to_parameters(ebb.zeros(9), net.parameters())
    with pytest.raises(TypeError, match="vector_to_parameters: needs a Tensor, got list"):
        vector_to_parameters([0.0] * 8, net.parameters())
