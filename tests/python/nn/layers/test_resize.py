# tests/python/nn/layers/test_resize.py -- interpolate against NumPy; infinities in unfold and fold.

import numpy as np
import pytest

import ebb
from ebb import nn
from tests.fuzz.rows import narrow
from tests.fuzz.rows.temporaries import memory_of
from tests.python.fresh import printed

F = nn.functional
RNG = np.random.default_rng(11)


def leaf(shape):
    return ebb.tensor(RNG.standard_normal(shape), requires_grad=True)


def test_infinities_stay_in_their_own_places():
    x = ebb.zeros([1, 4, 4])
    x[0, 1, 1] = float("inf")
    columns = F.unfold(x, 2)
    assert np.isinf(columns.numpy()).sum() == 4
    assert not np.isnan(F.fold(columns, 4, 2).numpy()).any()


def bilinear(x, sizes, corners):
    """Bilinear samples, plainly."""
    out = np.zeros((*x.shape[:2], *sizes))
    for place in np.ndindex(*sizes):
        rows = []
        for i, new, old in zip(place, sizes, x.shape[2:], strict=True):
            even = (i + 0.5) * old / new - 0.5
            at = i * (old - 1) / max(new - 1, 1) if corners else max(even, 0)
            low = min(int(at), old - 1)
            weights = np.zeros(old)
            weights[low] += 1 - (at - low)
            weights[min(low + 1, old - 1)] += at - low
            rows.append(weights)
        out[:, :, place[0], place[1]] = np.einsum("nchw,h,w->nc", x, *rows)
    return out


@pytest.mark.parametrize("sizes", [(7, 9), (3, 2), (4, 5), (1, 1)])
@pytest.mark.parametrize("corners", [False, True])
def test_bilinear_matches_numpy(sizes, corners):
    x = leaf((2, 3, 4, 5))
    got = F.interpolate(x, sizes, mode="bilinear", align_corners=corners)
    np.testing.assert_allclose(
        got.detach().numpy(), bilinear(x.detach().numpy(), sizes, corners), atol=1e-12
    )


def test_linear_modes_round_the_mean_of_bytes_and_refuse_other_integers():
    x = ebb.tensor([[[0, 10, 255]]])
    means = F.interpolate(x.to(ebb.uint8), 5, mode="linear", align_corners=True)
    assert (means.dtype, means.tolist()) == (ebb.uint8, [[[0, 5, 10, 132, 255]]])
    for dtype in (ebb.int64, ebb.int8, ebb.bool):
        with pytest.raises(TypeError, match="'linear' needs a floating dtype or uint8, got ebb"):
            F.interpolate(x.to(dtype), 5, mode="linear")


def test_nearest_repeats_elements():
    x = ebb.tensor(np.arange(6.0).reshape(1, 1, 6))
    assert F.interpolate(x, 3).tolist() == [[[0, 2, 4]]]
    assert F.interpolate(x, 4).tolist() == [[[0, 1, 3, 4]]]
    assert F.interpolate(x, 3, mode="nearest-exact").tolist() == [[[1, 3, 5]]]
    assert F.interpolate(x[..., :2], scale_factor=2.6).tolist() == [[[0, 0, 0, 1, 1]]]
    image = ebb.tensor(np.arange(4.0).reshape(1, 1, 2, 2))
    wanted = [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]
    assert nn.Upsample(scale_factor=2)(image).tolist() == [[wanted]]


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_interpolate_is_differentiable_twice(mode):
    function = lambda a: F.interpolate(a, (5, 3), mode=mode)  # noqa: E731
    x = leaf((1, 2, 3, 4))
    assert ebb.autograd.gradcheck(function, [x], fast_mode=True)
    assert ebb.autograd.gradgradcheck(function, [x], fast_mode=True)


def test_other_ranks_are_resized_along_all_dims_but_two():
    assert list(F.interpolate(ebb.ones([1, 1, 4]), 6, mode="linear").shape) == [1, 1, 6]
    x = ebb.ones([1, 1, 2, 3, 4])
    assert F.interpolate(x, scale_factor=2, mode="trilinear").sum().item() == 4 * 6 * 8


FACTORS = [float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e-9, (1.0, 2.0), "2", [None], 1j]


@pytest.mark.parametrize("factor", FACTORS, ids=repr)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear"])
def test_a_factor_that_is_no_positive_number_is_refused(mode, factor):
    for resize in (lambda x: F.interpolate(x, scale_factor=factor, mode=mode),
                   nn.Upsample(scale_factor=factor, mode=mode)):  # fmt: skip
        with pytest.raises(ebb.errors.ValueError, match=r"interpolate: .*(scale_factor|sizes)"):
            resize(ebb.ones([1, 1, 4]))


@pytest.mark.parametrize("size", [-1, 0, 2.5, "2", [None], (2, 3), True, [float("nan")]], ids=repr)
def test_a_size_that_is_no_positive_int_is_refused(size):
    with pytest.raises(ebb.errors.ValueError, match=r"interpolate: .*size"):
        F.interpolate(ebb.ones([1, 1, 4]), size)


@pytest.mark.nosan  # the sanitizers take address space that the limit is set on
def test_an_output_that_memory_cannot_hold_is_refused_before_anything_is_computed():
    code = """if True:
        import resource, ebb
        from ebb.nn import functional as F
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        image = ebb.ones(1, 1, 4, 4)
        calls = [{"scale_factor": f} for f in (1e5, 1e9, 1e18, 1e300)]
        calls += [{"size": n} for n in (10**5, 10**9, 2**40, 2**62, 2**70)]
        for call in calls:
            for mode in ("nearest", "nearest-exact", "bilinear"):
                try:
                    F.interpolate(image, mode=mode, **call)
                except ebb.errors.OutOfMemoryError as error:
                    text = "interpolate: needs memory for an output of shape [1, 1, "
                    assert str(error).startswith(text), error
                else:
                    raise AssertionError(call)
    """
    printed(code)


def test_dims_that_shrink_go_first():
    n = 4000  # an n x n image of float32 would take 64 MB
    taken = memory_of(lambda: F.interpolate(ebb.ones(1, 1, 1, n), (n, 1), mode="bilinear"))
    assert taken.temporaries < 1 << 20


BAD = {
    "both": (lambda: F.interpolate(ebb.ones([1, 1, 2]), 2, 2.0), "either size or scale_factor"),
    "mode": (lambda: F.interpolate(ebb.ones([1, 1, 2]), 2, mode="cubic"), "needs mode nearest"),
    "corners": (lambda: F.interpolate(ebb.ones([1, 1, 2]), 2, align_corners=True), "align_corners"),
    "dims": (lambda: F.interpolate(ebb.ones([1, 1, 2]), 2, mode="bilinear"), "an input of 4 dims"),
    "size": (lambda: F.interpolate(ebb.ones([1, 1, 2]), 0), "sizes of at least 1"),
    "count": (lambda: F.interpolate(ebb.ones([1, 1, 2]), (2, 2)), "one number or 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name):
    call, text = BAD[name]
    with pytest.raises(ebb.Error, match=text):
        call()


def test_upsample_shows_what_it_was_given():
    assert repr(nn.Upsample(4, mode="bilinear")) == "Upsample(size=4, mode='bilinear')"


def cubic(x, a):
    x = abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    return near if x <= 1 else (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def matrix_of(old, new, mode, corners, antialias):
    """The weights of all old elements for each new one, plainly."""
    scale = (old - 1) / max(new - 1, 1) if corners else old / new
    if corners and new == 1:
        scale = 0.0
    rows = np.zeros((new, old))
    for i in range(new):
        if antialias:
            width = max(scale, 1.0)
            support, center = (2 if mode == "bicubic" else 1) * width, scale * (i + 0.5)
            first = max(int(center - support + 0.5), 0)
            for j in range(first, min(int(center + support + 0.5), old)):
                away = (j + 0.5 - center) / width
                rows[i, j] = cubic(away, -0.5) if mode == "bicubic" else max(0, 1 - abs(away))
            rows[i] /= rows[i].sum()
            continue
        at = i * scale if corners else (i + 0.5) * scale - 0.5
        low = int(np.floor(at))
        for j in range(low - 1, low + 3):
            rows[i, min(max(j, 0), old - 1)] += cubic(at - j, -0.75)
    return rows


@pytest.mark.parametrize("sizes", [(7, 9), (3, 2), (4, 5), (1, 1), (2, 11)])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(
    "mode, antialias", [("bicubic", False), ("bicubic", True), ("bilinear", True)]
)
def test_bicubic_and_antialiased_modes_match_numpy(sizes, corners, mode, antialias):
    x = leaf((2, 3, 4, 5))
    got = F.interpolate(x, sizes, mode=mode, align_corners=corners, antialias=antialias)
    rows, columns = (
        matrix_of(old, new, mode, corners, antialias)
        for old, new in zip((4, 5), sizes, strict=True)
    )
    want = np.einsum("nchw,ih,jw->ncij", x.detach().numpy(), rows, columns)
    np.testing.assert_allclose(got.detach().numpy(), want, atol=1e-12)


def test_area_is_the_mean_of_parts_and_trilinear_of_each_dim():
    x = leaf((1, 2, 4, 6, 5))
    assert ebb.equal(F.interpolate(x, (2, 3, 5), mode="area"), F.adaptive_avg_pool3d(x, (2, 3, 5)))
    flat = F.interpolate(x[:, :, 0], (3, 4), mode="bilinear")
    cube = F.interpolate(x[:, :, :1], (1, 3, 4), mode="trilinear")
    np.testing.assert_allclose(cube[:, :, 0].detach().numpy(), flat.detach().numpy())


# Of images of bytes, 4 x 5 elements n * n % 251: what PyTorch 2.15 makes of them.
BYTES = [
    ("bilinear", (3, 7), False, False, [[4, 6, 8, 11, 17, 22, 27], [63, 72, 84, 97, 111, 126, 139],
                                        [204, 101, 33, 56, 79, 104, 124]]),
    ("bilinear", (6, 3), True, False, [[0, 4, 13], [15, 27, 44], [43, 65, 92], [96, 128, 166],
                                       [120, 91, 139], [131, 38, 94]]),
    ("bilinear", (2, 9), False, True, [[0, 1, 1, 3, 4, 7, 9, 13, 16],
                                       [225, 115, 5, 22, 38, 56, 73, 92, 110]]),
    ("bicubic", (3, 7), False, False, [[2, 3, 6, 9, 13, 19, 24], [50, 74, 100, 111, 124, 142, 154],
                                       [223, 98, 20, 55, 77, 107, 127]]),
    ("bicubic", (6, 3), True, False, [[0, 1, 9], [9, 20, 36], [40, 64, 93], [97, 140, 179],
                                      [125, 89, 145], [134, 21, 91]]),
    ("bicubic", (5, 5), False, True, [[0, 1, 4, 9, 16], [11, 19, 29, 40, 54],
                                      [53, 93, 111, 131, 153], [136, 104, 130, 158, 189],
                                      [225, 5, 38, 73, 110]]),
]  # fmt: skip


@pytest.mark.parametrize("mode, size, antialias, corners, wanted", BYTES)
def test_images_of_bytes_are_rounded_as_in_pytorch(mode, size, antialias, corners, wanted):
    x = (ebb.arange(20) ** 2 % 251).to(ebb.uint8).reshape(1, 1, 4, 5).expand(2, 3, 4, 5)
    out = F.interpolate(x, size, mode=mode, antialias=antialias, align_corners=corners)
    assert out.dtype is ebb.uint8 and out.shape == (2, 3, *size)
    assert (out == ebb.tensor(wanted)).all()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_widths_of_bytes_are_rounded_before_heights(mode):
    x = ebb.tensor([[[[0, 1], [0, 0]]]], dtype=ebb.uint8)
    mean = F.interpolate(x, (1, 1), mode="bilinear")
    assert mean.item() == 1  # (0.5 -> 1, 0), whose mean is 0.5 -> 1; of all four it is 0.25
    peaks = ebb.tensor([[[[0, 255, 255, 0]]]], dtype=ebb.uint8)
    far = F.interpolate(peaks, (1, 7), mode=mode)
    exact = F.interpolate(peaks.double(), (1, 7), mode=mode)
    assert ebb.equal(far, (exact + 0.5).floor().clamp(0, 255).to(ebb.uint8))


def test_dims_of_bytes_that_keep_their_size_keep_their_elements():
    x = ebb.arange(6, dtype=ebb.uint8).reshape(1, 1, 2, 3)
    same = F.interpolate(x, scale_factor=(1.2, 1.1), mode="bicubic")
    assert ebb.equal(same, x) and same.data_ptr() != x.data_ptr()
    tall = F.interpolate(x, (5, 3), mode="bilinear")
    assert ebb.equal(tall[:, :, 2], ebb.tensor([[[2, 3, 4]]], dtype=ebb.uint8))


def test_upsampling_under_its_other_names():
    x = leaf((1, 2, 3, 4))
    same = ebb.equal
    assert same(F.upsample(x, scale_factor=2), F.interpolate(x, scale_factor=2))
    assert same(F.upsample_nearest(x, (5, 6)), F.interpolate(x, (5, 6)))
    corners = F.interpolate(x, (5, 6), mode="bilinear", align_corners=True)
    assert same(F.upsample_bilinear(x, (5, 6)), corners)
    assert same(nn.UpsamplingBilinear2d((5, 6))(x), corners)
    assert same(nn.UpsamplingNearest2d(scale_factor=2)(x), F.interpolate(x, scale_factor=2))
    assert repr(nn.UpsamplingNearest2d(2)) == "UpsamplingNearest2d(size=2, mode='nearest')"


def test_modes_that_do_not_go_with_an_option_are_refused():
    x = leaf((1, 2, 3, 4))
    with pytest.raises(ValueError, match="antialias is for modes 'bilinear' and 'bicubic', got mo"):
        F.interpolate(x, 2, mode="nearest", antialias=True)
    with pytest.raises(ValueError, match="mode 'bicubic' needs an input of 4 dims, got shape"):
        F.interpolate(x[0], 2, mode="bicubic")
    with pytest.raises(NotImplementedError, match="needs mode nearest, nearest-exact, area,"):
        F.interpolate(x, 2, mode="lanczos")


@pytest.mark.parametrize("dtype", narrow.NARROW)
@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear"])
def test_half_types_are_rounded_once_by_all_dims_together(mode, dtype):
    sizes = {"linear": (7,), "trilinear": (4, 6, 5)}.get(mode, (5, 9))
    numbers = np.random.default_rng(0).standard_normal((2, 3, *[4] * len(sizes)))
    x = ebb.tensor(numbers).to(getattr(ebb, dtype))
    got, wanted = (F.interpolate(one, sizes, mode=mode) for one in (x, x.double()))
    assert got.dtype == x.dtype
    assert narrow.ulps(got.double().numpy(), wanted.numpy(), dtype, norm=True).max() <= 0.51
