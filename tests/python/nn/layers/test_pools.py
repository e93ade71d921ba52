# tests/python/nn/layers/test_pools.py -- pools of other kinds through their functions and layers.
import math

import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_puts_maxima_back_where_they_were(dims):
    x = ebb.randn(2, 3, *[6] * dims)
    pool = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)
    values, indices = pool(x)
    back = getattr(nn, f"MaxUnpool{dims}d")(2)(values, indices)
    assert back.shape == x.shape
    assert ebb.equal(back, ebb.where(back != 0, x, 0.0))
    assert (back != 0).sum().item() == values.numel()


def test_unpooling_takes_whole_shapes_and_sizes():
    values, indices = F.max_pool2d(ebb.randn(1, 1, 5, 5), 2, return_indices=True)
    for size in ((1, 1, 5, 5), [5, 5]):
        assert F.max_unpool2d(values, indices, 2, output_size=size).shape == (1, 1, 5, 5)


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_windows_begin_where_the_samples_say(dims):
    x = ebb.randn(2, 3, *[9] * dims)
    samples = ebb.full((2, 3, dims), 0.25)
    layer = getattr(nn, f"FractionalMaxPool{dims}d")(
        2, output_ratio=0.5, return_indices=True, _random_samples=samples
    )
    values, indices = layer(x)
    step = 7 / 3
    begins = [int((i + 0.25) * step) - int(0.25 * step) for i in range(3)] + [7]
    want = x.numpy()
    for dim in range(2, 2 + dims):
        parts = [np.take(want, range(b, b + 2), dim).max(dim, keepdims=True) for b in begins]
        want = np.concatenate(parts, dim)
    np.testing.assert_array_equal(values.numpy(), want)
    flat = x.reshape(2, 3, -1).gather(2, indices.reshape(2, 3, -1))
    assert ebb.equal(flat, values.reshape(2, 3, -1))


def test_fractional_windows_differ_from_draw_to_draw():
    x = ebb.arange(100.0).reshape(1, 1, 10, 10)
    ebb.manual_seed(0)
    draws = {str(F.fractional_max_pool2d(x, 2, 6).tolist()) for _ in range(10)}
    assert len(draws) > 1
    with pytest.raises(ValueError, match="fractional_max_pool2d: needs either output_size or"):
        F.fractional_max_pool2d(x, 2)


def test_samples_of_two_dims_are_of_width_and_height():
    x = ebb.randn(1, 1, 4, 9)
    samples = ebb.tensor([[[0.9, 0.0]]])
    values = F.fractional_max_pool2d(x, (1, 2), (4, 4), _random_samples=samples)
    begins = [int((i + 0.9) * 7 / 3) - int(0.9 * 7 / 3) for i in range(3)] + [7]
    wanted = np.stack([x.numpy()[0, 0, :, b : b + 2].max(1) for b in begins], 1)
    np.testing.assert_allclose(values[0, 0].numpy(), wanted, rtol=0)


def test_three_dims_keep_sizes_that_are_none():
    x = ebb.randn(1, 2, 4, 5, 6)
    assert F.adaptive_avg_pool3d(x, (None, 2, 3)).shape == (1, 2, 4, 2, 3)
    values, indices = nn.AdaptiveMaxPool3d((2, None, 3), return_indices=True)(x)
    assert values.shape == indices.shape == (1, 2, 2, 5, 3)


def test_a_root_of_zeros_has_gradient_zero():
    x = ebb.zeros(1, 4, requires_grad=True)
    F.lp_pool1d(x, 2.0, 2).sum().backward()
    assert x.grad.tolist() == [[0.0] * 4]


def test_cross_map_normalisation_sums_channels_around():
    x = ebb.randn(2, 6, 3, 3)
    out = nn.CrossMapLRN2d(5, alpha=0.3, beta=0.5, k=2)(x)
    assert ebb.allclose(out, F.local_response_norm(x, 5, 0.3, 0.5, 2))
    # An even size takes the channels that the odd one below it has, as in PyTorch.
    even = nn.CrossMapLRN2d(4, alpha=0.4, beta=0.5, k=2)(x)
    assert ebb.allclose(even, F.local_response_norm(x, 3, 0.3, 0.5, 2))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_norms_of_infinite_order_take_the_extreme_magnitude_of_a_window(dims):
    x = ebb.tensor([[-3.0, 2.0, 1.0, -4.0, 0.5]], requires_grad=True)
    shaped = x.reshape(1, *[1] * (dims - 1), 5)
    kernel, pool = [1] * (dims - 1) + [2], getattr(F, f"lp_pool{dims}d")
    assert pool(shaped, math.inf, kernel).flatten().tolist() == [3.0, 4.0]
    assert pool(shaped, -math.inf, kernel).flatten().tolist() == [2.0, 1.0]
    assert pool(shaped, math.inf, kernel, ceil_mode=True).flatten().tolist() == [3.0, 4.0, 0.5]
    pool(shaped, math.inf, kernel).sum().backward()
    assert x.grad.tolist() == [[-1.0, 0.0, 0.0, -1.0, 0.0]]
