# python/ebb/utils/tensorboard/embeddings.py -- points for TensorBoard's projector, in files.
#
# The projector reads no events: it looks for projector_config.pbtxt beside them, which names tables
# of tabs (points, what each is) and one picture with all their small pictures. A folder for each
# step and tag holds these, and its entry is added to the end of that file.
"""``write`` of ``SummaryWriter.add_embedding``; needs no package."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ebb import _C
from ebb.io.writing import write_bytes
from ebb.utils.tensorboard import sinks, summaries


def write(
    log_dir: str, tag: str, step: int, points: Any, metadata: Sequence[Any] | None,
    header: Sequence[str] | None, pictures: Any,
) -> str:  # fmt: skip
    """Write points and what is known of them; return their folder, below ``log_dir``.

    Raises:
        ShapeError: If the points are not rows, or their pictures are not theirs and squares.
        ValueError: If there are not as many rows of metadata, or names of columns.
    """
    rows = summaries.array_of("add_embedding", points)
    if rows.ndim != 2:
        raise _C.ShapeError(f"add_embedding: needs mat of [N, D], got {list(rows.shape)}")
    table = None if metadata is None else _table(metadata, header, len(rows))
    sprite = None if pictures is None else _sprite(pictures, len(rows))
    # A tag may hold what no folder's name may: it stays one name.
    folder = f"{step:05d}/" + "".join(
        letter if letter.isalnum() or letter in "-_. " else f"%{ord(letter):02x}" for letter in tag
    )
    os.makedirs(os.path.join(log_dir, folder), exist_ok=True)
    entry = {"tensor_name": f"{tag}:{step:05d}", "tensor_path": f"{folder}/tensors.tsv"}
    _write(log_dir, entry["tensor_path"], _lines(rows.tolist()).encode())
    if table is not None:
        entry["metadata_path"] = f"{folder}/metadata.tsv"
        _write(log_dir, entry["metadata_path"], _lines(table).encode())
    entry_lines = [f"  {name}: {json.dumps(value)}\n" for name, value in entry.items()]
    if sprite is not None:
        image, (height, width) = sprite
        _write(log_dir, f"{folder}/sprite.png", summaries.png(image))
        entry_lines.append(
            f"  sprite {{\n    image_path: {json.dumps(folder + '/sprite.png')}\n"
            f"    single_image_dim: {width}\n    single_image_dim: {height}\n  }}\n"
        )
    config = os.path.join(log_dir, "projector_config.pbtxt")
    sinks.append(config, "embeddings {\n" + "".join(entry_lines) + "}\n")
    return folder


def _table(metadata: Sequence[Any], header: Sequence[str] | None, count: int) -> list[list[Any]]:
    if isinstance(metadata, _C.Tensor | np.ndarray):
        metadata = metadata.tolist()
    if len(metadata) != count:
        raise _C.ValueError(
            f"add_embedding: needs metadata for each of {count} points, got {len(metadata)} rows"
        )
    if not header:
        return [[row] for row in metadata]
    for row in metadata:
        if isinstance(row, str) or len(row) != len(header):
            raise _C.ValueError(
                f"add_embedding: needs as many columns as metadata_header, {len(header)}, got {row}"
            )
    return [list(header), *(list(row) for row in metadata)]


def _lines(table: list[list[Any]]) -> str:
    return "".join("\t".join(str(cell) for cell in row) + "\n" for row in table)


def _sprite(pictures: Any, count: int) -> tuple[np.ndarray, tuple[int, int]]:
    """All pictures as a square of them, row by row, and the size of one."""
    images = summaries.array_of("add_embedding", pictures)
    if images.ndim != 4 or len(images) != count or not count:
        raise _C.ShapeError(
            f"add_embedding: needs label_img of [{count}, C, H, W], got {list(images.shape)}"
        )
    across = int(np.ceil(np.sqrt(count)))
    return summaries.picture("add_embedding", images, "NCHW", across), images.shape[2:]


def _write(log_dir: str, name: str, content: bytes) -> None:
    write_bytes("add_embedding", os.path.join(log_dir, name), content)
