# tests/python/nn/test_embedding_bag.py -- bags of rows: offsets, padding, weights, layers.
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
