# tests/python/nn/layers/test_padding.py -- padding layers against numpy.pad.
import numpy as np
import pytest

import ebb
from ebb import nn

MODES = {
    "CircularPad": {"mode": "wrap"},
    "ConstantPad": {"mode": "constant", "constant_values": 2.5},
    "ReflectionPad": {"mode": "reflect"},
    "ReplicationPad": {"mode": "edge"},
    "ZeroPad": {"mode": "constant"},
}


def layer_of(kind, dims, padding):
    make = getattr(nn, f"{kind}{dims}d")
    return make(padding, 2.5) if kind == "ConstantPad" else make(padding)


@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_layer_pads_the_last_dims_as_numpy_does(kind, dims):
    counts = tuple(range(1, 2 * dims + 1))
    x = ebb.randn(2, 1, *range(7, 7 + dims))
    pairs = [(0, 0), (0, 0), *zip(counts[::2], counts[1::2], strict=True)]
    pairs[2:] = pairs[:1:-1]
    layer = layer_of(kind, dims, counts)
    np.testing.assert_array_equal(layer(x).numpy(), np.pad(x.numpy(), pairs, **MODES[kind]))
    assert layer.padding == counts


@pytest.mark.parametrize("kind", MODES)
def test_one_number_pads_every_side(kind):
    assert layer_of(kind, 2, 1)(ebb.randn(1, 2, 3, 4)).shape == (1, 2, 5, 6)


@pytest.mark.parametrize("kind", MODES)
def test_a_negative_count_cuts_off(kind):
    x = ebb.randn(1, 2, 5, 6)
    assert ebb.equal(layer_of(kind, 2, (-1, -2, 0, -1))(x), x[:, :, :-1, 1:-2])


def test_representations_are_those_of_pytorch():
    assert repr(nn.ReflectionPad1d(2)) == "ReflectionPad1d((2, 2))"
    assert repr(nn.ZeroPad2d((1, 0, 0, 2))) == "ZeroPad2d((1, 0, 0, 2))"
    assert repr(nn.ConstantPad1d(1, 0.5)) == "ConstantPad1d(padding=(1, 1), value=0.5)"


def test_counts_that_do_not_fit_the_dims_are_refused():
    with pytest.raises(ValueError, match=r"ZeroPad2d: padding needs one number or 4, got \[1, 2\]"):
        nn.ZeroPad2d((1, 2))
    with pytest.raises(TypeError, match="ReflectionPad1d: argument 'padding' must be int or seq"):
        nn.ReflectionPad1d("ab")
    with pytest.raises(ValueError, match="ReflectionPad1d: input needs 2 to 3 dims, got shape"):
        nn.ReflectionPad1d(1)(ebb.ones(3))
