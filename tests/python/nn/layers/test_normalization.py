# tests/python/nn/layers/test_normalization.py -- what the rows of ops/nn/norm.yaml do not reach:
# statistics, evaluation, numbers that would cancel, forward mode of batch_norm, and the layers.
import numpy as np
import pytest

import ebb
import ebb.nn.functional as F
from ebb import _C, nn
from tests.python.autograd.forward_support import check_tangents
from tests.python.leaves import leaf_of
from tests.python.ops.reference import norm as reference_norm

RNG = np.random.default_rng(3)


def noise(*shape):
    return RNG.standard_normal(shape)


def numpy_of(tensor):
    return tensor.detach().double().numpy()


# Statistics.


def test_batch_norm_moves_the_running_statistics_in_place():
    x = noise(6, 3, 4)
    mean, var = ebb.zeros(3).double(), ebb.ones(3).double()
    F.batch_norm(ebb.tensor(x), mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(numpy_of(mean), 0.25 * x.mean((0, 2)), rtol=1e-12)
    wanted = 0.75 + 0.25 * x.var((0, 2), ddof=1)
    np.testing.assert_allclose(numpy_of(var), wanted, rtol=1e-12)


def test_batch_norm_in_evaluation_uses_the_running_statistics_and_leaves_them():
    x, mean, var = noise(4, 3, 5), noise(3), RNG.uniform(0.5, 2, 3)
    given = {"weight": noise(3), "bias": noise(3), "running_mean": mean, "running_var": var}
    tensors = {name: ebb.tensor(value) for name, value in given.items()}
    out = F.batch_norm(ebb.tensor(x), **tensors)
    wanted = reference_norm.batch_norm({"input": x, "training": False, "eps": 1e-5, **given})
    np.testing.assert_allclose(numpy_of(out), wanted, rtol=1e-12)
    assert tensors["running_mean"].tolist() == mean.tolist()
    assert tensors["running_var"].tolist() == var.tolist()


@pytest.mark.parametrize("shape", [(4, 3, 2), (4, 3, 17), (5, 3)], ids=str)
def test_batch_norm_in_evaluation_has_derivatives_of_second_order(shape):
    mean, var = ebb.tensor(noise(3)), ebb.tensor(RNG.uniform(0.5, 2, 3))
    inputs = (leaf_of(noise(*shape)), leaf_of(noise(3)), leaf_of(noise(3)))

    def run(x, weight, bias):
        return F.batch_norm(x, mean, var, weight, bias)

    assert ebb.autograd.gradcheck(run, inputs, fast_mode=True)
    assert ebb.autograd.gradgradcheck(run, inputs, fast_mode=True)


def test_the_gradient_in_evaluation_survives_a_later_update_of_the_statistics():
    x = leaf_of(noise(4, 2))
    mean, var = ebb.zeros(2).double(), ebb.ones(2).double()
    out = F.batch_norm(x, mean, var, eps=0.0)
    var.fill_(100)
    assert ebb.autograd.grad([out.sum()], [x])[0].tolist() == [[1.0, 1.0]] * 4


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(4, 3, 2), (3, 3, 20)], ids=str)
def test_forward_mode_of_batch_norm_matches_differences(training, shape):
    operands = [ebb.tensor(noise(*sizes)) for sizes in (shape, (3,), (3,))]
    steps = [ebb.tensor(noise(*one.shape)) for one in operands]
    mean, var = ebb.tensor(noise(3)), ebb.tensor(RNG.uniform(0.5, 2, 3))

    def normalized(x, weight, bias):
        return _C._ops.native_batch_norm(x, mean, var, weight, bias, training, 1e-3)[:1]

    check_tangents(normalized, operands, steps)


BACKWARDS = {
    "layer_norm_backward": ((3, 4), (4,), ([4], 1e-3, 7)),
    "rms_norm_backward": ((3, 4), (4,), ([4], 1e-3, 3)),
    "group_norm_backward": ((2, 4, 3), (4,), (2, 1e-3, 7)),
}


def check_backward_tangents(name, shapes, rest):
    """Moves grad, input and weight; ``rest`` gives the other arguments for an input."""
    operands = [ebb.tensor(noise(*shape)) for shape in shapes]
    steps = [ebb.tensor(noise(*shape)) for shape in shapes]
    function = getattr(_C._ops, name)
    check_tangents(lambda *given: function(*given, *rest(given[1])), operands, steps)


@pytest.mark.parametrize("name", BACKWARDS)
def test_forward_mode_of_backward_ops_matches_differences(name):
    shape, weight, rest = BACKWARDS[name]
    check_backward_tangents(name, (shape, shape, weight), lambda _: rest)


@pytest.mark.parametrize("training", [True, False])
def test_forward_mode_of_batch_norm_backward_matches_differences(training):
    fixed = ebb.tensor(noise(3)), ebb.tensor(RNG.uniform(0.5, 2, 3))

    def rest(x):
        values = x.detach().numpy()
        of_batch = ebb.tensor(values.mean((0, 2))), ebb.tensor(values.var((0, 2)))
        return (*(of_batch if training else fixed), training, 1e-3, 7)

    check_backward_tangents("native_batch_norm_backward", ((4, 3, 2), (4, 3, 2), (3,)), rest)


def test_a_backward_op_gives_what_it_is_asked_for_and_nothing_else():
    grad, x, weight = (ebb.tensor(noise(*shape)) for shape in ((2, 3), (2, 3), (3,)))
    for parts in range(8):
        grads = _C._ops.layer_norm_backward(grad, x, weight, [3], 1e-5, parts)
        sizes = [one.numel() for one in grads]
        assert sizes == [6 * (parts & 1), 3 * (parts >> 1 & 1), 3 * (parts >> 2 & 1)]


def test_instance_norm_averages_the_statistics_of_the_samples():
    x = noise(4, 3, 6)
    mean, var = ebb.zeros(3).double(), ebb.ones(3).double()
    F.instance_norm(ebb.tensor(x), mean, var, momentum=0.5)
    np.testing.assert_allclose(numpy_of(mean), 0.5 * x.mean((0, 2)), rtol=1e-12)
    wanted = 0.5 + 0.5 * x.var(2, ddof=1).mean(0)
    np.testing.assert_allclose(numpy_of(var), wanted, rtol=1e-12)
    frozen = F.instance_norm(ebb.tensor(x), mean, var, use_input_stats=False)
    wanted = (x - numpy_of(mean)[:, None]) / np.sqrt(numpy_of(var)[:, None] + 1e-5)
    np.testing.assert_allclose(numpy_of(frozen), wanted, rtol=1e-12)


def test_a_running_statistic_that_requires_a_gradient_is_not_written():
    with pytest.raises(ebb.Error, match="batch_norm: running_mean needs the shape"):
        F.batch_norm(ebb.zeros(2, 3), ebb.zeros(2), ebb.ones(3))
    with pytest.raises(ebb.Error, match="batch_norm: running_mean needs the shape"):
        F.batch_norm(ebb.zeros(2, 3), ebb.zeros(2), ebb.ones(3), training=True)


# Numbers.


@pytest.mark.parametrize("shape", [(8, 4, 9000), (6, 2, 100), (300, 5), (40, 3, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_batch_norm_of_many_sizes(shape, dtype):
    x = ebb.tensor(noise(*shape)).to(getattr(ebb, dtype))
    weight, bias = noise(shape[1]), noise(shape[1])
    given = {"weight": weight, "bias": bias, "training": True, "eps": 1e-5}
    wanted = reference_norm.batch_norm({"input": numpy_of(x), **given})
    factors = ebb.tensor(weight).float(), ebb.tensor(bias).float()
    out = F.batch_norm(x, None, None, *factors, training=True)
    assert out.dtype == x.dtype
    tolerance = {"float32": 3e-6, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
    np.testing.assert_allclose(numpy_of(out), wanted, rtol=tolerance, atol=tolerance)


def gradients(function, arrays, dtype):
    inputs = [leaf_of(one, dtype=dtype) for one in arrays]
    out = function(*inputs)
    weights = ebb.tensor(np.random.default_rng(1).standard_normal(tuple(out.shape))).to(out.dtype)
    return [numpy_of(one) for one in ebb.autograd.grad([out], inputs, [weights])]


LARGE = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (600,), w, b), (700, 600), 600),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (9, 4, 5000), 4),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        (5, 3, 9000),
        3,
    ),
    "batch_norm of rows": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        (700, 300),
        300,
    ),
    "batch_norm of many channels": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        (4, 70, 300),
        70,
    ),
}


MANY_GROUPS = [((70, 600, 3), 300), ((40, 600), 300), ((3, 900, 2), 900), ((33, 12, 700), 4)]


@pytest.mark.parametrize(("shape", "groups"), MANY_GROUPS)
def test_gradients_of_many_groups_are_those_of_the_samples_together(shape, groups):
    values, grad = ebb.tensor(noise(*shape)), ebb.tensor(noise(*shape))
    leaves = [leaf_of(noise(shape[1])), leaf_of(noise(shape[1]))]

    def gradients_of(part):
        x = leaf_of(values[part])
        out = F.group_norm(x, groups, *leaves)
        return [numpy_of(one) for one in ebb.autograd.grad([out], [x, *leaves], [grad[part]])]

    whole = gradients_of(slice(None))
    parts = list(zip(*(gradients_of(slice(i, i + 1)) for i in range(shape[0])), strict=True))
    np.testing.assert_array_equal(whole[0], np.concatenate(parts[0]))
    for got, wanted in zip(whole[1:], parts[1:], strict=True):
        np.testing.assert_allclose(got, np.sum(wanted, 0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LARGE)
def test_large_gradients_match_double_precision(name):
    function, shape, count = LARGE[name]
    arrays = [noise(*shape), noise(count), noise(count)]
    arrays = [one.astype(np.float32).astype(np.float64) for one in arrays]
    pairs = zip(
        gradients(function, arrays, ebb.float32),
        gradients(function, arrays, ebb.float64),
        strict=True,
    )
    for got, wanted in pairs:
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=4e-6 * scale)


@pytest.mark.parametrize("name", LARGE)
def test_a_large_mean_does_not_swallow_the_variance(name):
    function, shape, count = LARGE[name]
    x = (noise(*shape) + 4000).astype(np.float32)
    factors = ebb.ones(count), ebb.zeros(count)
    got = function(ebb.tensor(x), *factors)
    wanted = function(ebb.tensor(x).double(), *(one.double() for one in factors))
    # Sums of numbers near 4000 move the mean by a few units of 4000 * 2^-24, and all results with
    # it; a mean of squares minus a squared mean would be off by 4000^2 * 2^-24, about 1.
    np.testing.assert_allclose(numpy_of(got), numpy_of(wanted), atol=8 * 4000 * 2.0**-24)


def test_rms_norm_without_eps_adds_that_of_the_dtype():
    x = ebb.full([1, 4], 1e-3)
    eps = 2.0**-23
    wanted = 1e-3 / np.sqrt(1e-6 + eps)
    np.testing.assert_allclose(numpy_of(F.rms_norm(x, [4])), np.full((1, 4), wanted), rtol=1e-6)


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16])
def test_rms_norm_without_eps_adds_that_of_float32_to_half_types(dtype):
    x = ebb.full([1, 4], 1e-3, dtype=dtype, requires_grad=True)
    y = x.detach().double().requires_grad_()
    got, wanted = F.rms_norm(x, [4]), F.rms_norm(y, [4], eps=2.0**-23)
    seed = ebb.tensor([[1.0, 0.0, 0.0, 0.0]])
    got.backward(seed.to(dtype)), wanted.backward(seed.double())
    np.testing.assert_allclose(numpy_of(got.double()), numpy_of(wanted), rtol=2.0**-8)
    np.testing.assert_allclose(numpy_of(x.grad.double()), numpy_of(y.grad), rtol=2.0**-8)


def test_normalize_divides_by_the_norm_and_survives_zeros():
    x = leaf_of([[3.0, 4.0], [0.0, 0.0]])
    out = F.normalize(x)
    assert out.tolist() == [[0.6, 0.8], [0.0, 0.0]]
    (grad,) = ebb.autograd.grad([out.sum()], [x])
    np.testing.assert_allclose(numpy_of(grad)[0], [0.032, -0.024])
    assert np.isfinite(numpy_of(grad)).all()


# Layers.


def test_layers_start_as_pytorch_has_them():
    layer = nn.BatchNorm2d(3)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    state = layer.state_dict()
    assert list(state) == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert state["weight"].tolist() == [1.0] * 3 and state["bias"].tolist() == [0.0] * 3
    assert state["running_mean"].tolist() == [0.0] * 3
    assert state["running_var"].tolist() == [1.0] * 3
    assert state["num_batches_tracked"].item() == 0
    assert state["num_batches_tracked"].dtype == ebb.int64
    assert not list(nn.BatchNorm1d(3, affine=False, track_running_stats=False).state_dict())
    assert not list(nn.InstanceNorm1d(3).state_dict())
    assert list(nn.LayerNorm(4, bias=False).state_dict()) == ["weight"]
    assert list(nn.RMSNorm((2, 3)).state_dict()) == ["weight"]


def test_batch_norm_layer_trains_and_evaluates():
    x = noise(8, 3, 2, 2)
    layer = nn.BatchNorm2d(3, momentum=0.5).double()
    out = layer(ebb.tensor(x))
    np.testing.assert_allclose(numpy_of(out).mean((0, 2, 3)), np.zeros(3), atol=1e-12)
    assert layer.num_batches_tracked.item() == 1
    np.testing.assert_allclose(numpy_of(layer.running_mean), 0.5 * x.mean((0, 2, 3)))
    before = layer.running_mean.tolist()
    layer.eval()
    out = layer(ebb.tensor(x))
    assert layer.running_mean.tolist() == before
    assert layer.num_batches_tracked.item() == 1
    wanted = reference_norm.batch_norm(
        {
            "input": x,
            "training": False,
            "eps": 1e-5,
            "running_mean": numpy_of(layer.running_mean),
            "running_var": numpy_of(layer.running_var),
        }
    )
    np.testing.assert_allclose(numpy_of(out), wanted)


def test_without_momentum_the_statistics_average_all_batches():
    layer = nn.BatchNorm1d(2, momentum=None).double()
    batches = [noise(5, 2) for _ in range(3)]
    for batch in batches:
        layer(ebb.tensor(batch))
    wanted = np.mean([batch.mean(0) for batch in batches], 0)
    np.testing.assert_allclose(numpy_of(layer.running_mean), wanted)
    wanted = np.mean([batch.var(0, ddof=1) for batch in batches], 0)
    np.testing.assert_allclose(numpy_of(layer.running_var), wanted)


def test_without_statistics_evaluation_uses_the_batch():
    layer = nn.BatchNorm1d(2, track_running_stats=False).double().eval()
    out = layer(ebb.tensor(noise(6, 2)))
    np.testing.assert_allclose(numpy_of(out).mean(0), np.zeros(2), atol=1e-12)


def test_instance_norm_takes_a_single_sample():
    x = ebb.tensor(noise(3, 4, 5))
    layer = nn.InstanceNorm2d(3)
    assert layer(x).tolist() == layer(x.unsqueeze(0))[0].tolist()
    assert nn.InstanceNorm1d(4)(x).shape == (3, 4, 5)


def test_layers_run_their_functions():
    x = ebb.tensor(noise(2, 4, 3))
    assert nn.LayerNorm((4, 3)).double()(x).tolist() == F.layer_norm(x, (4, 3)).tolist()
    assert nn.LayerNorm(3, elementwise_affine=False)(x).tolist() == F.layer_norm(x, (3,)).tolist()
    assert nn.RMSNorm(3).double()(x).tolist() == F.rms_norm(x, (3,)).tolist()
    assert nn.GroupNorm(2, 4).double()(x).tolist() == F.group_norm(x, 2).tolist()


def test_layers_say_what_they_are():
    assert repr(nn.LayerNorm(4)) == "LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)"
    assert repr(nn.GroupNorm(2, 4)) == "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)"
    assert repr(nn.BatchNorm1d(3)) == (
        "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"
    )
    assert repr(nn.LayerNorm(4, bias=False)).endswith("elementwise_affine=True, bias=False)")
    assert repr(nn.GroupNorm(2, 4, affine=False)).endswith("affine=False, bias=False)")
    assert ", affine=False, bias=False, " in repr(nn.InstanceNorm1d(3))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.BatchNorm2d(3)(ebb.zeros(2, 3)), "BatchNorm2d: needs an input of 4 dims"),
        (lambda: nn.BatchNorm1d(3)(ebb.zeros(2, 4)), "with 3 channels, got \\[2, 4\\]"),
        (lambda: nn.BatchNorm1d(-1), "BatchNorm1d: needs num_features >= 0, got -1"),
        (lambda: nn.InstanceNorm1d(3)(ebb.zeros(3)), "InstanceNorm1d: needs an input of 2 or 3"),
        (lambda: nn.GroupNorm(2, 3), "needs num_channels % num_groups == 0, got 3 and 2"),
        (lambda: nn.LayerNorm([]), "LayerNorm: normalized_shape needs sizes >= 0, at least one"),
        (lambda: nn.LayerNorm(3)(ebb.zeros(2, 4)), "normalized_shape must be the last sizes"),
    ],
)
def test_wrong_sizes_are_named(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize("p", (1.5, 2.0))
def test_vectors_of_half_types_are_normalized_whatever_their_length(p):
    rows = ebb.tensor([[0.0, 0.0], [3e-4, 4e-4], [300.0, 400.0]]).to(ebb.float16)
    unit = ebb.nn.functional.normalize(rows, p)
    wanted = ebb.nn.functional.normalize(rows.float(), p)
    assert unit.dtype == ebb.float16
    np.testing.assert_allclose(unit.float().numpy(), wanted.numpy(), rtol=1e-3)
