# tests/python/nn/losses/test_class_losses.py -- losses with weights of their own.
import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional


@pytest.fixture
def loss():
    ebb.manual_seed(2)
    return nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)


def test_clusters_have_fewer_features_and_all_probabilities_add_up_to_one(loss):
    assert [tuple(one[0].weight.shape) for one in loss.tail] == [(4, 8), (2, 8)]
    assert [tuple(one[1].weight.shape) for one in loss.tail] == [(3, 4), (4, 2)]
    logs = loss.log_prob(ebb.randn(5, 8))
    np.testing.assert_allclose(logs.exp().sum(1).detach().numpy(), 1, rtol=1e-5)


def test_the_output_is_the_log_probability_of_the_target(loss):
    x, target = ebb.randn(10, 8), ebb.tensor([9, 0, 4, 2, 7, 1, 3, 5, 6, 8])
    output, mean = loss(x, target)
    wanted = loss.log_prob(x).gather(1, target.unsqueeze(1)).reshape(-1)
    assert ebb.allclose(output, wanted) and ebb.allclose(mean, -wanted.mean())
    assert loss(x, target).loss.item() == mean.item()
    mean.backward()
    assert all(one.grad is not None for one in loss.parameters())


def test_one_sample_needs_no_batch(loss):
    x = ebb.randn(8)
    output, _ = loss(x, ebb.tensor(7))
    assert output.shape == () and ebb.allclose(output, loss.log_prob(x[None])[0, 7])


def test_the_likeliest_class_is_predicted(loss):
    x = ebb.randn(20, 8)
    assert ebb.equal(loss.predict(x), loss.log_prob(x).argmax(1))


def test_bad_cutoffs_and_targets_are_refused(loss):
    for cutoffs in ([], [3, 3], [4, 2], [0], [10]):
        with pytest.raises(ValueError, match="cutoffs need ints that rise from 1 to at most 9"):
            nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs)
    with pytest.raises(ValueError, match="targets must be from 0 to 9, got 10 to 10"):
        loss(ebb.randn(1, 8), ebb.tensor([10]))
    with pytest.raises(ValueError, match=r"needs an input \[N, C\] and targets \[N\]"):
        loss(ebb.randn(2, 8), ebb.tensor([1]))


def test_a_linear_layer_and_its_loss_are_one_module():
    layer = nn.LinearCrossEntropyLoss(4, 5, bias=True)
    x, target = ebb.randn(6, 4), ebb.randint(0, 5, (6,))
    assert ebb.allclose(layer(x, target), F.cross_entropy(layer.linear(x), target))


def test_a_linear_loss_of_several_dims_is_the_loss_of_reshaped_scores():
    weight = ebb.tensor([1.0, 2.0, 0.5])
    layer = nn.LinearCrossEntropyLoss(4, 3, out_features=(2, 5), bias=True, weight=weight)
    x, target = ebb.randn(6, 4), ebb.randint(0, 3, (6, 2, 5))
    scores = layer.linear(x).reshape(6, 3, 2, 5)
    found = layer(x, target)
    assert ebb.allclose(found, F.cross_entropy(scores, target, weight))
    found.backward()
    assert layer.linear.weight.grad.shape == (30, 4) and layer.linear.bias.grad.shape == (30,)
    shares = scores.softmax(1).detach()
    assert ebb.allclose(layer(x, shares), F.cross_entropy(scores, shares, weight))


def test_options_of_a_linear_loss_change_nothing():
    x, target = ebb.randn(6, 4), ebb.randint(0, 5, (6,))
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=2, chunking_method=None)
    layer = nn.LinearCrossEntropyLoss(4, 5, ignore_index=1, reduction="sum", options=options)
    wanted = F.cross_entropy(layer.linear(x), target, ignore_index=1, reduction="sum")
    assert ebb.allclose(layer(x, target), wanted)
    assert layer.options.acc_policy == "auto" and "num_classes=5" in repr(layer)


def test_shapes_that_a_linear_loss_cannot_take_are_named():
    weight = ebb.ones(3, 2, 4)
    with pytest.raises(ebb.errors.ShapeError, match=r"needs an input \[N, features\], got \[4\]"):
        F.linear_cross_entropy(ebb.ones(4), weight, ebb.zeros(2).long())
    with pytest.raises(ebb.errors.ShapeError, match=r"last dim, got \[3\] for \[3, 2, 4\]"):
        F.linear_cross_entropy(
            ebb.ones(1, 4), weight, ebb.zeros(1, 2).long(), linear_bias=ebb.ones(3)
        )
    with pytest.raises(ebb.errors.ShapeError, match=r"one element per class, got \[4\] for 3"):
        nn.LinearCrossEntropyLoss(2, 3, weight=ebb.ones(4))


def test_a_distance_is_a_function():
    text = "TripletMarginWithDistanceLoss: argument 'distance_function' must be .*, got int"
    with pytest.raises(TypeError, match=text):
        nn.TripletMarginWithDistanceLoss(distance_function=3)
