# satellites/vision/tests/test_vision_ops.py -- boxes, a loss and layers under torchvision's names.
import doctest
import importlib

import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.autograd import gradcheck
from ebb.vision import ops
from ebb.vision.models._utils import IntermediateLayerGetter


@pytest.mark.parametrize("name", ["ops.boxes", "ops.focal_loss", "ops.misc", "models._utils"])
def test_examples_of_ops_run(name):
    module = importlib.import_module(f"ebb.vision.{name}")
    failed, tried = doctest.testmod(module, extraglobs={"ebb": ebb})
    assert tried > 0 and failed == 0


def drawn_boxes(count, seed=0):
    corners = np.random.default_rng(seed).random((count, 4)) * 10
    corners[:, 2:] += corners[:, :2]
    return corners


def iou(one, other):
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    shared = np.prod(np.clip(sides, 0, None))
    return shared / (np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2]) - shared)


def hull_iou(one, other):
    hull = np.prod(np.maximum(one[2:], other[2:]) - np.minimum(one[:2], other[:2]))
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    shared = np.prod(np.clip(sides, 0, None))
    union = np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2]) - shared
    return shared / union - (hull - union) / hull


@pytest.mark.parametrize(("name", "plain"), [("box_iou", iou), ("generalized_box_iou", hull_iou)])
def test_overlaps_are_those_of_each_pair(name, plain):
    a, b = drawn_boxes(5), drawn_boxes(7, 1)
    op = getattr(ops, name)
    wanted = [[plain(one, other) for other in b] for one in a]
    np.testing.assert_allclose(op(ebb.tensor(a), ebb.tensor(b)), wanted, rtol=1e-12)
    assert op(ebb.tensor(a)[:0], ebb.tensor(b)).shape == (0, 7)
    leaves = [ebb.tensor(one, requires_grad=True) for one in (a, b)]
    assert gradcheck(op, leaves)


def test_whole_numbers_of_small_types_do_not_overflow():
    boxes = ebb.tensor([[0, 0, 100, 100]], dtype=ebb.uint8)
    assert ops.box_area(boxes).item() == 10000 and ops.box_iou(boxes, boxes).item() == 1
    assert ops.box_area(ebb.tensor([[0.0, 0.0, 300.0, 300.0]], dtype=ebb.float16)).item() == 90000


@pytest.mark.parametrize("fmt", ["xywh", "cxcywh"])
def test_formats_are_undone(fmt):
    boxes = ebb.tensor(drawn_boxes(6))
    there = ops.box_convert(boxes, "xyxy", fmt)
    np.testing.assert_allclose(there[:, 2:], boxes[:, 2:] - boxes[:, :2])
    np.testing.assert_allclose(ops.box_convert(there, fmt, "xyxy"), boxes, rtol=1e-12)
    between = ops.box_convert(there, fmt, "cxcywh")
    np.testing.assert_allclose(between[:, :2], (boxes[:, 2:] + boxes[:, :2]) / 2)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_nms_keeps_what_no_better_box_covers(threshold):
    boxes, scores = drawn_boxes(40), np.random.default_rng(2).random(40)
    kept = []
    for place in np.argsort(-scores):
        if all(iou(boxes[place], boxes[one]) <= threshold for one in kept):
            kept.append(int(place))
    found = ops.nms(ebb.tensor(boxes), ebb.tensor(scores), threshold)
    assert found.tolist() == kept and found.dtype == ebb.int64
    classes = np.arange(40) % 3
    apart = ops.batched_nms(
        ebb.tensor(boxes), ebb.tensor(scores), ebb.tensor(classes), threshold
    ).tolist()
    assert apart == sorted(apart, key=lambda one: -scores[one])
    for kind in range(3):
        own = np.nonzero(classes == kind)[0]
        alone = ops.nms(ebb.tensor(boxes[own]), ebb.tensor(scores[own]), threshold)
        assert [one for one in apart if classes[one] == kind] == own[alone.numpy()].tolist()


def test_boxes_without_area_and_no_boxes_are_kept_as_they_are():
    points, scores = ebb.zeros(3, 4), ebb.tensor([0.1, 0.3, 0.3])
    assert ops.nms(points, scores, 0.5).tolist() == [1, 2, 0]  # equal scores: the first first
    for keep in (ops.nms, lambda b, s, t: ops.batched_nms(b, s, s.long(), t)):
        assert keep(points[:0], scores[:0], 0.5).shape == (0,)
    assert ops.remove_small_boxes(ebb.tensor([[0.0, 0.0, 1.0, 3.0]]), 2.0).numel() == 0
    assert ops.masks_to_boxes(ebb.zeros(0, 4, 4)).shape == (0, 4)


def test_focal_loss_is_its_formula_and_has_gradients():
    x = np.linspace(-3, 3, 8)
    y = (np.arange(8) % 2).astype(float)
    p = 1 / (1 + np.exp(-x))
    right = np.where(y == 1, p, 1 - p)
    wanted = np.where(y == 1, 0.25, 0.75) * (1 - right) ** 2 * -np.log(right)
    inputs, targets = ebb.tensor(x, requires_grad=True), ebb.tensor(y)
    np.testing.assert_allclose(ops.sigmoid_focal_loss(inputs, targets).detach(), wanted, rtol=1e-9)
    plain = ops.sigmoid_focal_loss(inputs, targets, alpha=-1, gamma=0, reduction="mean")
    assert plain.item() == pytest.approx(-np.log(right).mean())
    assert gradcheck(lambda x: ops.sigmoid_focal_loss(x, targets, reduction="sum"), [inputs])


def test_a_frozen_norm_is_batch_norm_in_evaluation():
    trained = nn.BatchNorm2d(3)
    trained(ebb.randn(4, 3, 5, 5) * 2 + 1)
    nn.init.uniform_(trained.weight)
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(trained.state_dict())  # with the count of batches, which it lacks
    x = ebb.randn(2, 3, 4, 4)
    wanted = trained.eval()(x).detach()
    np.testing.assert_allclose(frozen(x), wanted, rtol=1e-5, atol=1e-6)
    assert repr(frozen) == "FrozenBatchNorm2d(3, eps=1e-05)"


def test_layers_are_put_together_as_asked():
    block = ops.Conv2dNormActivation(3, 8, (3, 5), stride=2, dilation=2, activation_layer=None)
    assert block(ebb.zeros(1, 3, 16, 16)).shape == (1, 8, 8, 8)
    assert block[0].bias is None and block[0].padding == (2, 4) and len(block) == 2
    bare = ops.Conv2dNormActivation(3, 8, 1, norm_layer=None, inplace=None)
    assert bare[0].bias is not None and bare[0].padding == (0, 0) and not bare[1].inplace
    layers = ops.MLP(4, [8, 2], norm_layer=nn.LayerNorm, inplace=True)
    kinds = ["Linear", "LayerNorm", "ReLU", "Dropout", "Linear", "Dropout"]
    assert [type(one).__name__ for one in layers] == kinds and layers[2].inplace
    squeeze = ops.SqueezeExcitation(4, 2)
    assert sorted(squeeze.state_dict()) == ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"]


@pytest.mark.parametrize("mode", ["row", "batch"])
def test_depth_drops_samples_and_keeps_the_mean(mode):
    layer = ops.StochasticDepth(0.25, mode)
    many = ebb.stack([layer(ebb.ones(8, 2, 3)) for _ in range(300)])
    rows = many.flatten(2)
    assert ebb.equal(rows.amin(2), rows.amax(2))  # a sample is dropped as a whole
    assert sorted(set(many.flatten().tolist())) == [0.0, pytest.approx(4 / 3)]
    assert abs(many.mean().item() - 1) < 0.1
    assert ebb.equal(rows[:, :1, 0].expand(-1, 8), rows[:, :, 0]) is (mode == "batch")


BAD = {
    "box_area: needs boxes": lambda: ops.box_area(ebb.ones(2, 3)),
    "box_convert: needs one of xyxy, xywh, cxcywh, got 'yx'": lambda: ops.box_convert(
        ebb.ones(1, 4), "xyxy", "yx"
    ),
    r"nms: needs boxes \[N, 4\] and scores \[N\], got \[2, 4\] and \[3\]": lambda: ops.nms(
        ebb.ones(2, 4), ebb.ones(3), 0.5
    ),
    "batched_nms: needs one class for each score": lambda: ops.batched_nms(
        ebb.ones(2, 4), ebb.ones(2), ebb.ones(3), 0.5
    ),
    "masks_to_boxes: needs masks with a pixel, got none in 0": lambda: ops.masks_to_boxes(
        ebb.zeros(1, 2, 2)
    ),
    r"masks_to_boxes: needs masks \[N, H, W\]": lambda: ops.masks_to_boxes(ebb.zeros(2, 2)),
    "sigmoid_focal_loss: needs reduction": lambda: ops.sigmoid_focal_loss(
        ebb.ones(1), ebb.ones(1), reduction="all"
    ),
    "sigmoid_focal_loss: needs alpha of at most 1, got 2": lambda: ops.sigmoid_focal_loss(
        ebb.ones(1), ebb.ones(1), alpha=2
    ),
    "stochastic_depth: needs p from 0 to 1": lambda: ops.stochastic_depth(ebb.ones(1), 2, "row"),
    "stochastic_depth: needs mode": lambda: ops.stochastic_depth(ebb.ones(1), 0.5, "column"),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_calls_of_ops_are_refused(text):
    with pytest.raises(ValueError, match=text):
        BAD[text]()


def test_outputs_of_chosen_layers_are_returned():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4), nn.Linear(4, 5))
    body = IntermediateLayerGetter(model, {"0": "first", 2: "third"})
    x = ebb.randn(6, 2)
    found = body(x)
    assert list(found) == ["first", "third"] and sorted(body.state_dict())[-1] == "2.weight"
    assert ebb.equal(found["first"], model[0](x)) and ebb.equal(found["third"], model[:3](x))
    with pytest.raises(ValueError, match="needs names of children, got 'head'\nhint: there are 0,"):
        IntermediateLayerGetter(model, {"head": 0})
