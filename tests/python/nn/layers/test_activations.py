# tests/python/nn/layers/test_activations.py -- what the rows of activations in the op table and the
# module table do not reach: in-place forms, extreme inputs, PReLU.
import math

import numpy as np
import pytest

import ebb
import ebb.nn.functional as F
from ebb import nn


def values():
    x = np.random.default_rng(4).standard_normal((4, 5)) * 4
    x[np.abs(x) < 0.05] = 0.3  # off the kinks
    return x


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
    assert repr(layer) == "PReLU(num_parameters=3)"
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


@pytest.mark.parametrize(
    ("module", "name"),
    [(nn.Softmax, "softmax"), (nn.LogSoftmax, "log_softmax"), (nn.Softmin, "softmin")],
)
@pytest.mark.parametrize(("shape", "dim"), [((), 0), ((4,), 0), ((2, 3), 1), ((2, 3, 4), 0)])
def test_without_dim_it_is_the_one_that_pytorch_takes_and_a_warning_says_which(
    module, name, shape, dim
):
    x = ebb.randn(shape)
    function = getattr(F, name)
    text = f"{name}: without dim it is along dim {dim} of {len(shape)} dims"
    wanted = function(x, dim).numpy()
    for call in (module(), function, lambda x: function(x, None), lambda x: function(x, dim=None)):
        with pytest.warns(UserWarning, match=text):
            np.testing.assert_array_equal(call(x).numpy(), wanted)
    assert "None" in repr(module()) and f"dim={dim}" in repr(module(dim))


def test_with_dim_there_is_no_warning(recwarn):
    nn.Softmax(1)(ebb.ones(2, 3))
    F.log_softmax(ebb.ones(2, 3), 1)
    assert not recwarn.list
