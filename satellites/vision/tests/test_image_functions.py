# satellites/vision/tests/test_image_functions.py -- transforms as functions, beside NumPy's.
import sys

import numpy as np
import pytest

import ebb
from ebb.vision import transforms
from ebb.vision.transforms import InterpolationMode, functional, v2

RNG = np.random.default_rng(3)
ARRAY = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)


@pytest.fixture(autouse=True)
def _without_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)


def planes(array):
    return ebb.tensor(np.ascontiguousarray(array.transpose(2, 0, 1)))


def all_kinds(change):
    """What becomes of the image, after checking that array, bytes and a batch are alike."""
    found = change(ARRAY)
    tensor = change(planes(ARRAY))
    assert tensor.dtype is ebb.uint8 and np.array_equal(tensor.numpy().transpose(1, 2, 0), found)
    batch = change(ebb.stack([planes(ARRAY)] * 2))
    assert np.array_equal(batch[1].numpy(), tensor.numpy())
    return found


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric"])
def test_borders_repeat_the_image_as_numpy_does(mode):
    found = all_kinds(lambda image: functional.pad(image, [1, 2, 3, 4], padding_mode=mode))
    assert np.array_equal(found, np.pad(ARRAY, [(2, 4), (1, 3), (0, 0)], mode=mode))


def test_borders_have_a_colour_and_may_cut():
    found = functional.pad(ARRAY, [1, 0], fill=[1, 2, 3])
    assert found[0, 0].tolist() == [1, 2, 3] and np.array_equal(found[:, 1:-1], ARRAY)
    assert np.array_equal(functional.pad(ARRAY, [-1, -2, -3, 0]), ARRAY[2:, 1:-3])
    with pytest.raises(
        ebb.errors.ValueError, match=r"pad: needs a 'padding' of 1, 2 or 4 .* got 3"
    ):
        functional.pad(ARRAY, [1, 2, 3])
    with pytest.raises(ebb.errors.ValueError, match=r"pad: needs a 'padding_mode' .* got 'mirror'"):
        functional.pad(ARRAY, 1, padding_mode="mirror")


def test_parts_may_lie_outside():
    found = all_kinds(lambda image: functional.crop(image, -1, 6, 3, 4))
    assert not found[0].any() and not found[:, 2:].any()
    assert np.array_equal(found[1:, :2], ARRAY[:2, 6:])
    corners = functional.five_crop(ARRAY, 2)
    assert np.array_equal(corners[1], ARRAY[:2, 6:]) and np.array_equal(corners[4], ARRAY[2:4, 3:5])
    assert np.array_equal(functional.ten_crop(ARRAY, 2)[5], ARRAY[:2, :5:-1])
    with pytest.raises(ebb.errors.ValueError, match="five_crop: needs an image of at least 7 by 2"):
        functional.five_crop(ARRAY, (7, 2))


def test_sizes_follow_the_shorter_side():
    def shape(*given, **more):
        return list(functional.resize(planes(ARRAY), *given, **more).shape[1:])

    assert shape(3) == [3, 4] and shape([3]) == [3, 4] and shape([5, 5]) == [5, 5]
    assert shape(12, max_size=14) == [10, 14] and shape(6) == [6, 8]
    tall = functional.resize(planes(ARRAY).transpose(1, 2), 3)
    assert list(tall.shape[1:]) == [4, 3]
    nearest = functional.resize(planes(ARRAY), [12, 16], InterpolationMode.NEAREST)
    assert np.array_equal(nearest.numpy(), planes(ARRAY).numpy().repeat(2, 1).repeat(2, 2))
    with pytest.raises(ebb.errors.ValueError, match="resize: needs an image of Pillow for 'box'"):
        functional.resize(ARRAY, 3, InterpolationMode.BOX)
    with pytest.raises(ebb.errors.ValueError, match="resize: needs an InterpolationMode, got 'no'"):
        functional.resize(ARRAY, 3, "no")
    with pytest.raises(ebb.errors.ValueError, match="resize: needs a 'size' of at least 1"):
        functional.resize(ARRAY, [0, 3])


def grey(array):
    return (array @ np.array([0.2989, 0.587, 0.114])).astype(np.uint8)[..., None]


@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0, 1.9])
@pytest.mark.parametrize(
    "name, other",
    [
        ("brightness", lambda array: 0.0 * array),
        ("contrast", lambda array: grey(array).mean()),
        ("saturation", grey),
    ],
)
def test_colours_are_mixed_with_a_simpler_image(name, other, factor):
    found = getattr(functional, f"adjust_{name}")(planes(ARRAY), factor)
    mixed = factor * ARRAY + (1 - factor) * other(ARRAY)
    near = np.clip(mixed, 0, 255).transpose(2, 0, 1)
    assert np.abs(found.numpy() - near).max() <= 1.001  # rounding of the mean in float32
    with pytest.raises(ebb.errors.ValueError, match=f"adjust_{name}: needs a factor of at least 0"):
        getattr(functional, f"adjust_{name}")(ARRAY, -0.1)


def test_hues_go_round_in_a_circle():
    x = planes(ARRAY).float() / 255
    third = functional.adjust_hue(functional.adjust_hue(x, 1 / 3), -1 / 3)
    np.testing.assert_allclose(third.numpy(), x.numpy(), atol=1e-5)
    red = ebb.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    assert functional.adjust_hue(red, 1 / 3).flatten().round(decimals=4).tolist() == [0, 1, 0]
    assert functional.adjust_hue(red[:1], 0.2) is not None
    with pytest.raises(ebb.errors.ValueError, match=r"adjust_hue: needs a 'hue_factor' in -0.5 to"):
        functional.adjust_hue(x, 0.6)


def test_levels_of_bytes():
    assert np.array_equal(all_kinds(functional.invert), 255 - ARRAY)
    assert np.array_equal(all_kinds(lambda image: functional.posterize(image, 3)), ARRAY & 0xE0)
    solar = np.where(ARRAY >= 100, 255 - ARRAY, ARRAY)
    assert np.array_equal(all_kinds(lambda image: functional.solarize(image, 100)), solar)
    stretched = all_kinds(functional.autocontrast)
    assert stretched.min((0, 1)).tolist() == [0] * 3 and stretched.max((0, 1)).tolist() == [255] * 3
    flat = np.full((2, 2, 1), 7, np.uint8)
    assert np.array_equal(functional.equalize(flat), flat)
    dark = RNG.integers(0, 40, (32, 32, 1), dtype=np.uint8)
    counts = np.bincount(dark.ravel(), minlength=256)
    step = (counts.sum() - counts[39]) // 255
    table = np.clip((np.cumsum(counts) - counts + step // 2) // step, 0, 255)
    assert np.array_equal(functional.equalize(dark), table[dark].astype(np.uint8))


def test_blurs_keep_the_mean_and_need_odd_sizes():
    spot = np.zeros((1, 9, 9), np.float32)
    spot[0, 4, 4] = 1
    found = functional.gaussian_blur(ebb.tensor(spot), [3, 5], [0.7, 1.5]).numpy()[0]
    bell = [np.exp(-0.5 * (np.arange(-n, n + 1) / w) ** 2) for n, w in ((1, 0.7), (2, 1.5))]
    wanted = np.outer(bell[1] / bell[1].sum(), bell[0] / bell[0].sum())
    np.testing.assert_allclose(found[2:7, 3:6], wanted, rtol=1e-5)
    assert found.sum() == pytest.approx(1, rel=1e-5)
    with pytest.raises(ebb.errors.ValueError, match="gaussian_blur: needs an odd 'kernel_size'"):
        functional.gaussian_blur(ARRAY, 4)
    with pytest.raises(ebb.errors.ValueError, match="gaussian_blur: needs a 'sigma' above 0"):
        functional.gaussian_blur(ARRAY, 3, 0.0)


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_right_angles_turn_as_numpy_does(turns):
    square = ARRAY[:, :6]
    found = functional.rotate(planes(square), 90.0 * turns)
    assert np.array_equal(found.numpy().transpose(1, 2, 0), np.rot90(square, turns))
    whole = functional.rotate(ARRAY, 90.0 * turns, InterpolationMode.BILINEAR, expand=True)
    assert whole.shape == np.rot90(ARRAY, turns).shape


def test_images_move_and_grow():
    x = planes(ARRAY).float()
    moved = functional.affine(x, 0.0, [2, 1], 1.0, 0.0)
    assert np.array_equal(moved.numpy()[:, 1:, 2:], x.numpy()[:, :-1, :-2])
    assert not moved[:, 0].any() and not moved[:, :, :2].any()
    filled = functional.affine(x, 0.0, [2, 1], 1.0, [0.0, 0.0], fill=[5.0, 6.0, 7.0])
    assert filled[:, 0, 0].tolist() == [5.0, 6.0, 7.0]
    with pytest.raises(ebb.errors.ValueError, match="affine: needs a 'scale' above 0, got 0"):
        functional.affine(x, 0.0, [0, 0], 0, 0.0)


def test_tensors_become_images_and_back():
    x = planes(ARRAY).float() / 255
    assert np.array_equal(functional.to_pil_image(x + 1e-4), ARRAY)
    assert functional.to_pil_image(x[:1]).shape == (6, 8)
    assert functional.pil_to_tensor(ARRAY).dtype is ebb.uint8
    with pytest.raises(ebb.errors.ShapeError, match="to_pil_image: needs 1 to 4 channels, got 5"):
        functional.to_pil_image(ebb.zeros(5, 2, 2))
    with pytest.raises(ebb.errors.DTypeError, match=r"to_tensor: needs an image .* got a Tensor"):
        functional.to_tensor(x)
    with pytest.raises(ebb.errors.DTypeError, match="hflip: needs a Tensor, an array or an image"):
        functional.hflip("x")


def test_full_brightness_stays_full_in_another_dtype():
    full = ebb.tensor([[255]], dtype=ebb.uint8)
    for dtype, value in ((ebb.float64, 1.0), (ebb.int16, 32640), (ebb.uint8, 255)):
        assert functional.convert_image_dtype(full, dtype).item() == value
    assert functional.convert_image_dtype(ebb.ones(1, 1), ebb.uint8).item() == 255
    assert functional.convert_image_dtype(ebb.tensor([[32767]], dtype=ebb.int16), ebb.uint8) == 255
    with pytest.raises(ebb.errors.ValueError, match="at most 16 bits for float32, got int32"):
        functional.convert_image_dtype(ebb.ones(1, 1), ebb.int32)
    assert v2.ToDtype(ebb.float32, scale=True)(full).item() == 1.0
    assert v2.ToDtype(ebb.float32)(full).item() == 255.0 and v2.ToImage()(full) is full


DRAWN = [
    transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
    transforms.RandomResizedCrop(4),
    transforms.RandomRotation(30, expand=True),
    transforms.RandomAffine(10, (0.1, 0.1), (0.8, 1.2), 5),
    transforms.RandomAffine(10),
    transforms.RandomGrayscale(0.5),
    transforms.GaussianBlur(3),
    transforms.RandomOrder([transforms.Pad(1), transforms.CenterCrop(5)]),
    transforms.RandomChoice([transforms.Pad(1), transforms.CenterCrop(5)], [0.2, 0.8]),
    transforms.RandomInvert(),
    transforms.RandomPosterize(2),
    transforms.RandomSolarize(99),
    transforms.RandomAdjustSharpness(2),
    transforms.RandomAutocontrast(),
    transforms.RandomApply([transforms.RandomEqualize(1.0), transforms.Pad(1)]),
    transforms.RandomCrop(7, padding=2, pad_if_needed=True, padding_mode="reflect"),
]


@pytest.mark.parametrize("change", DRAWN, ids=lambda change: type(change).__name__)
def test_draws_repeat_with_their_seed_and_differ_without(change):
    def drawn(seed, image):
        ebb.manual_seed(seed)
        found = change(image)
        return found if isinstance(found, np.ndarray) else found.numpy().transpose(1, 2, 0)

    found = [drawn(seed, ARRAY) for seed in range(12)]
    assert np.array_equal(drawn(3, ARRAY), found[3]) and np.array_equal(
        drawn(3, planes(ARRAY)), found[3]
    )
    assert any(not np.array_equal(one, found[0]) for one in found)
    assert type(change).__name__ in repr(change)


def test_parts_are_erased_within_bounds():
    x = ebb.ones(3, 20, 20)
    ebb.manual_seed(1)
    found = transforms.RandomErasing(1.0, scale=(0.1, 0.2), value=0)(x)
    assert 20 < (found == 0).sum().item() / 3 < 100 and x.all()
    assert transforms.RandomErasing(1.0, value="random", inplace=True)(x) is x
    assert (x != 1).any()
    assert transforms.RandomErasing(0.0)(x) is x
    with pytest.raises(
        ebb.errors.ValueError, match="RandomErasing: needs a 'p' from 0 to 1, got 2"
    ):
        transforms.RandomErasing(2)


@pytest.mark.parametrize(
    "make, problem",
    [
        (lambda: transforms.ColorJitter(brightness=-1), "'brightness' of at least 0, got -1"),
        (lambda: transforms.ColorJitter(hue=0.7), "'hue' within -0.5 to 0.5, got 0.7"),
        (lambda: transforms.RandomResizedCrop(3, scale=(2, 1)), "'scale' from low to high"),
        (lambda: transforms.RandomChoice([abs], [1, 2]), "a 'p' per transform, got 2 of 1"),
        (lambda: transforms.RandomRotation((5, 1)), "'degrees' from low to high"),
    ],
)
def test_impossible_numbers_are_refused(make, problem):
    with pytest.raises(ebb.errors.ValueError, match=problem):
        make()


def test_whitening_takes_rows_through_a_matrix():
    change = transforms.LinearTransformation(2 * ebb.eye(4), ebb.ones(4))
    assert change(ebb.ones(3, 1, 2, 2)).abs().sum() == 0
    with pytest.raises(ebb.errors.ShapeError, match="needs images of 4 values"):
        change(ebb.ones(1, 3, 3))
