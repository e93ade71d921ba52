# satellites/vision/tests/test_pillow.py -- images of Pillow keep their mode, palette and values.
#
# Pillow is optional, for users and here (22 MB): without it these are left out. In an environment
# of its own: pip install --target FOLDER pillow==13.0.0, then pytest with FOLDER in PYTHONPATH.
import numpy as np
import pytest

import ebb
from ebb.vision import datasets, transforms
from ebb.vision.transforms import InterpolationMode, functional
from ebb.vision.utils import save_image

Image = pytest.importorskip("PIL.Image", reason="Pillow is optional")

MODES = ("1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "HSV", "YCbCr", "I", "F", "I;16")
WHOLE = ("L", "RGB", "RGBA")  # those whose channels are bytes of colours, the same in tensors


def image(mode):
    """Return an image of 10 columns and 12 rows."""
    random = np.random.default_rng(0)
    if mode == "I;16":
        return Image.fromarray(random.integers(0, 65536, (12, 10), dtype=np.uint16))
    return Image.fromarray(random.integers(0, 256, (12, 10, 3), dtype=np.uint8)).convert(mode)


def colours(picture):
    """Return an image's pixels, those of palettes and other colours as red, green and blue."""
    is_plain = picture.mode in ("1", "L", "LA", "RGB", "RGBA", "I", "F", "I;16")
    return np.asarray(picture if is_plain else picture.convert("RGB"))


MOVES = {
    "hflip": (functional.hflip, lambda x: x[:, ::-1]),
    "vflip": (functional.vflip, lambda x: x[::-1]),
    "crop": (lambda i: functional.crop(i, 2, 3, 4, 5), lambda x: x[2:6, 3:8]),
    "center_crop": (lambda i: functional.center_crop(i, 6), lambda x: x[3:9, 2:8]),
    "edge": (
        lambda i: functional.pad(i, [1, 2], padding_mode="edge"),
        lambda x: np.pad(x, [(2, 2), (1, 1), (0, 0)][: x.ndim], "edge"),
    ),
    "inner": (lambda i: functional.crop(functional.pad(i, 3), 3, 3, 12, 10), lambda x: x),
    "half_turn": (lambda i: functional.rotate(i, 180), lambda x: x[::-1, ::-1]),
    "same_size": (
        lambda i: functional.resize(i, [12, 10], interpolation=InterpolationMode.NEAREST),
        lambda x: x,
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("move", MOVES)
def test_moves_keep_mode_and_colours(move, mode):
    call, expected = MOVES[move]
    given = image(mode)
    moved = call(given)
    assert moved.mode == mode
    assert np.array_equal(colours(moved), expected(colours(given)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("convert", [functional.pil_to_tensor, functional.to_tensor])
def test_a_tensor_of_an_image_gives_it_back(convert, mode):
    given = image(mode)
    planes = convert(given)
    assert list(planes.shape) == [len(given.getbands()), 12, 10]
    again = functional.to_pil_image(planes, mode=mode)
    assert again.mode == mode
    assert np.array_equal(np.asarray(again), np.asarray(given))


def test_black_and_white_is_0_and_1():
    given = Image.fromarray(np.array([[True, False]]))
    assert functional.pil_to_tensor(given).tolist() == [[[True, False]]]
    assert functional.pil_to_tensor(given).byte().tolist() == [[[1, 0]]]
    assert functional.to_tensor(given).tolist() == [[[1.0, 0.0]]]


@pytest.mark.parametrize(("channels", "mode"), [(3, "CMYK"), (1, "RGB"), (4, "HSV"), (2, "L")])
def test_a_mode_of_other_channels_is_refused(channels, mode):
    with pytest.raises(ebb.errors.ValueError, match=f"needs a 'mode' of .* here, got '{mode}'"):
        functional.to_pil_image(ebb.zeros(channels, 2, 2), mode=mode)


VALUES = {
    "invert": functional.invert,
    "posterize": lambda i: functional.posterize(i, 3),
    "solarize": lambda i: functional.solarize(i, 100),
    "gaussian_blur": lambda i: functional.gaussian_blur(i, 3),
}


@pytest.mark.parametrize("mode", WHOLE)
@pytest.mark.parametrize("name", VALUES)
def test_values_change_as_in_tensors(name, mode):
    given = image(mode)
    changed = VALUES[name](given)
    assert changed.mode == mode
    planes = VALUES[name](functional.pil_to_tensor(given))
    assert ebb.equal(functional.pil_to_tensor(changed), planes)


ENHANCED = {
    "adjust_brightness": lambda i: functional.adjust_brightness(i, 1.5),
    "adjust_contrast": lambda i: functional.adjust_contrast(i, 0.5),
    "adjust_saturation": lambda i: functional.adjust_saturation(i, 0.5),
    "adjust_sharpness": lambda i: functional.adjust_sharpness(i, 0.5),
    "adjust_gamma": lambda i: functional.adjust_gamma(i, 1.5),
    "autocontrast": functional.autocontrast,
    "equalize": functional.equalize,
    "rgb_to_grayscale": functional.rgb_to_grayscale,
}


@pytest.mark.parametrize("name", ENHANCED)
def test_colours_that_pillow_changes_are_near_those_of_tensors(name):
    given = image("RGB")
    changed = functional.pil_to_tensor(ENHANCED[name](given)).int()
    planes = ENHANCED[name](functional.pil_to_tensor(given)).int()
    assert (changed - planes).abs().max().item() <= 1  # both round, at other places


@pytest.mark.parametrize("name", sorted({*VALUES, *ENHANCED} - {"adjust_gamma", "equalize"}))
def test_numbers_of_a_palette_are_not_taken_for_colours(name):
    call = {**VALUES, **ENHANCED}[name]
    if name == "rgb_to_grayscale":
        assert np.array_equal(np.asarray(call(image("P"))), np.asarray(image("P").convert("L")))
        return
    with pytest.raises(ebb.errors.ValueError, match=f"{name}: needs an image .* got mode P"):
        call(image("P"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*VALUES, *ENHANCED])
def test_every_mode_is_changed_or_refused_by_name(name, mode):
    try:
        made = {**VALUES, **ENHANCED}[name](image(mode))
    except ebb.errors.Error as error:
        assert str(error).startswith(f"{name}: ")
    else:
        assert made.size == (10, 12)


def test_a_pipeline_for_training_takes_folders_of_images(tmp_path):
    for kind in ("cat", "dog"):
        (tmp_path / kind).mkdir()
        for number, mode in enumerate(("RGB", "L", "P", "RGBA")):
            image(mode).save(tmp_path / kind / f"{number}.png")
    drawn = transforms.Compose([
        transforms.RandomResizedCrop(8),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
        transforms.RandomRotation(10),
        transforms.RandomGrayscale(0.2),
        transforms.ToTensor(),
        transforms.Normalize([0.5] * 3, [0.5] * 3),
        transforms.RandomErasing(0.5),
    ])  # fmt: skip
    folder = datasets.ImageFolder(str(tmp_path), drawn)
    (images, labels), *rest = ebb.data.DataLoader(folder, batch_size=8)
    assert rest == [] and list(images.shape) == [8, 3, 8, 8]
    assert folder.classes == ["cat", "dog"] and labels.tolist() == [0] * 4 + [1] * 4
    assert images.isfinite().all() and images.abs().max().item() <= 1


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp"])
def test_saved_images_are_read_again(tmp_path, suffix):
    planes = ebb.linspace(0, 1, 3 * 16 * 16).reshape(3, 16, 16)
    save_image(planes, tmp_path / f"x.{suffix}")
    read = functional.to_tensor(datasets.default_loader(str(tmp_path / f"x.{suffix}")))
    assert (read - planes).abs().max().item() < (0.1 if suffix == "jpg" else 0.01)


def test_data_sets_give_images_of_pillow(tmp_path):
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    pixels = np.arange(2 * 28 * 28, dtype=np.uint8)
    head = b"".join(number.to_bytes(4, "big") for number in (0x803, 2, 28, 28))
    (folder / "train-images-idx3-ubyte").write_bytes(head + pixels.tobytes())
    head = b"".join(number.to_bytes(4, "big") for number in (0x801, 2))
    (folder / "train-labels-idx1-ubyte").write_bytes(head + b"\3\7")
    picture, label = datasets.MNIST(str(tmp_path), train=True)[1]
    assert (picture.mode, picture.size, label) == ("L", (28, 28), 7)
    assert np.array_equal(np.asarray(picture).reshape(-1), pixels[784:])
