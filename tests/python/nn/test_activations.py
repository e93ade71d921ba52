# tests/python/nn/test_activations.py -- activation modules against their formulas in NumPy.
import math

import numpy as np
import pytest

import ebb
import ebb.nn.functional as F
from ebb import nn
from ebb.autograd import gradcheck, gradgradcheck

erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


MODULES = {
    "ReLU()": (nn.ReLU(), lambda x: np.maximum(x, 0)),
    "ReLU6(inplace=True)": (nn.ReLU6(inplace=True), lambda x: np.clip(x, 0, 6)),
    "LeakyReLU(negative_slope=0.25)": (nn.LeakyReLU(0.25), lambda x: np.where(x > 0, x, x / 4)),
    "ELU(alpha=0.5)": (nn.ELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    "CELU(alpha=0.5)": (nn.CELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x / 0.5))),
    "SELU()": (
        nn.SELU(),
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
    "GELU(approximate='none')": (nn.GELU(), lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
    "GELU(approximate='tanh')": (
        nn.GELU("tanh"),
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "SiLU()": (nn.SiLU(), lambda x: x * sigmoid(x)),
    "Mish(inplace=True)": (nn.Mish(True), lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "Sigmoid()": (nn.Sigmoid(), sigmoid),
    "LogSigmoid()": (nn.LogSigmoid(), lambda x: np.log(sigmoid(x))),
    "Tanh()": (nn.Tanh(), np.tanh),
    "Softplus(beta=2.0, threshold=20.0)": (nn.Softplus(2.0), lambda x: np.log1p(np.exp(2 * x)) / 2),
    "Softsign()": (nn.Softsign(), lambda x: x / (1 + np.abs(x))),
    "Hardtanh(min_val=-2.0, max_val=0.5)": (nn.Hardtanh(-2.0, 0.5), lambda x: np.clip(x, -2, 0.5)),
    "Hardsigmoid()": (nn.Hardsigmoid(), lambda x: np.clip(x + 3, 0, 6) / 6),
    "Hardswish()": (nn.Hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "Threshold(threshold=0.5, value=-1.0)": (
        nn.Threshold(0.5, -1.0),
        lambda x: np.where(x > 0.5, x, -1.0),
    ),
    "Hardshrink(lambd=0.75)": (nn.Hardshrink(0.75), lambda x: np.where(abs(x) > 0.75, x, 0)),
    "Softshrink(lambd=0.5)": (
        nn.Softshrink(),
        lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
    ),
    "Tanhshrink()": (nn.Tanhshrink(), lambda x: x - np.tanh(x)),
    "GLU(dim=0)": (nn.GLU(0), lambda x: x[:2] * sigmoid(x[2:])),
    "Softmax(dim=-1)": (nn.Softmax(-1), softmax),
    "LogSoftmax(dim=1)": (nn.LogSoftmax(1), lambda x: np.log(softmax(x))),
    "Softmin(dim=1)": (nn.Softmin(1), lambda x: softmax(-x)),
    "PReLU(num_parameters=1)": (nn.PReLU(dtype=ebb.float64), lambda x: np.where(x > 0, x, x / 4)),
}


def values():
    x = np.random.default_rng(4).standard_normal((4, 5)) * 4
    x[np.abs(x) < 0.05] = 0.3  # off the kinks
    return x


@pytest.mark.parametrize("text", MODULES)
def test_module_follows_its_formula(text):
    module, formula = MODULES[text]
    x = values()
    given = ebb.tensor(x)
    result = module(given)
    np.testing.assert_allclose(result.detach().numpy(), formula(x), rtol=1e-12, atol=1e-14)
    assert repr(module) == text
    assert ("inplace=True" in text) == (result is given)


@pytest.mark.parametrize("text", [text for text in MODULES if "inplace" not in text])
def test_module_has_both_derivatives(text):
    module, _ = MODULES[text]
    x = ebb.tensor(values()[:, :2] / 2 + 0.01, requires_grad=True)
    assert gradcheck(module, (x,))
    assert gradgradcheck(module, (x,))


@pytest.mark.parametrize(
    "function",
    [F.relu, F.relu6, F.leaky_relu, F.elu, F.selu, F.celu, F.silu, F.mish, F.hardswish,
     F.hardsigmoid, F.hardtanh],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_inplace_gives_the_same_values_and_gradients(function):
    results = []
    for inplace in (False, True):
        leaf = ebb.tensor(values(), requires_grad=True)
        x = leaf * 1
        result = function(x, inplace=inplace)
        assert (result is x) == inplace
        (result * result).sum().backward()
        results.append((result.detach().numpy(), leaf.grad.numpy()))
    for plain, overwritten in zip(*results, strict=True):
        np.testing.assert_array_equal(plain, overwritten)


def test_large_inputs_stay_finite_with_their_gradients():
    for module in (nn.SELU(), nn.CELU(0.1), nn.Softplus(), nn.Mish(), nn.SiLU(), nn.LogSigmoid(),
                   nn.Softsign(), nn.GELU(), nn.Tanhshrink(), nn.Sigmoid()):  # fmt: skip
        x = ebb.tensor([-500.0, 500.0, 1e4, -1e4], requires_grad=True)
        module(x).sum().backward()
        assert np.isfinite(x.grad.numpy()).all(), module


def test_prelu_has_a_slope_per_channel():
    layer = nn.PReLU(3)
    with ebb.no_grad():
        layer.weight.copy_(ebb.tensor([0.0, 1.0, 2.0]))
    x = -ebb.ones(2, 3, 4)
    assert layer(x)[0].tolist() == [[0.0] * 4, [-1.0] * 4, [-2.0] * 4]
    layer(x).sum().backward()
    assert layer.weight.grad.tolist() == [-8.0] * 3
    assert layer(-ebb.ones(5, 3)).shape == (5, 3)
    with pytest.raises(ValueError, match=r"needs a weight of shape \[1\] or \[2\] .*, got \[3\]"):
        layer(ebb.ones(1, 2))


def test_prelu_has_its_weight_as_slope_at_0_and_the_shape_of_its_input():
    x = ebb.tensor([0.0, -0.0, math.inf], requires_grad=True)
    weight = ebb.tensor([0.25], requires_grad=True)
    F.prelu(x, weight).sum().backward()
    assert x.grad.tolist() == [0.25, 0.25, 1.0]
    assert weight.grad.tolist() == [0.0]
    assert F.prelu(ebb.tensor(-2.0), weight).shape == ()
    assert math.isnan(F.prelu(ebb.tensor(math.nan), weight).item())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.threshold(x, 0.5, 7.0),
        F.hardshrink,
        F.softshrink,
        F.tanhshrink,
        F.celu,
        nn.PReLU(),
    ],
)
def test_activations_made_of_others_keep_nan(function):
    assert math.isnan(function(ebb.tensor([math.nan])).item())


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="PReLU: needs num_parameters >= 1, got 0"):
        nn.PReLU(0)
    with pytest.raises(ValueError, match="Hardtanh: needs min_val < max_val, got 1 and 1"):
        nn.Hardtanh(1, 1)
    with pytest.raises(ValueError, match="glu: needs an even size along dim -1, got 3"):
        F.glu(ebb.ones(2, 3))
    with pytest.raises(IndexError, match="glu: needs a dim of the input of 0 dims, got -1"):
        F.glu(ebb.tensor(1.0))
    with pytest.raises(ValueError, match="celu: needs alpha other than 0"):
        F.celu(ebb.ones(2), 0)
    with pytest.raises(ValueError, match="softshrink: needs lambd >= 0, got -1"):
        F.softshrink(ebb.ones(2), -1)
