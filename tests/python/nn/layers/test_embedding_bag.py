# tests/python/nn/layers/test_embedding_bag.py -- bags of rows: offsets, padding, weights, layers.
import itertools

import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional
WEIGHT = ebb.arange(12.0).reshape(4, 3)
ROWS = ebb.tensor([1, 2, 0, 3, 3])


def sums(*bags):
    return [[sum(float(3 * row + i) for row in bag) for i in range(3)] for bag in bags]


def test_bags_begin_at_offsets_and_may_be_empty():
    out = F.embedding_bag(ROWS, WEIGHT, ebb.tensor([0, 2, 2]), mode="sum")
    assert out.tolist() == sums([1, 2], [], [0, 3, 3])


def test_the_last_offset_may_say_where_the_last_bag_ends():
    offsets = ebb.tensor([0, 2, 4])
    out = F.embedding_bag(ROWS, WEIGHT, offsets, mode="sum", include_last_offset=True)
    assert out.tolist() == sums([1, 2], [0, 3])


def test_a_padding_row_does_not_count():
    for padding in (3, -1):
        out = F.embedding_bag(ROWS[None], WEIGHT, mode="sum", padding_idx=padding)
        assert out.tolist() == sums([1, 2, 0])
    only = ebb.tensor([[3, 3]])
    for mode in ("sum", "mean", "max"):
        assert not F.embedding_bag(only, WEIGHT, mode=mode, padding_idx=3).any()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_different_lengths_are_rows_of_their_own(mode):
    weight = ebb.randn(7, 4, requires_grad=True)
    rows = ebb.randint(0, 7, (9,))
    bounds = [0, 3, 4, 9]
    out = F.embedding_bag(rows, weight, ebb.tensor(bounds[:-1]), mode=mode)
    for bag, (first, last) in enumerate(itertools.pairwise(bounds)):
        seen = weight[rows[first:last]].detach().numpy()
        np.testing.assert_allclose(out[bag].detach().numpy(), getattr(np, mode)(seen, 0), 1e-6)
    out.sum().backward()
    assert weight.grad.shape == weight.shape


def test_the_maximum_sends_its_gradient_to_the_first_row_that_has_it():
    weight = ebb.tensor([[1.0], [2.0], [2.0]], requires_grad=True)
    F.embedding_bag(ebb.tensor([[0, 2, 1]]), weight, mode="max").sum().backward()
    assert weight.grad.tolist() == [[0.0], [0.0], [1.0]]


def test_rows_longer_than_max_norm_are_scaled_in_place():
    weight = ebb.tensor([[3.0, 4.0], [0.3, 0.4]])
    out = F.embedding_bag(ebb.tensor([[0, 1]]), weight, max_norm=1.0, mode="sum")
    np.testing.assert_allclose(weight.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    np.testing.assert_allclose(out.numpy(), [[0.9, 1.2]], rtol=1e-5)


def test_the_layer_draws_a_weight_and_shows_its_options():
    layer = nn.EmbeddingBag(5, 3, mode="sum", padding_idx=-1)
    assert repr(layer) == "EmbeddingBag(5, 3, mode='sum', padding_idx=4)"
    assert not layer.weight[4].any() and layer.weight[0].any()
    factors = ebb.tensor([[2.0, 0.5]])
    out = layer(ebb.tensor([[0, 1]]), per_sample_weights=factors)
    assert ebb.allclose(out, 2 * layer.weight[:1] + 0.5 * layer.weight[1:2])
    given = nn.EmbeddingBag.from_pretrained(WEIGHT, mode="sum")
    assert given(ROWS, ebb.tensor([0])).tolist() == sums([1, 2, 0, 3, 3])
    assert not given.weight.requires_grad


@pytest.mark.parametrize("padding_idx", [None, 1])
def test_gradients_are_divided_by_how_often_a_row_is_named(padding_idx):
    rows, counts = ebb.tensor([[0, 1, 1], [2, 2, 2]]), ebb.tensor([1.0, 2.0, 3.0, 1.0])[:, None]
    calls = [
        lambda weight, **options: F.embedding(rows, weight, padding_idx, **options),
        lambda weight, **options: F.embedding_bag(
            rows, weight, padding_idx=padding_idx, mode="sum", **options
        ),
    ]
    for call in calls:
        weight = ebb.arange(12.0).reshape(4, 3).requires_grad_()
        (plain,) = ebb.autograd.grad((call(weight) ** 2).sum(), weight)
        (shared,) = ebb.autograd.grad(
            (call(weight, scale_grad_by_freq=True) ** 2).sum(), weight, create_graph=True
        )
        np.testing.assert_allclose(shared.detach().numpy(), (plain / counts).numpy(), rtol=1e-6)
        (second,) = ebb.autograd.grad(shared.sum(), weight)
        assert second[3].tolist() == [0.0] * 3 and second[2].tolist() != [0.0] * 3


@pytest.mark.parametrize("layer", [nn.Embedding, nn.EmbeddingBag])
def test_layers_hand_the_division_on(layer):
    layer = layer(3, 2, scale_grad_by_freq=True)
    layer(ebb.tensor([[0, 1, 1]])).sum().backward()
    grad = layer.weight.grad
    assert grad[0].tolist() == grad[1].tolist() and grad[2].tolist() == [0.0, 0.0]


def test_a_division_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="needs mode 'sum' or 'mean' with scale_grad_by_freq"):
        F.embedding_bag(ROWS, WEIGHT, ebb.tensor([0]), mode="max", scale_grad_by_freq=True)
    with pytest.raises(IndexError):
        F.embedding(ebb.tensor([9]), WEIGHT, scale_grad_by_freq=True)


@pytest.mark.parametrize("call", [F.embedding, F.embedding_bag])
def test_rows_whose_gradients_are_scaled_are_looked_up_once(call):
    weight, rows = ebb.rand(5, 2, requires_grad=True), ebb.tensor([[1, 1, 3]])
    with ebb.profiler.profile() as profile:
        call(rows, weight, scale_grad_by_freq=True)
    assert sum(one.count for one in profile.key_averages() if one.key == "embedding") == 1
    with pytest.raises(IndexError, match="indices must be at least 0 and below 5, got 5"):
        call(rows + 2, weight, scale_grad_by_freq=True)
