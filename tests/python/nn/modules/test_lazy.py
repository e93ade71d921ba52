# tests/python/nn/modules/test_lazy.py -- layers that learn sizes from their first input, and
# buffers.
import copy
import inspect
import pickle

import numpy as np
import pytest

import ebb
from ebb import nn

CASES = {
    "LazyLinear": (nn.LazyLinear, nn.Linear, {"out_features": 3}, (2, 5), "in_features", 5),
    **{
        f"LazyConv{d}d": (
            getattr(nn, f"LazyConv{d}d"), getattr(nn, f"Conv{d}d"),
            {"out_channels": 4, "kernel_size": 2, "groups": 2}, (1, 6, *[5] * d), "in_channels", 6,
        )
        for d in (1, 2, 3)
    },
    **{
        f"LazyConvTranspose{d}d": (
            getattr(nn, f"LazyConvTranspose{d}d"), getattr(nn, f"ConvTranspose{d}d"),
            {"out_channels": 4, "kernel_size": 2, "groups": 2, "bias": False}, (1, 6, *[3] * d),
            "in_channels", 6,
        )
        for d in (1, 2, 3)
    },
    **{
        f"LazyBatchNorm{d}d": (
            getattr(nn, f"LazyBatchNorm{d}d"), getattr(nn, f"BatchNorm{d}d"), {"momentum": 0.3},
            (3, 4, *[3] * d), "num_features", 4,
        )
        for d in (1, 2, 3)
    },
    **{
        f"LazyInstanceNorm{d}d": (
            getattr(nn, f"LazyInstanceNorm{d}d"), getattr(nn, f"InstanceNorm{d}d"),
            {"affine": True, "track_running_stats": True}, (4, *[3] * d), "num_features", 4,
        )
        for d in (1, 2, 3)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_first_input_makes_the_layer_that_its_sizes_say(name):
    lazy, plain, options, shape, size, count = CASES[name]
    x = ebb.randn(*shape)
    ebb.manual_seed(4)
    wanted_layer = plain(**{size: count}, **options)
    layer = lazy(**options)
    assert layer.has_uninitialized_params() and type(layer) is lazy
    ebb.manual_seed(4)
    got = layer(x)
    assert type(layer) is plain and getattr(layer, size) == count
    np.testing.assert_array_equal(got.detach().numpy(), wanted_layer(x).detach().numpy())
    assert repr(layer) == repr(wanted_layer)
    assert list(layer.state_dict()) == list(wanted_layer.state_dict())
    got.sum().backward()
    assert all(one.grad is not None for one in layer.parameters())


@pytest.mark.parametrize("name", CASES)
def test_a_state_dict_gives_shapes_before_the_first_input(name):
    lazy, plain, options, shape, size, count = CASES[name]
    given = plain(**{size: count}, **options)
    layer = lazy(**options)
    layer.load_state_dict(given.state_dict())
    assert not layer.has_uninitialized_params()
    x = ebb.randn(*shape)
    assert ebb.equal(layer(x), given(x)) and type(layer) is plain


def test_a_lazy_layer_is_copied_pickled_and_converted_as_it_is():
    layer = nn.LazyLinear(3)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin(ebb.ones(2, 4)).shape == (2, 3) and type(twin) is nn.Linear
    assert layer.has_uninitialized_params()
    assert layer.double()(ebb.ones(1, 2, dtype=ebb.float64)).dtype is ebb.float64
    other = nn.LazyLinear(3)
    other.load_state_dict(nn.LazyLinear(3).state_dict())
    assert other.has_uninitialized_params()


def test_inputs_of_other_dims_are_refused_before_anything_is_made():
    layer = nn.LazyConv2d(4, 3)
    with pytest.raises(ValueError, match="LazyConv2d: input needs 3 to 4 dims, got shape"):
        layer(ebb.ones(2, 3))
    assert layer.has_uninitialized_params()


def test_buffers_are_registered_by_assignment():
    layer = nn.Module()
    layer.mean = nn.Buffer(ebb.ones(2))
    layer.cache = nn.Buffer(ebb.zeros(3), persistent=False)
    assert [name for name, _ in layer.named_buffers()] == ["mean", "cache"]
    assert list(layer.state_dict()) == ["mean"]
    layer.cache = nn.Buffer(ebb.zeros(3))
    assert list(layer.state_dict()) == ["mean", "cache"]
    layer.mean = ebb.zeros(2)
    assert layer.get_buffer("mean").tolist() == [0, 0]
    assert not list(layer.parameters())


@pytest.mark.parametrize("name", [*nn.lazy.__all__])
def test_a_lazy_layer_takes_what_its_layer_does_but_the_size_that_it_learns(name):
    lazy = getattr(nn, name)
    # Instance norms' options stand as those of batch norms do, in PyTorch too.
    shown = nn.BatchNorm1d if "InstanceNorm" in name else lazy.cls_to_become
    taken, *of_layer = inspect.signature(shown).parameters.values()
    assert taken.name in ("in_features", "in_channels", "num_features")
    assert list(inspect.signature(lazy).parameters.values()) == of_layer
    with pytest.raises(TypeError, match=rf"{name}\(\): .*'colour'"):
        lazy(colour="red", **{one.name: 3 for one in of_layer if one.default is one.empty})


def test_a_lazy_layer_draws_nothing_before_its_first_input():
    ebb.manual_seed(3)
    first = ebb.rand(2)
    ebb.manual_seed(3)
    nn.LazyLinear(4), nn.LazyConv2d(3, 2), nn.LazyBatchNorm1d()
    assert ebb.equal(ebb.rand(2), first)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_lazy_instance_norms_have_weights_and_averages_unless_told(dims):
    kind = getattr(nn, f"LazyInstanceNorm{dims}d")
    assert {*kind().state_dict()} >= {"weight", "bias", "running_mean", "running_var"}
    assert {*kind(affine=False).state_dict()} >= {"running_mean"} and kind(
        affine=False
    ).weight is None
    assert kind(1e-5, 0.1, False, False).running_mean is None
