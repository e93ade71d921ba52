# satellites/vision/tests/test_transforms.py -- what is done to images, be they arrays or tensors.
import sys

import numpy as np
import pytest

import ebb
from ebb.vision import transforms

ARRAY = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
TENSOR = ebb.tensor(ARRAY.transpose(2, 0, 1))


@pytest.fixture(autouse=True)
def _without_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)


def both(change):
    """What becomes of the image as an array, after checking that the tensor is alike."""
    ebb.manual_seed(7)
    found = change(ARRAY)
    ebb.manual_seed(7)
    assert np.array_equal(change(TENSOR).numpy().transpose(1, 2, 0), found)
    return found


def test_bytes_become_floats_and_channels_come_first():
    found = transforms.ToTensor()(ARRAY)
    assert found.dtype is ebb.float32 and list(found.shape) == [3, 4, 5]
    np.testing.assert_allclose(found.numpy(), ARRAY.transpose(2, 0, 1) / np.float32(255))
    assert transforms.ToTensor()(ARRAY[..., 0].astype(np.float64)).dtype is ebb.float64
    with pytest.raises(ebb.errors.ShapeError, match=r"2 or 3 dims, got \[4\]"):
        transforms.ToTensor()(np.ones(4))


def test_channels_are_normalised_by_their_own_numbers():
    x = ebb.ones(2, 1, 1)
    change = transforms.Normalize((0.5, 1.0), (0.5, 2.0))
    assert change(x).flatten().tolist() == [1.0, 0.0] and x.flatten().tolist() == [1.0, 1.0]
    assert transforms.Normalize(0.5, 0.5, inplace=True)(x) is x and x[0].item() == 1.0
    with pytest.raises(ebb.errors.ValueError, match="a std without 0"):
        transforms.Normalize(0.0, (1.0, 0.0))(x)
    with pytest.raises(ebb.errors.DTypeError, match="needs a floating Tensor"):
        transforms.Normalize(0.0, 1.0)(ARRAY)


def test_parts_are_cut_out_of_the_middle():
    assert np.array_equal(both(transforms.CenterCrop((2, 3))), ARRAY[1:3, 1:4])
    padded = both(transforms.CenterCrop(6))
    assert padded.shape == (6, 6, 3)
    assert np.array_equal(padded[1:5, :5], ARRAY) and not padded[0].any() and not padded[:, 5].any()


def test_borders_have_the_sides_they_are_told():
    found = both(transforms.Pad((1, 2, 3, 0), fill=9))
    assert found.shape == (6, 9, 3) and np.array_equal(found[2:, 1:6], ARRAY)
    assert (found[:2] == 9).all() and (found[:, 6:] == 9).all()
    assert both(transforms.Pad((1, 2))).shape == (8, 7, 3) and both(transforms.Pad(1)).shape[0] == 6


def test_random_parts_lie_everywhere():
    change = transforms.RandomCrop(3)
    both(change)
    places = {(int(part[0, 0, 0]) // 15, int(part[0, 0, 0]) % 15 // 3)
              for part in (change(ARRAY) for _ in range(200))}  # fmt: skip
    assert places == {(row, column) for row in range(2) for column in range(3)}
    assert both(transforms.RandomCrop(4, padding=2)).shape == (4, 4, 3)
    assert both(transforms.RandomCrop(9, pad_if_needed=True)).shape == (9, 9, 3)
    with pytest.raises(ebb.errors.ValueError, match="at least 9 by 9, got 4 by 5"):
        transforms.RandomCrop(9)(ARRAY)


@pytest.mark.parametrize("make, dim", [
    (transforms.RandomHorizontalFlip, 1), (transforms.RandomVerticalFlip, 0),
])  # fmt: skip
def test_flips_happen_as_often_as_told(make, dim):
    assert np.array_equal(both(make(1.0)), np.flip(ARRAY, dim))
    assert np.array_equal(both(make(0.0)), ARRAY)
    flips = sum(not np.array_equal(make()(ARRAY), ARRAY) for _ in range(200))
    assert 70 < flips < 130


def test_sizes_are_changed_without_gaps():
    assert transforms.Resize(2)(ARRAY).shape == (2, 2, 3)
    assert transforms.Resize((8, 3))(TENSOR.float()).shape == (3, 8, 3)
    flat = np.full((6, 4), 77, np.uint8)
    found = transforms.Resize((3, 2))(flat)
    assert found.dtype == np.uint8 and found.shape == (3, 2) and (found == 77).all()


def test_functions_are_composed_in_order():
    change = transforms.Compose([transforms.Lambda(lambda x: x + 1), lambda x: x * 10])
    assert change(1) == 20
    assert transforms.RandomApply([change], p=1.0)(1) == 20
