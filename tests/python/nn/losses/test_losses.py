# tests/python/nn/losses/test_losses.py -- what the rows of losses in the op table do not reach:
# extreme inputs and half precision.
import math
import re
import warnings

import numpy as np
import pytest

import ebb
import ebb.nn.functional as F
from ebb import nn
from ebb.autograd import gradgradcheck
from tests.python.leaves import leaf_of

RNG = np.random.default_rng(4)


def noise(*shape):
    return RNG.standard_normal(shape)


def gradient(loss, x):
    return ebb.autograd.grad([loss], [x])[0].tolist()


# Extreme inputs.


@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64])
def test_the_logit_form_stays_finite_and_exact_far_out(dtype):
    x = leaf_of([100.0, -100.0, 1e30, -1e30], dtype=dtype)
    target = ebb.tensor([0.0, 1.0, 1.0, 0.0], dtype=dtype)
    losses = F.binary_cross_entropy_with_logits(x, target, reduction="none")
    assert losses.tolist() == [100.0, 100.0, 0.0, 0.0]
    assert gradient(losses.sum(), x) == [1.0, -1.0, 0.0, 0.0]
    small = F.binary_cross_entropy_with_logits(ebb.tensor([20.0]), ebb.ones(1)).item()
    assert small == pytest.approx(math.log1p(math.exp(-20)), rel=1e-5)
    weighted = F.binary_cross_entropy_with_logits(
        ebb.tensor([-20.0]), ebb.zeros(1), pos_weight=ebb.tensor(3.0)
    )
    assert weighted.item() == pytest.approx(math.log1p(math.exp(-20)), rel=1e-5)


def test_the_logit_form_passes_nan_on():
    x = ebb.tensor([math.nan])
    assert math.isnan(F.binary_cross_entropy_with_logits(x, ebb.ones(1)).item())


def test_binary_cross_entropy_of_certain_answers_is_clamped_as_in_pytorch():
    x = leaf_of([0.0, 1.0, 0.0, 1.0])
    target = ebb.tensor([0.0, 1.0, 1.0, 0.0]).double()
    losses = F.binary_cross_entropy(x, target, reduction="none")
    assert losses.tolist() == [0.0, 0.0, 100.0, 100.0]
    assert gradient(losses.sum(), x) == [0.0, 0.0, -1e12, 1e12]


def test_binary_cross_entropy_refuses_what_is_no_probability():
    for value, text in ((1.5, "got 1.5"), (-0.1, "got -0.1"), (math.nan, "got nan")):
        with pytest.raises(ValueError, match=f"binary_cross_entropy: input must be .*{text}"):
            F.binary_cross_entropy(ebb.tensor([0.5, value]), ebb.ones(2))


def test_kl_div_counts_a_target_of_zero_as_nothing():
    target = leaf_of([0.0, 1.0])
    x = leaf_of([-1.0, -2.0])
    loss = F.kl_div(x, target, "sum")
    assert loss.item() == 2.0
    assert gradient(loss, x) == [0.0, -1.0]


def test_kl_div_by_batch_divides_by_the_first_size():
    x, target = ebb.tensor(noise(4, 3)), ebb.tensor(RNG.uniform(0.1, 1, (4, 3)))
    whole = F.kl_div(x, target, reduction="sum").item()
    assert F.kl_div(x, target, reduction="batchmean").item() == pytest.approx(whole / 4)


def test_l1_and_smooth_l1_are_flat_at_zero():
    for function in (F.l1_loss, lambda x, t: F.smooth_l1_loss(x, t, beta=0.0)):
        x = leaf_of([0.0, 2.0, -3.0])
        assert gradient(function(x, ebb.zeros(3).double()), x) == [0.0, 1 / 3, -1 / 3]


def test_the_mean_of_nothing_is_nan_and_its_sum_is_zero():
    empty = ebb.zeros(0, 3)
    assert math.isnan(F.mse_loss(empty, empty).item())
    assert F.mse_loss(empty, empty, reduction="sum").item() == 0.0
    assert F.mse_loss(empty, empty, reduction="none").shape == (0, 3)
    x = leaf_of(np.zeros((0, 3)))
    assert gradient(F.mse_loss(x, x.detach(), reduction="sum"), x) == []


@pytest.mark.parametrize("function", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16, ebb.float32])
def test_a_long_sum_is_as_good_as_in_double_precision(function, dtype):
    x, t = ebb.tensor(noise(70001)).to(dtype), ebb.tensor(noise(70001)).to(dtype)
    wanted = function(x.double(), t.double()).item()
    tolerance = {ebb.float16: 1e-3, ebb.bfloat16: 8e-3, ebb.float32: 1e-6}[dtype]
    assert function(x, t).item() == pytest.approx(wanted, rel=tolerance)


def test_difference_losses_promote_and_broadcast():
    x = leaf_of(np.arange(6.0).reshape(2, 3))
    target = leaf_of([1.0, 2.0, 3.0], dtype=ebb.float32)
    with pytest.warns(UserWarning, match="should have one shape"):
        loss = F.mse_loss(x, target)
    assert loss.dtype == ebb.float64
    assert loss.item() == np.mean((np.arange(6.0).reshape(2, 3) - [1, 2, 3]) ** 2)
    (grad,) = ebb.autograd.grad([loss], [target])
    assert grad.dtype == ebb.float32
    assert grad.tolist() == pytest.approx([-1 / 3] * 3)


LABELS = [ebb.bool, ebb.uint8, ebb.int32, ebb.int64]


@pytest.mark.parametrize("dtype", LABELS)
@pytest.mark.parametrize(
    "function",
    [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.multilabel_soft_margin_loss],
)
def test_targets_may_be_integers_beside_an_input_of_floats(function, dtype):
    labels = ebb.tensor([[1, 0, 1], [0, 0, 1]])
    first, second = leaf_of(noise(2, 3)), leaf_of(noise(2, 3) * 2)
    found, wanted = function(first, labels.to(dtype)), function(first, labels.double())
    assert found.dtype is ebb.float64 and found.item() == wanted.item()
    assert gradient(found, first) == gradient(wanted, first)
    assert gradgradcheck(lambda x: function(x, labels.to(dtype)), (second,))


@pytest.mark.parametrize("function", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_integers_may_stand_first(function):
    labels, x = ebb.tensor([True, False, True]), leaf_of(noise(3))
    found, wanted = function(labels, x), function(labels.double(), x)
    assert found.item() == wanted.item() and gradient(found, x) == gradient(wanted, x)
    assert gradgradcheck(lambda x: function(labels, x), (x,))


@pytest.mark.parametrize("function", [F.mse_loss, F.l1_loss, F.huber_loss])
def test_integers_beside_weights_are_labels_too_and_not_both(function):
    x, weight = ebb.tensor(noise(3)), ebb.tensor([1.0, 2.0, 3.0]).double()
    labels = ebb.tensor([1, 0, 2])
    wanted = function(x, labels.double(), weight=weight).item()
    assert function(x, labels, weight=weight).item() == wanted
    assert function(labels, x, weight=weight).item() == wanted
    with pytest.raises(NotImplementedError, match="no kernel for dtype int64"):
        function(labels, labels)


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"ignore_index": 2}])
def test_classes_may_be_bytes(options):
    scores, classes = leaf_of(noise(4, 3)), ebb.tensor([2, 0, 1, 2])
    found = F.cross_entropy(scores, classes.to(ebb.uint8), **options)
    wanted = F.cross_entropy(scores, classes, **options)
    assert found.item() == wanted.item() and gradient(found, scores) == gradient(wanted, scores)
    logs = F.log_softmax(scores.detach(), 1)
    assert F.nll_loss(logs, classes.byte()).item() == F.nll_loss(logs, classes).item()
    with pytest.raises(IndexError, match=r"must be a class from 0 to 2 or ignore_index.*got 255"):
        F.cross_entropy(scores, ebb.full((4,), 255, dtype=ebb.uint8))


# Half precision.


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("shapes", [((3, 1), (3,)), ((3,), (3, 1)), ((2, 3), ()), ((2, 3), (3,))])
def test_a_difference_loss_warns_of_shapes_that_differ(name, shapes):
    first, second = (ebb.ones(shape, requires_grad=True) for shape in shapes)
    text = f"{name}: input and target should have one shape, got {list(shapes[0])} and "
    with pytest.warns(UserWarning, match=re.escape(text)) as caught:
        loss = getattr(F, name)(first, second)
    assert len(caught) == 1 and "hint: squeeze(-1) or unsqueeze(-1)" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss.backward()  # the gradient says nothing again
        getattr(F, name)(first, first)
        with pytest.raises(UserWarning, match="should have one shape"):
            getattr(F, name)(first, second)


def test_the_mean_divides_by_a_count_that_a_half_type_does_not_hold():
    rows = 5003  # float16 holds 5004
    x = ebb.zeros(rows, 2, dtype=ebb.float16).requires_grad_()
    target = ebb.zeros(rows, dtype=ebb.int64)
    loss = F.cross_entropy(x, target)
    assert loss.item() == pytest.approx(math.log(2), rel=1e-3)
    weights = ebb.ones(2, dtype=ebb.bfloat16)
    loss = F.nll_loss(ebb.full([rows, 2], -1.0, dtype=ebb.bfloat16), target, weights)
    assert loss.item() == 1.0


def test_smoothed_labels_of_many_rows_do_not_overflow_a_half_type():
    rows = 70000  # beyond the range of float16
    x = ebb.zeros(rows, 2, dtype=ebb.float16)
    target = ebb.zeros(rows, dtype=ebb.int64)
    loss = F.cross_entropy(x, target, label_smoothing=0.2)
    assert loss.dtype == ebb.float16
    assert loss.item() == pytest.approx(math.log(2), rel=1e-3)
    probabilities = ebb.full([rows, 2], 0.5, dtype=ebb.float16)
    assert F.cross_entropy(x, probabilities).item() == pytest.approx(math.log(2), rel=1e-3)


def test_the_gradient_of_a_half_mean_divides_by_the_exact_count():
    rows = 2049  # bfloat16 holds 2048 and 2064
    x = ebb.zeros(rows, 2, dtype=ebb.float16).requires_grad_()
    loss = F.nll_loss(x, ebb.zeros(rows, dtype=ebb.int64), reduction="mean")
    (grad,) = ebb.autograd.grad([loss], [x], [ebb.tensor(2049.0).half()])
    # 2049 rounds to 2048 in float16, so each row gets 2048 / 2049, which rounds to 0.9995.
    assert grad[0].tolist() == [pytest.approx(-2048 / 2049, rel=2e-4), 0.0]


def test_a_distance_of_0_has_the_gradient_0():
    x = leaf_of([[1.0, 2.0]])
    for p in (1.0, 2.0, 3.0):
        loss = F.pairwise_distance(x, ebb.tensor([[1.0, 2.0]]).double(), p, eps=0.0).sum()
        assert gradient(loss, x) == [[0.0, 0.0]]


def test_cosines_of_zeros_are_0_and_have_a_gradient():
    zeros, other = leaf_of(np.zeros((1, 3))), leaf_of(noise(1, 3))
    assert F.cosine_similarity(zeros, zeros).tolist() == [0.0]
    assert np.isfinite(gradient(F.cosine_similarity(zeros, other).sum(), zeros)).all()


def test_a_variance_below_eps_counts_as_eps_and_keeps_its_gradient():
    var = leaf_of([0.01, 4.0, math.inf])
    losses = F.gaussian_nll_loss(ebb.zeros(3), ebb.ones(3), var, eps=2.0, reduction="none")
    wanted = [(math.log(2) + 1 / 2) / 2, (math.log(4) + 1 / 4) / 2, math.inf]
    assert losses.tolist() == pytest.approx(wanted)
    assert gradient(losses.sum(), var) == pytest.approx([1 / 8, 3 / 32, 0.0])


def test_an_unknown_reduction_is_refused():
    for function in (F.soft_margin_loss, F.mse_loss):
        text = rf"{function.__name__}.*'none', 'mean' or 'sum', got 'average'"
        with pytest.raises(ValueError, match=text):
            function(ebb.ones(2), ebb.ones(2), reduction="average")


def test_a_weight_is_a_buffer():
    assert list(nn.BCEWithLogitsLoss(pos_weight=ebb.ones(3)).state_dict()) == ["pos_weight"]


@pytest.mark.parametrize("loss", (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss))
def test_the_mean_loss_of_nothing_has_a_second_derivative_of_zero(loss):
    x = ebb.zeros(0, requires_grad=True)
    weight = ebb.ones((), requires_grad=True)
    (slope,) = ebb.autograd.grad(loss(x, ebb.zeros(0)) * weight, x, create_graph=True)
    assert ebb.autograd.grad(slope.sum(), weight)[0].item() == 0.0


@pytest.mark.parametrize("scale", (0.0, 1e-4, 300.0))
def test_cosines_of_half_types_know_short_and_long_vectors(scale):
    x = ebb.full((1, 3), scale, dtype=ebb.float16, requires_grad=True)
    cosine = F.cosine_similarity(x, x.detach())
    assert cosine.dtype == ebb.float16
    assert cosine.item() == (1.0 if scale else 0.0)
    assert not F.cosine_embedding_loss(x, x.detach(), ebb.ones(1)).isnan()


def test_a_rate_of_zero_costs_no_count_nothing_in_float16():
    zeros = ebb.zeros(2, dtype=ebb.float16)
    assert F.poisson_nll_loss(zeros, zeros, log_input=False).item() == 0.0


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_triplets_are_measured_by_any_distance(swap, reduction):
    anchor, positive, negative = (ebb.randn(4, 5) for _ in range(3))
    options = {"margin": 0.7, "swap": swap, "reduction": reduction}
    wanted = F.triplet_margin_loss(anchor, positive, negative, **options)
    got = nn.TripletMarginWithDistanceLoss(**options)(anchor, positive, negative)
    assert ebb.allclose(got, wanted)
    ours = F.triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=F.pairwise_distance, **options
    )
    assert ebb.equal(got, ours)


def test_triplets_need_a_margin_and_a_known_reduction():
    x = ebb.randn(2, 3)
    with pytest.raises(ValueError, match="triplet_margin_with_distance_loss: margin must be above"):
        F.triplet_margin_with_distance_loss(x, x, x, margin=0)
    with pytest.raises(ValueError, match="reduction must be 'none', 'mean' or 'sum', got 'all'"):
        F.triplet_margin_with_distance_loss(x, x, x, reduction="all")


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_a_linear_map_and_cross_entropy_are_one_loss(shape):
    x, weight, bias = ebb.randn(*shape, 4), ebb.randn(5, 4), ebb.randn(5)
    target = ebb.randint(0, 5, shape)
    scores = F.linear(x, weight, bias).reshape(-1, 5)
    wanted = F.cross_entropy(scores, target.reshape(-1), label_smoothing=0.1)
    got = F.linear_cross_entropy(x, weight, target, linear_bias=bias, label_smoothing=0.1)
    assert ebb.allclose(got, wanted)
