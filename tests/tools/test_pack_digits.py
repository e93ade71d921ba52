# tests/tools/test_pack_digits.py -- digits.bin is what its README says, and the packer makes it.
import gzip
import struct
import zlib
from collections import Counter
from pathlib import Path

import pytest

from tools.data import pack_digits

FILE = Path(__file__).resolve().parents[2] / "data" / "digits" / "digits.bin"
COUNT = 1797
HEADER = 24


@pytest.fixture(scope="module")
def content() -> bytes:
    return FILE.read_bytes()


def unpack_image(content: bytes, index: int) -> list[list[int]]:
    start = HEADER + COUNT + 40 * index
    rows = [content[start + 5 * row : start + 5 * row + 5] for row in range(8)]
    numbers = [int.from_bytes(row, "little") for row in rows]
    return [[number >> (5 * j) & 31 for j in range(8)] for number in numbers]


def test_the_header_sizes_and_checksum_are_as_documented(content):
    assert content[:8] == b"EBBDIGIT"
    assert struct.unpack_from("<4I", content, 8) == (1, COUNT, 8, 8)
    assert len(content) == HEADER + COUNT * 41 + 4 == 73_705
    assert struct.unpack("<I", content[-4:])[0] == zlib.crc32(content[:-4])


def test_the_labels_are_those_of_the_published_data_set(content):
    counts = Counter(content[HEADER : HEADER + COUNT])
    assert [counts[digit] for digit in range(10)] == [
        178, 182, 177, 183, 181, 182, 181, 179, 174, 180,
    ]  # fmt: skip
    assert list(content[HEADER : HEADER + 10]) == list(range(10))


def test_the_first_image_is_the_well_known_zero(content):
    image = unpack_image(content, 0)
    assert image[0] == [0, 0, 5, 13, 9, 1, 0, 0]
    assert image[7] == [0, 0, 6, 13, 10, 0, 0, 0]


def test_all_pixels_are_within_the_17_grey_levels(content):
    pixels = {pixel for i in range(COUNT) for row in unpack_image(content, i) for pixel in row}
    assert pixels == set(range(17))


def test_packing_is_the_inverse_of_the_documented_format(tmp_path):
    pixels = [(7 * i) % 17 for i in range(64)]
    source = tmp_path / "digits.csv.gz"
    with gzip.open(source, "wt") as file:
        file.write(",".join(f"{pixel}.0" for pixel in pixels) + ",3\n")
    packed = pack_digits.pack(*pack_digits.read_csv(source))
    assert packed[HEADER] == 3
    number = int.from_bytes(packed[HEADER + 1 : HEADER + 6], "little")
    assert [number >> (5 * j) & 31 for j in range(8)] == pixels[:8]


def test_a_line_with_a_pixel_out_of_range_is_refused(tmp_path):
    source = tmp_path / "digits.csv.gz"
    with gzip.open(source, "wt") as file:
        file.write("17," * 64 + "3\n")
    with pytest.raises(ValueError, match=r"digits.csv.gz:1: needs 64 pixels of 0..16"):
        pack_digits.read_csv(source)
