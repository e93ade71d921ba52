# tests/python/ops/network/test_conv.py -- convolution at sizes that are cut into pieces, and
# hostile ones.
#
# The rows of ops/nn/conv.yaml compare small convolutions with NumPy, in float64 by im2col and in
# float32 by oneDNN. Here float32 is compared with float64 where batches and channels are cut, where
# layouts are padded, and where oneDNN steps aside.
from functools import partial

import numpy as np
import pytest

import ebb
from ebb import _C
from tests.python.threads import on_threads

RNG = np.random.default_rng(3)

# Input, weight, options. The comment says what is special.
SHAPES = {
    "one channel": ([20, 1, 28, 28], [16, 1, 5, 5], {"padding": 2}),
    "blocks of images with a rest": ([7, 16, 40, 40], [32, 16, 3, 3], {"padding": 1}),
    "slices of channels": ([1, 40, 56, 56], [150, 40, 3, 3], {"padding": 1}),
    "slices of input channels": ([2, 150, 40, 40], [40, 150, 3, 3], {"stride": 2}),
    "one image, large weight": ([2, 200, 5, 5], [200, 200, 3, 3], {"padding": 1}),
    "few channels": ([3, 3, 33, 31], [5, 3, 4, 2], {"stride": [3, 2], "padding": [1, 0]}),
    "groups": ([4, 24, 17, 19], [36, 6, 3, 3], {"groups": 4, "padding": 1}),
    "depthwise": ([4, 33, 15, 15], [33, 1, 3, 3], {"groups": 33, "padding": 1}),
    "pointwise": ([5, 20, 14, 14], [24, 20, 1, 1], {}),
    "dilated": ([2, 8, 30, 30], [8, 8, 3, 3], {"dilation": [3, 2], "padding": 3}),
    "one dim": ([6, 12, 300], [20, 12, 7], {"padding": 3, "stride": 2}),
    "three dims": ([2, 4, 9, 10, 11], [6, 4, 3, 2, 3], {"padding": 1}),
    "padding beyond the kernel": ([2, 3, 4, 4], [4, 3, 2, 2], {"padding": 3}),
}


# Allowed errors, relative to the largest element.
TOLERANCE = {ebb.float32: 1e-5, ebb.bfloat16: 1e-2}


def both(shape, dtype):
    """Random values as leaves of a narrow dtype and of float64."""
    values = ebb.tensor(RNG.standard_normal(shape)).to(dtype)
    return [values.to(one).detach().requires_grad_() for one in (dtype, ebb.float64)]


def assert_near(got, wanted, what):
    allowed = TOLERANCE[got.dtype]
    scale = np.abs(wanted.numpy()).max(initial=1.0)
    np.testing.assert_allclose(
        got.double().numpy(), wanted.numpy(), rtol=allowed, atol=allowed * scale, err_msg=what
    )


def compare(function, *operands, dtype=ebb.float32):
    """Values and gradients of a narrow dtype against those of float64."""
    pairs = [both(shape, dtype) for shape in operands]
    outs = [function(*given) for given in zip(*pairs, strict=True)]
    assert_near(outs[0].detach(), outs[1].detach(), "value")
    seed = ebb.tensor(RNG.standard_normal(tuple(outs[0].shape))).to(dtype)
    grads = [
        ebb.autograd.grad([out], list(given), [seed.to(out.dtype)])
        for out, given in zip(outs, zip(*pairs, strict=True), strict=True)
    ]
    for index, (got, wanted) in enumerate(zip(*grads, strict=True)):
        assert_near(got, wanted, f"gradient {index}")


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_narrow_dtypes_agree_with_float64(name, dtype):
    x, w, options = SHAPES[name]
    op = getattr(ebb, f"conv{len(x) - 2}d")
    compare(lambda *given: op(*given, **options), x, w, [w[0]], dtype=dtype)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_transposed_narrow_dtypes_agree_with_float64(name, dtype):
    x, w, options = SHAPES[name]
    if name == "padding beyond the kernel":
        options = {"padding": 1}
    op = getattr(ebb, f"conv_transpose{len(x) - 2}d")
    sizes = x[2:] if len(x) == 3 else [min(n, 12) for n in x[2:]]
    channels = w[1] * options.get("groups", 1)
    shapes = [x[0], w[0], *sizes], w, [channels]
    compare(lambda *given: op(*given, **options), *shapes, dtype=dtype)


@pytest.mark.parametrize("padding", [1, 0])
def test_an_output_padding_beyond_the_stride_works_too(padding):
    options = {"dilation": 3, "output_padding": 2, "padding": padding}
    compare(lambda *g: ebb.conv_transpose2d(*g, **options), [2, 3, 5, 6], [3, 4, 2, 2], [4])


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16])
def test_half_types_accumulate_in_float32(dtype):
    # 600 ones: in float16 sums beyond 2048 would lose ones, in bfloat16 beyond 256.
    x, w = ebb.ones([1, 600, 3, 3], dtype=dtype), ebb.ones([1, 600, 1, 1], dtype=dtype)
    assert ebb.conv2d(x, w).tolist()[0][0][0] == [600.0] * 3


def test_strided_and_expanded_operands_are_read_right():
    x = ebb.tensor(RNG.standard_normal((4, 6, 5, 2)).astype(np.float32))
    w = ebb.tensor(RNG.standard_normal((3, 1, 3, 1)).astype(np.float32)).expand([3, 5, 3, 3])
    turned = x.permute([3, 2, 1, 0])[..., ::2]
    wanted = ebb.conv2d(turned.contiguous(), w.contiguous(), padding=1)
    got = ebb.conv2d(turned, w, padding=1)
    assert got.tolist() == wanted.tolist()


def test_results_are_the_same_when_many_threads_call_at_once():
    x = ebb.tensor(RNG.standard_normal((6, 8, 40, 40)).astype(np.float32))
    w = ebb.tensor(RNG.standard_normal((16, 8, 3, 3)).astype(np.float32))
    wanted = ebb.conv2d(x, w).numpy().tobytes()
    wrong = []

    def work(number):
        for size in range(4, 12):  # shapes that the plans of other threads push aside
            ebb.conv2d(x[:, :, :size, : size + number], w)
        if ebb.conv2d(x, w).numpy().tobytes() != wanted:
            wrong.append(number)

    on_threads(*(partial(work, number) for number in range(6)))
    assert wrong == []


def test_more_shapes_than_are_kept_work():
    w = ebb.ones([1, 1, 1])
    for size in range(1, 700):
        assert ebb.conv1d(ebb.ones([1, 1, size]), w).numel() == size
    assert ebb.conv1d(ebb.ones([1, 1, 5]), w).tolist() == [[[1.0] * 5]]


NAMED = {
    "same, odd kernel": ([2, 3, 9, 8], [4, 3, 3, 5], {"padding": "same"}, [2, 4, 9, 8]),
    "same, even kernel": ([2, 3, 9, 8], [4, 3, 4, 2], {"padding": "same"}, [2, 4, 9, 8]),
    "same, dilated": ([3, 9, 8], [4, 3, 4, 2], {"padding": "same", "dilation": 3}, [4, 9, 8]),
    "valid": ([2, 3, 9, 8], [4, 3, 3, 5], {"padding": "valid", "stride": 2}, [2, 4, 4, 2]),
}


@pytest.mark.parametrize("name", NAMED)
def test_padding_by_name(name):
    shape, weight, options, sizes = NAMED[name]
    x, w = (ebb.tensor(RNG.standard_normal(one)) for one in (shape, weight))
    got = ebb.nn.functional.conv2d(x, w, **options)
    assert list(got.shape) == sizes
    steps = options.get("dilation", 1)
    pads = [(0, 0)] * (len(shape) - 2)
    for size in weight[2:]:
        total = steps * (size - 1) if options["padding"] == "same" else 0
        pads.append((total // 2, total - total // 2))
    padded = ebb.tensor(np.pad(x.numpy(), pads))
    wanted = ebb.conv2d(padded, w, None, options.get("stride", 1), 0, steps)
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-12)


def test_padding_by_name_is_checked():
    x, w = ebb.ones([1, 1, 4, 4]), ebb.ones([1, 1, 2, 2])
    conv = ebb.nn.functional.conv2d
    with pytest.raises(ValueError, match="'same' or 'valid', got 'full'"):
        conv(x, w, padding="full")
    with pytest.raises(ValueError, match=r"padding 'same' needs a stride of 1, got \[2\]"):
        conv(x, w, stride=2, padding="same")
    with pytest.raises(ValueError, match="dilation must be from 1 to 2147483647"):
        conv(x, ebb.ones([1, 1, 3, 3]), padding="same", dilation=2**62)


HOSTILE = [
    ({"stride": 2**31}, "stride must be from 1 to 2147483647"),
    ({"padding": -1}, "padding must be from 0"),
    ({"padding": 2**62}, "padding must be from 0"),
    ({"dilation": 2**31 - 1}, "the kernel must fit into the padded input"),
    ({"groups": -3}, "groups must be at least 1"),
    ({"groups": 2**62}, "weight must be"),
    ({"stride": [1, 2, 3]}, "stride needs one number or 2"),
    ({"stride": []}, "stride needs one number or 2"),
    ({"padding": 2**31 - 1}, "bytes|elements|memory"),
]


@pytest.mark.parametrize(("options", "text"), HOSTILE, ids=str)
def test_hostile_options_are_refused(options, text):
    with pytest.raises(ebb.Error, match=text):
        ebb.conv2d(ebb.ones([1, 1, 5, 5]), ebb.ones([1, 1, 2, 2]), **options)


def test_a_transposed_result_too_large_to_count_is_refused():
    x = ebb.ones([1]).expand([1, 1, 2**33])
    with pytest.raises(ebb.Error, match="conv_transpose1d"):
        ebb.conv_transpose1d(x, ebb.ones([1, 1, 1]), stride=2**31 - 1)


def test_operands_of_two_dtypes_are_refused():
    text = r"conv2d: input and weight need one dtype, got float32 \[1, 1, 5, 5\] and float64"
    with pytest.raises(TypeError, match=text):
        ebb.conv2d(ebb.ones([1, 1, 5, 5]), ebb.ones([1, 1, 2, 2], dtype=ebb.float64))


def test_derivatives_of_every_order_are_convolutions():
    x = ebb.tensor(RNG.standard_normal((1, 2, 6)), requires_grad=True)
    w = ebb.tensor(RNG.standard_normal((2, 2, 3)), requires_grad=True)
    out = ebb.conv1d(x, w)
    out = (out * out * out).sum()
    (first,) = ebb.autograd.grad([out], [x], create_graph=True)
    (second,) = ebb.autograd.grad([(first * first).sum()], [w], create_graph=True)
    (third,) = ebb.autograd.grad([(second * second).sum()], [x])
    assert third.shape == x.shape
    assert np.isfinite(third.numpy()).all()


def test_an_index_outside_of_its_plane_is_refused():
    grad, bad = ebb.ones([1, 1, 2]), ebb.tensor(np.array([[[0, 4]]], np.int32))
    with pytest.raises(IndexError, match=r"indices.*got 4"):
        _C._ops.max_pool_backward(grad, bad, [1, 1, 4], 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_max_pool_takes_the_first_of_equal_elements_and_nan(dtype):
    x = ebb.zeros([1, 1, 4, 40], dtype=getattr(ebb, dtype))
    values, indices = ebb.max_pool2d_with_indices(x, 3, 2, 1)
    assert indices.tolist()[0][0][0][:3] == [0, 1, 3]  # the padding never wins
    assert values.tolist()[0][0][1] == [0.0] * 20
    x[0, 0, 2, 5] = float("nan")
    x[0, 0, 1, 6] = float("nan")
    values, indices = ebb.max_pool2d_with_indices(x, [3, 4], 2)
    assert np.isnan(values.tolist()[0][0][0][2])
    assert indices.tolist()[0][0][0][1:3] == [85, 46]  # row 1, column 6 is before row 2, column 5


def test_max_pool_finds_minus_infinity():
    x = ebb.full([1, 3, 35], -float("inf"))
    values, indices = ebb.nn.functional.max_pool1d(x, 3, 2, 1, return_indices=True)
    assert values.tolist()[0][0][0] == -float("inf")
    assert indices.tolist()[0][2][:3] == [0, 1, 3]


ONE_PLACE_DTYPES = {ebb.float16: 2e-2, ebb.bfloat16: 1e-1, ebb.float32: 1e-5, ebb.float64: 1e-12}
# An output padding beyond the stride is none of oneDNN's shapes: the columns serve all dtypes.
ONE_PLACE = {"plain": {}, "transposed": {}, "declined": {"output_padding": 1, "dilation": 2}}


@pytest.mark.parametrize("dtype", ONE_PLACE_DTYPES, ids=str)
@pytest.mark.parametrize("groups", (1, 3))
@pytest.mark.parametrize("dims", (1, 2, 3))
@pytest.mark.parametrize("kind", ONE_PLACE)
def test_with_a_single_place_the_weight_gradient_is_a_product(kind, dims, groups, dtype):
    """One output place (input place, if transposed): the sum over samples of small times big."""
    is_transposed = kind != "plain"
    apply = getattr(ebb, f"conv_transpose{dims}d" if is_transposed else f"conv{dims}d")
    samples, wide, narrow, side = 2, 3 * groups, 2 * groups, [3, 2, 2][:dims]
    small = RNG.standard_normal([samples, wide, *[1] * dims])
    big = RNG.standard_normal([samples, narrow, *side])
    x = ebb.tensor(small if is_transposed else big).to(dtype).requires_grad_()
    w = ebb.ones([wide, narrow // groups, *side], dtype=dtype, requires_grad=True)
    out = apply(x, w, groups=groups, **ONE_PLACE[kind])
    seed = np.full(tuple(out.shape), 7.0)  # where no tap arrives
    if is_transposed:
        step = ONE_PLACE[kind].get("dilation", 1)
        seed[(..., *[slice(None, (size - 1) * step + 1, step) for size in side])] = big
    _, got = ebb.autograd.grad(out, [x, w], ebb.tensor(seed if is_transposed else small).to(dtype))
    small, big = small.reshape(samples, groups, -1), big.reshape(samples, groups, 2, -1)
    wanted = np.einsum("sgo,sgcp->gocp", small, big).reshape(tuple(w.shape))
    allowed = ONE_PLACE_DTYPES[dtype] * np.abs(wanted).max()
    np.testing.assert_allclose(got.double().numpy(), wanted, atol=allowed)


@pytest.mark.parametrize("dtype", ONE_PLACE_DTYPES, ids=str)
def test_a_transposed_convolution_of_no_places_gives_the_bias_and_no_gradient(dtype):
    x = ebb.ones(1, 2, 0, dtype=dtype, requires_grad=True)
    w = ebb.ones(2, 3, 5, dtype=dtype, requires_grad=True)
    b = ebb.tensor([1.0, 2.0, 3.0]).to(dtype).requires_grad_()
    out = ebb.conv_transpose1d(x, w, b, stride=2, output_padding=1)
    assert out.tolist() == [[[1.0] * 4, [2.0] * 4, [3.0] * 4]]
    grads = ebb.autograd.grad(out.sum(), [x, w, b])
    assert grads[0].shape == x.shape
    assert not grads[1].any()
    assert grads[2].tolist() == [4.0, 4.0, 4.0]


# All windows reach into the padding. oneDNN's gradients of such weights are wrong.
BORDERS = {
    "a step beyond the image": ([2, 16, 1], [16, 16, 3], {"stride": 2, "padding": 1}),
    "two steps, each at a border": ([2, 16, 5], [16, 16, 4], {"stride": 7, "padding": 3}),
    "planes": ([2, 17, 3, 1], [17, 17, 4, 4], {"stride": [3, 2], "padding": 2}),
    "thin volumes": ([2, 16, 3, 5, 6], [16, 16, 3, 3, 3], {"stride": 2, "padding": 1}),
    "a deep kernel": (
        [1, 16, 2, 11, 8],
        [2, 16, 4, 5, 5],
        {"stride": [2, 5, 2], "padding": [3, 0, 1]},
    ),
    "steps of the depth": (
        [2, 16, 4, 3, 4],
        [16, 16, 4, 2, 2],
        {"stride": [5, 1, 1], "padding": 2},
    ),
}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", BORDERS)
def test_windows_that_all_reach_into_the_padding_give_the_right_gradients(name, dtype):
    x, w, options = BORDERS[name]
    op = getattr(ebb, f"conv{len(x) - 2}d")
    compare(lambda *given: op(*given, **options), x, w, [w[0]], dtype=dtype)
