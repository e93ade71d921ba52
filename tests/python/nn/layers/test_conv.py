# tests/python/nn/layers/test_conv.py -- convolution and pooling layers.
import math

import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional
RNG = np.random.default_rng(5)


def noise(*shape):
    return ebb.tensor(RNG.standard_normal(shape).astype(np.float32))


CONVS = {
    "Conv1d": (nn.Conv1d, F.conv1d, 1),
    "Conv2d": (nn.Conv2d, F.conv2d, 2),
    "Conv3d": (nn.Conv3d, F.conv3d, 3),
}
TRANSPOSED = {
    "ConvTranspose1d": (nn.ConvTranspose1d, F.conv_transpose1d, 1),
    "ConvTranspose2d": (nn.ConvTranspose2d, F.conv_transpose2d, 2),
    "ConvTranspose3d": (nn.ConvTranspose3d, F.conv_transpose3d, 3),
}


@pytest.mark.parametrize("name", CONVS)
def test_a_convolution_layer_is_its_function(name):
    layer_type, function, dims = CONVS[name]
    layer = layer_type(4, 6, 3, stride=2, padding=1, dilation=1, groups=2)
    assert list(layer.weight.shape) == [6, 2, *[3] * dims]
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    x = noise(2, 4, *[7] * dims)
    wanted = function(x, layer.weight, layer.bias, 2, 1, 1, 2)
    assert layer(x).tolist() == wanted.tolist()
    assert layer(x[0]).shape == wanted[0].shape


@pytest.mark.parametrize("name", TRANSPOSED)
def test_a_transposed_layer_is_its_function(name):
    layer_type, function, dims = TRANSPOSED[name]
    layer = layer_type(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False)
    assert list(layer.weight.shape) == [4, 3, *[3] * dims]
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    x = noise(2, 4, *[4] * dims)
    wanted = function(x, layer.weight, None, 2, 1, 1, 2)
    assert layer(x).tolist() == wanted.tolist()
    assert list(wanted.shape[2:]) == [8] * dims


def test_an_output_size_chooses_the_output_padding():
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = noise(1, 2, 5, 5)
    assert list(layer(x).shape) == [1, 3, 9, 9]
    assert list(layer(x, output_size=[10, 9]).shape) == [1, 3, 10, 9]
    with pytest.raises(ValueError, match=r"output_size must be \[9, 9\] or, by less"):
        layer(x, output_size=[11, 9])


@pytest.mark.parametrize("layer", [nn.Conv2d(4, 8, 3), nn.ConvTranspose2d(8, 4, 3)], ids=str)
def test_parameters_are_drawn_within_their_bound(layer):
    bound = 1 / math.sqrt(4 * 9)
    for one in layer.parameters():
        values = np.abs(one.detach().numpy())
        assert 0.6 * bound < values.max() <= bound


def test_a_convolution_says_what_it_is():
    text = "Conv2d(3, 6, kernel_size=(3, 5), stride=(2, 2), padding=valid, groups=3, bias=False)"
    assert repr(nn.Conv2d(3, 6, (3, 5), 2, "valid", groups=3, bias=False)) == text
    text = "ConvTranspose1d(1, 1, kernel_size=(3,), stride=(2,), padding=(1,), dilation=(2,)"
    layer = nn.ConvTranspose1d(1, 1, 3, 2, 1, output_padding=1, dilation=2)
    assert repr(layer) == text + ", output_padding=(1,))"


@pytest.mark.parametrize("layer", [nn.Conv2d, nn.ConvTranspose2d])
def test_one_number_in_a_list_counts_for_every_dim(layer):
    listed = layer(3, 4, 3, stride=[2], padding=(1,), dilation=[2])
    assert repr(listed) == repr(layer(3, 4, 3, stride=2, padding=1, dilation=2))


BAD = {
    "groups": (lambda: nn.Conv2d(3, 4, 1, groups=2), "channels that groups divide"),
    "no groups": (lambda: nn.Conv2d(3, 4, 1, groups=0), "channels that groups divide"),
    "kernel": (lambda: nn.Conv2d(3, 4, (1, 2, 3)), "kernel_size needs one number or 2"),
    "mode": (
        lambda: nn.Conv1d(1, 1, 1, padding_mode="mirror"),
        "needs padding_mode zeros, reflect",
    ),
    "name": (lambda: nn.Conv1d(1, 1, 1, padding="full"), "must be 'same' or 'valid'"),
    "same": (lambda: nn.Conv1d(1, 1, 1, 2, padding="same"), "'same' needs a stride of 1"),
    "transposed mode": (lambda: nn.ConvTranspose1d(1, 1, 1, padding_mode="reflect"), "got 'refl"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options_of_a_layer_are_refused(name):
    make, text = BAD[name]
    with pytest.raises(ValueError, match=text):
        make()


def test_none_keeps_the_size_of_a_dim():
    x = noise(2, 3, 7, 8)
    for function in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        assert function(x, (3, None)).tolist() == function(x, (3, 8)).tolist()
        assert function(x, None).tolist() == x.tolist()
    assert F.adaptive_avg_pool1d(x[0], [None]).tolist() == x[0].tolist()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [(2, 1), "same"])
def test_other_paddings_come_from_pad(mode, padding):
    layer = nn.Conv2d(2, 3, (4, 3), padding=padding, padding_mode=mode)
    x = noise(1, 2, 6, 7)
    pairs = [(0, 0), (0, 0), *([(2, 2), (1, 1)] if padding != "same" else [(1, 2), (1, 1)])]
    modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    padded = ebb.tensor(np.pad(x.numpy(), pairs, mode=modes[mode]))
    wanted = F.conv2d(padded, layer.weight, layer.bias)
    np.testing.assert_allclose(layer(x).detach().numpy(), wanted.detach().numpy(), atol=1e-6)
    assert f"padding_mode={mode}" in repr(layer)


def test_unflatten_undoes_flatten():
    x = noise(2, 12)
    assert nn.Unflatten(1, (3, 4))(x).tolist() == x.reshape(2, 3, 4).tolist()
    assert list(nn.Unflatten(-1, (2, -1, 3))(x).shape) == [2, 2, 2, 3]
    with pytest.raises(ValueError, match=r"must hold the 12 elements of dim 1, got \[5, 2\]"):
        nn.Unflatten(1, (5, 2))(x)
    with pytest.raises(IndexError, match="dim must be from -2 to 1, got 2"):
        nn.Unflatten(2, (5, 2))(x)


@pytest.mark.parametrize(
    "layer", [nn.MaxPool2d(2, return_indices=True), nn.AdaptiveMaxPool2d(3, return_indices=True)]
)
def test_places_of_maxima_are_returned_if_asked_for(layer):
    x = noise(2, 3, 6, 6)
    values, indices = layer(x)
    assert indices.dtype == ebb.int64
    found = np.take_along_axis(x.numpy().reshape(6, 36), indices.numpy().reshape(6, 9), 1)
    assert found.tolist() == values.numpy().reshape(6, 9).tolist()


def test_a_small_network_learns():
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 2),
    )
    x = noise(16, 1, 8, 8)
    target = ebb.tensor((x.numpy()[:, 0, :, :4].mean((1, 2)) > 0).astype(np.int64))
    optimizer = ebb.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
