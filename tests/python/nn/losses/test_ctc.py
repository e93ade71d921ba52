# tests/python/nn/losses/test_ctc.py -- ctc_loss against the sum over all paths.
import itertools

import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional
RNG = np.random.default_rng(5)


def logs(*shape):
    return F.log_softmax(ebb.tensor(RNG.standard_normal(shape)), -1).requires_grad_()


def collapsed(path, blank):
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def loss_of(log_probs, target, blank=0):
    """Minus the log of the sum over all paths that spell the target."""
    steps, classes = log_probs.shape
    total = sum(
        np.exp(sum(log_probs[t, label] for t, label in enumerate(path)))
        for path in itertools.product(range(classes), repeat=steps)
        if collapsed(path, blank) == tuple(target)
    )
    return -np.log(total) if total > 0 else np.inf


TARGETS = [[1, 2], [1, 1], [2], [], [1, 2, 1]]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("blank", [0, 3])
def test_one_sample_is_the_sum_over_all_paths(target, blank):
    x = logs(5, 4)
    targets = ebb.tensor(target, dtype=ebb.int64)
    for given in ((5,), ebb.tensor(5), ebb.tensor([5])):
        got = F.ctc_loss(x, targets, given, (len(target),), blank, reduction="none")
        assert got.shape == ()
        np.testing.assert_allclose(got.item(), loss_of(x.detach().numpy(), target, blank))


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_a_batch_of_different_lengths_is_its_samples(joined, reduction):
    x, lengths, inputs = logs(5, 3, 3), [2, 0, 1], [5, 2, 4]
    rows = [[1, 2], [0, 0], [2, 0]]
    spelt = [row[:n] for row, n in zip(rows, lengths, strict=True)]
    given = [*spelt[0], *spelt[1], *spelt[2]] if joined else rows
    losses = np.array([
        loss_of(x.detach().numpy()[:steps, i], row)
        for i, (row, steps) in enumerate(zip(spelt, inputs, strict=True))
    ])  # fmt: skip
    wanted = {"none": losses, "sum": losses.sum(), "mean": (losses / [2, 1, 1]).mean()}
    got = F.ctc_loss(x, ebb.tensor(given), inputs, lengths, reduction=reduction)
    np.testing.assert_allclose(got.detach().numpy(), wanted[reduction])


def test_derivatives_of_both_orders_are_those_of_finite_differences():
    x, targets = logs(4, 2, 3), ebb.tensor([[1, 1], [2, 1]])

    def loss(x):
        return F.ctc_loss(x, targets, (4, 3), (2, 2), reduction="sum")

    assert ebb.autograd.gradcheck(loss, (x,))
    assert ebb.autograd.gradgradcheck(loss, (x,))


def test_through_log_softmax_the_gradient_is_softmax_less_the_posterior():
    scores = ebb.tensor(RNG.standard_normal((4, 1, 3)), requires_grad=True)
    F.ctc_loss(F.log_softmax(scores, -1), ebb.tensor([[1, 2]]), (4,), (2,)).backward()
    np.testing.assert_allclose(scores.grad.sum(-1).numpy(), 0, atol=1e-12)


def test_a_target_that_cannot_be_spelt_costs_infinity_or_nothing():
    x, targets = logs(2, 2, 3), ebb.tensor([[1, 1], [1, 2]])
    losses = F.ctc_loss(x, targets, (2, 2), (2, 2), reduction="none")
    assert losses[0].item() == np.inf and np.isfinite(losses[1].item())
    loss = nn.CTCLoss(reduction="sum", zero_infinity=True)(x, targets, (2, 2), (2, 2))
    loss.backward()
    assert loss.item() == losses[1].item()
    assert not x.grad[:, 0].any() and x.grad[:, 1].any()
    assert not x.grad.isnan().any()


def test_probabilities_of_zero_leave_other_paths():
    x = ebb.tensor([[[0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0]]]).log().requires_grad_()
    loss = F.ctc_loss(x, ebb.tensor([[1]]), (2,), (1,), reduction="sum")
    loss.backward()
    np.testing.assert_allclose(loss.item(), -np.log(0.75), rtol=1e-6)
    assert not x.grad.isnan().any()


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16, ebb.float32])
def test_narrow_dtypes_are_near_double_precision(dtype):
    x = logs(6, 2, 4)
    targets = ebb.tensor([[1, 2], [3, 3]])
    exact = F.ctc_loss(x.detach().to(dtype).double(), targets, (6, 5), (2, 2))
    got = F.ctc_loss(x.detach().to(dtype), targets, (6, 5), (2, 2))
    assert got.dtype is dtype
    np.testing.assert_allclose(got.item(), exact.item(), rtol=ebb.finfo(dtype).eps * 2)


def test_errors_name_the_loss_and_the_value():
    x = logs(3, 2, 4)
    targets = ebb.tensor([[1, 2], [3, 3]])
    with pytest.raises(ValueError, match="ctc_loss: input_lengths need to be from 0 to 3, got 4"):
        F.ctc_loss(x, targets, (4, 3), (2, 2))
    with pytest.raises(ValueError, match=r"ctc_loss: target_lengths needs shape \[2\], got int64"):
        F.ctc_loss(x, targets, (3, 3), (2,))
    with pytest.raises(TypeError, match="ctc_loss: 'input_lengths' must have dtype int32, int64"):
        F.ctc_loss(x, targets, ebb.ones(2), (2, 2))
