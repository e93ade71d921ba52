# tools/data/pack_digits.py -- makes data/digits/digits.bin from scikit-learn's digits.csv.gz.
"""Packs the 1,797 images of 8x8 pixels, 17 grey levels each, at five bits a pixel.

Run once, when the file was added; kept so that anyone can make it again and compare. The format is
described in data/digits/README.md.

Usage: pack_digits.py .../sklearn/datasets/data/digits.csv.gz data/digits/digits.bin
"""

import gzip
import struct
import sys
import zlib
from pathlib import Path

MAGIC = b"EBBDIGIT"
VERSION = 1
SIDE = 8
BITS = 5  # 0..16 needs five; a row of eight pixels is then five whole bytes
MAX_PIXEL = 16


def read_csv(path: Path) -> tuple[list[int], list[list[int]]]:
    """Return labels and flat images of a file with 64 pixels and one label a line."""
    labels, images = [], []
    with gzip.open(path, "rt", encoding="ascii") as lines:
        for number, line in enumerate(lines, start=1):
            *pixels, label = (int(float(word)) for word in line.split(","))
            is_valid = len(pixels) == SIDE * SIDE and 0 <= label <= 9
            if not is_valid or not all(0 <= pixel <= MAX_PIXEL for pixel in pixels):
                raise ValueError(f"{path}:{number}: needs 64 pixels of 0..16 and a label of 0..9")
            labels.append(label)
            images.append(pixels)
    return labels, images


def pack_row(pixels: list[int]) -> bytes:
    """Return eight pixels as five bytes: pixel j is bits 5j to 5j + 4 of a little-endian number."""
    return sum(pixel << (BITS * j) for j, pixel in enumerate(pixels)).to_bytes(BITS, "little")


def pack(labels: list[int], images: list[list[int]]) -> bytes:
    """Return the whole file: header, labels, images, checksum."""
    header = MAGIC + struct.pack("<4I", VERSION, len(labels), SIDE, SIDE)
    rows = (image[start : start + SIDE] for image in images for start in range(0, len(image), SIDE))
    content = header + bytes(labels) + b"".join(pack_row(row) for row in rows)
    return content + struct.pack("<I", zlib.crc32(content))


def main(source: str, target: str) -> None:
    content = pack(*read_csv(Path(source)))
    Path(target).write_bytes(content)
    print(f"{target}: {len(content)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
