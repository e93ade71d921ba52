# satellites/vision/tests/test_vision_utils.py -- batches of images as one picture, and as a file.
import io
import struct
import sys
import zlib

import numpy as np
import pytest

import ebb
from ebb.vision import utils


def test_a_grid_has_images_row_by_row_with_pixels_between():
    images = ebb.tensor([1.0, 2.0, 3.0]).reshape(3, 1, 1, 1)
    grid = utils.make_grid(images, nrow=2, padding=1, pad_value=9.0)
    assert grid.shape == (3, 5, 5)
    rows = [[9, 9, 9, 9, 9], [9, 1, 9, 2, 9], [9] * 5, [9, 3, 9, 9, 9], [9] * 5]
    assert grid[0].tolist() == rows and ebb.equal(grid[0], grid[2])


def test_values_are_scaled_together_or_each():
    images = ebb.tensor([[0.0, 1.0], [2.0, 4.0]]).reshape(2, 1, 1, 2)
    both = utils.make_grid(images, padding=0, normalize=True)
    assert both[0].tolist() == [[0.0, 0.25, 0.5, 1.0]]
    each = utils.make_grid(images, padding=0, normalize=True, scale_each=True)
    assert each[0].tolist() == [[0.0, 1.0, 0.0, 1.0]]
    within = utils.make_grid(images, padding=0, normalize=True, value_range=(1, 2))
    assert within[0].tolist() == [[0.0, 0.0, 1.0, 1.0]]


def test_a_single_image_is_returned_as_it_is():
    assert utils.make_grid(ebb.ones(2, 3)).shape == (3, 2, 3)
    with pytest.raises(ebb.errors.ShapeError, match=r"make_grid: needs \[N, C, H, W\] .* \[2, 5,"):
        utils.make_grid(ebb.ones(2, 5, 1, 1))


def test_a_png_is_written_without_pillow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    image = ebb.tensor([[0.0, 0.5], [1.0, 2.0], [-1.0, 1.0]])
    utils.save_image(image, tmp_path / "a.png")
    written = (tmp_path / "a.png").read_bytes()
    assert written[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", written[16:24]) == (2, 3)
    start = written.index(b"IDAT")
    (size,) = struct.unpack(">I", written[start - 4 : start])
    rows = np.frombuffer(zlib.decompress(written[start + 4 : start + 4 + size]), np.uint8)
    assert rows.reshape(3, 7)[:, [0, 1, 4]].tolist() == [[0, 0, 128], [0, 255, 255], [0, 0, 255]]
    memory = io.BytesIO()
    utils.save_image(image, memory)
    assert memory.getvalue() == written
    with pytest.raises(
        NotImplementedError, match=r"save_image: needs the package Pillow for 'jpg'"
    ):
        utils.save_image(image, tmp_path / "a.jpg")
