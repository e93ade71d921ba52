# tests/python/opencl/test_lines.py -- kernels that go along lines, windows and channels give what
# the CPU gives, where sizes, strides and half types choose other ways than the op rows do.
import math

import pytest

import ebb
from ebb.nn import functional

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}


def compare(function, *shapes, device, dtype="float32", permuted=False):
    """Hold values and gradients of `function` on the device to those of the CPU."""
    ebb.manual_seed(3)
    found = []
    operands = [ebb.randn(*shape, dtype=ebb.float64) for shape in shapes]
    for place in ("cpu", device):
        own = [one.to(getattr(ebb, dtype)).to(place) for one in operands]
        if permuted:
            own = [one.transpose(0, -1).contiguous().transpose(0, -1) for one in own]
        own = [one.detach().requires_grad_() for one in own]
        out = function(*own)
        weights = ebb.arange(out.numel()).sin().view(out.shape).to(out.dtype)
        (out * weights.to(place)).sum().backward()
        found.append([out.detach().cpu(), *(one.grad.cpu() for one in own)])
    for there, here in zip(found[1], found[0], strict=True):
        scale = max(1.0, float(here.double().abs().max())) if here.numel() else 1.0
        limit = TOLERANCE[dtype]
        ebb.testing.assert_close(there, here, rtol=limit, atol=limit * scale)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax_of_long_lines_of_any_strides(name, dtype, opencl):
    function = getattr(ebb, name)
    compare(lambda x: function(x, 1), (3, 1000), device=opencl, dtype=dtype)
    compare(lambda x: function(x, 0), (300, 2, 3), device=opencl, dtype=dtype, permuted=True)


def test_softmax_converts_integers_on_the_device(opencl):
    x = ebb.arange(12).view(3, 4)
    for function in (ebb.softmax, ebb.log_softmax):
        there = function(x.to(opencl), 1, dtype=ebb.float32)
        ebb.testing.assert_close(there.cpu(), function(x, 1, dtype=ebb.float32))
        with pytest.raises(ebb.errors.DTypeError, match="needs a floating dtype"):
            function(x.to(opencl), 1)


@pytest.mark.parametrize("dim", [(0, 2), (1,), (0, 1, 2)])
def test_variances_over_several_dims(dim, opencl):
    compare(lambda x: ebb.var(x, dim), (40, 50, 60), device=opencl)
    compare(lambda x: ebb.std(x, dim, correction=0), (4, 50, 6), device=opencl, permuted=True)


def test_running_sums_of_lines_in_pieces(opencl):
    x = ebb.arange(300_001) % 17 - 8
    assert ebb.equal(x.to(opencl).cumsum(0).cpu(), x.cumsum(0))
    narrow = x.to(ebb.int8)
    assert ebb.equal(narrow.to(opencl).cumsum(0).cpu(), narrow.cumsum(0))
    compare(lambda y: y.cumsum(0), (150_000,), device=opencl, dtype="float64")
    compare(lambda y: y.cumsum(1), (5, 7, 9), device=opencl, permuted=True)
    for width in (8, 1030, 2100):  # whole and broken blocks of columns
        compare(lambda y: y.cumsum(1), (2, 40, width), device=opencl)
        compare(lambda y: y.cumsum(0), (3, width), device=opencl, dtype="float64")


def test_places_of_extrema_are_exact(opencl):
    nan = float("nan")
    x = ebb.tensor([[3.0, nan, 5.0, nan], [7.0, 1.0, 7.0, 1.0]])
    for function in (ebb.max, ebb.min, ebb.cummax, ebb.cummin):
        for dim in (0, 1):
            wanted, found = function(x, dim), function(x.to(opencl), dim)
            assert ebb.equal(found[1].cpu(), wanted[1])
            ebb.testing.assert_close(found[0].cpu(), wanted[0], rtol=0, atol=0, equal_nan=True)
    large = (ebb.arange(70_000) * 7919 % 65_537).view(7, 100, 100)
    for dim in (None, 0, 1, 2):
        assert ebb.equal(large.to(opencl).argmax(dim).cpu(), large.argmax(dim))
        assert ebb.equal(large.to(opencl).argmin(dim).cpu(), large.argmin(dim))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_norms_of_many_rows_and_channels(dtype, opencl):
    def layer(x, w, b):
        return functional.layer_norm(x, (64,), w, b)

    def group(x, w, b):
        return functional.group_norm(x, 3, w, b)

    compare(layer, (130, 64), (64,), (64,), device=opencl, dtype=dtype)
    compare(group, (5, 6, 9, 10), (6,), (6,), device=opencl, dtype=dtype)
    compare(lambda x, w: functional.rms_norm(x, (7,), w), (70, 7), (7,), device=opencl, dtype=dtype)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_and_its_running_statistics(training, opencl):
    kept = {}

    def norm(x, w, b):
        mean = ebb.arange(6, device=x.device) / 10
        var = mean + 1
        out = functional.batch_norm(x, mean, var, w, b, training)
        kept[str(x.device)] = (mean.cpu(), var.cpu())
        return out

    compare(norm, (9, 6, 11, 5), (6,), (6,), device=opencl)
    for here, there in zip(kept["cpu"], kept[opencl], strict=True):
        ebb.testing.assert_close(there, here, rtol=1e-6, atol=1e-6)


POOLS = [
    ("avg_pool1d", (2, 3, 20), {"kernel_size": 4, "stride": 3, "padding": 2, "ceil_mode": True}),
    ("avg_pool2d", (2, 3, 9, 11), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ("avg_pool2d", (1, 9, 11), {"kernel_size": (3, 2), "divisor_override": 5}),
    ("avg_pool2d", (1, 9, 11), {"kernel_size": 3, "padding": 1, "count_include_pad": False}),
    ("avg_pool3d", (2, 5, 6, 7), {"kernel_size": 2, "stride": 1}),
    ("max_pool1d", (2, 3, 20), {"kernel_size": 4, "stride": 1, "dilation": 2}),
    ("max_pool2d", (2, 3, 9, 11), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ("max_pool3d", (2, 3, 5, 6, 7), {"kernel_size": 3, "stride": 1, "padding": 1}),
    ("adaptive_avg_pool2d", (2, 7, 10), {"output_size": (3, 10)}),
    ("adaptive_max_pool2d", (2, 7, 10), {"output_size": (3, 4)}),
]


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize(("name", "shape", "options"), POOLS)
def test_pools(name, shape, options, dtype, opencl):
    compare(lambda x: getattr(functional, name)(x, **options), shape, device=opencl, dtype=dtype)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_many_elements(name, reduction, opencl):
    function = getattr(functional, name)
    compare(lambda x, t: function(x, t, reduction=reduction), (70, 130), (70, 130), device=opencl)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_of_many_rows(reduction, opencl):
    target = ebb.arange(200) * 7 % 11 - 1

    def loss(x, w):
        own = target.to(x.device).view(x.shape[0], *x.shape[2:])
        weight = w.detach().abs() + w.sum() * 0
        return (
            functional.cross_entropy(x, own, weight.detach(), ignore_index=-1, reduction=reduction)
            + w.sum() * 0
        )

    compare(loss, (200, 10), (10,), device=opencl)
    compare(loss, (20, 10, 10), (10,), device=opencl)


def test_results_are_the_same_bits_every_time(opencl):
    x = ebb.randn(50, 7, 30).to(opencl)

    def results():
        y = x.detach().clone().requires_grad_()
        functional.batch_norm(y, None, None, training=True).softmax(1).std().backward()
        functional.max_pool1d(functional.layer_norm(y, (30,)), 5, 1).square().sum().backward()
        return y.grad.cpu()

    first = results()
    assert all(ebb.equal(results(), first) for _ in range(3))


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("nearest", {}),
        ("nearest-exact", {}),
        ("area", {}),
        ("bilinear", {}),
        ("bilinear", {"align_corners": True}),
        ("bilinear", {"antialias": True}),
        ("bicubic", {}),
        ("bicubic", {"antialias": True}),
    ],
    ids=str,
)
def test_images_in_other_sizes_are_those_of_the_cpu(mode, options, opencl):
    x = ebb.rand(2, 3, 7, 6)
    for size in ([14, 3], [5, 12]):
        found = functional.interpolate(x.to(opencl), size, mode=mode, **options)
        ebb.testing.assert_close(found.cpu(), functional.interpolate(x, size, mode=mode, **options))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax_of_lines_that_lie_side_by_side(name, dtype, opencl):
    function = getattr(ebb, name)
    compare(lambda x: function(x, 0), (3, 2100), device=opencl, dtype=dtype)
    if dtype == "float32":
        compare(lambda x: function(x, 0), (150, 40), device=opencl)
        compare(lambda x: function(x, 1), (5, 33, 17), device=opencl)


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_infinite_elements(dim, opencl):
    x = ebb.randn(130, 70)
    x[3] = -float("inf")
    x[:, 5] = -float("inf")
    x[7, 8] = float("inf")
    x[9, 10] = float("nan")
    for name in ("softmax", "log_softmax", "logsumexp"):
        function = getattr(ebb, name)
        there, here = function(x.to(opencl), dim).cpu(), function(x, dim)
        ebb.testing.assert_close(there, here, rtol=2e-5, atol=2e-5, equal_nan=True)


@pytest.mark.parametrize("name", ["sum", "amax", "var", "std"])
def test_reductions_of_rows_and_of_columns(name, opencl):
    function = getattr(ebb, name)
    for shape in ((40, 2100), (2100, 40)):
        for dim in (0, 1):
            compare(lambda x, dim=dim: function(x, dim), shape, device=opencl)
    compare(lambda x: function(x, 1), (5, 70, 30), device=opencl, dtype="float64")


def test_variances_of_numbers_far_from_zero(opencl):
    x = ebb.randn(50, 3000) + 1000
    for dim in (0, 1):
        ebb.testing.assert_close(x.to(opencl).var(dim).cpu(), x.double().var(dim).float())


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((130, 70), dtype) for dtype in ("bool", "int8", "bfloat16", "float64")]
    + [(shape, "float32") for shape in ((130, 70), (64, 8), (3, 65, 9), (2, 9, 70, 8))],
)
def test_copies_of_transposed_matrices(shape, dtype, opencl):
    x = (ebb.arange(math.prod(shape)).view(shape) % 251).to(getattr(ebb, dtype))
    there = x.to(opencl)
    for first in range(len(shape) - 1):
        one, other = x.transpose(first, -1), there.transpose(first, -1)
        assert ebb.equal(other.contiguous().cpu(), one.contiguous())
        assert ebb.equal(other[1:, ..., 2:].contiguous().cpu(), one[1:, ..., 2:].contiguous())
        target = ebb.empty_like(there)
        target.transpose(first, -1).copy_(other.contiguous())
        assert ebb.equal(target.cpu(), x)


SHORT_ROWS = {
    "sum": lambda x: x.sum(1),
    "var": lambda x: x.var(1),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "amax": lambda x: x.amax(1),
    "layer_norm": lambda x: functional.layer_norm(x, x.shape[1:]),
    "rms_norm": lambda x: functional.rms_norm(x, x.shape[1:]),
}


@pytest.mark.parametrize(
    ("length", "dtype"),
    [(8, "float32"), (64, "float32"), (72, "float16"), (128, "bfloat16"), (136, "float32")],
)
@pytest.mark.parametrize("name", SHORT_ROWS)
def test_many_short_rows(name, length, dtype, opencl):
    compare(SHORT_ROWS[name], (4099, length), device=opencl, dtype=dtype)


@pytest.mark.parametrize("length", [3, 64, 1000])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax_of_numbers_far_apart_and_of_none(name, length, opencl):
    x = ebb.linspace(-120, 0, 4099 * length).reshape(-1, length).contiguous()
    infinity = float("inf")
    for row, value in enumerate((-infinity, infinity, float("nan"), -1e30, 1e30)):
        x[row, :2] = value
    x[6], x[7] = -infinity, x[7] * 0
    # The largest number and the logarithm of a sum may cancel: what is left has their errors.
    atol = 1e-6 if name == "logsumexp" else 1e-37
    for dim in (0, 1):
        function = getattr(ebb, name)
        here, there = function(x, dim), function(x.to(opencl), dim).cpu()
        assert ebb.allclose(there, here, rtol=1e-5, atol=atol, equal_nan=True)
