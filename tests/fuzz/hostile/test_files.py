# tests/fuzz/hostile/test_files.py -- damaged files of every format that ebb reads.
#
# A valid file is damaged a few times (bits, numbers, pieces cut out, doubled or nested) and read.
# What may come is a value, or an error of ebb that names the reader; never another error, much
# memory or a long wait.
"""Readers against random damage."""

import gzip
import re
import struct
import time
import tracemalloc

import numpy as np
import pytest

import ebb
from tests.fuzz import seeds

SAMPLE, LONG = 150, 5000
MOST_BYTES, MOST_SECONDS = 24 << 20, 5


def tensors():
    ebb.manual_seed(3)
    return {
        "a/b": ebb.rand(7, 5),
        "c": ebb.arange(40),
        "empty": ebb.zeros(0, 3),
        "one": ebb.ones(1),
    }


def page(path, compress):
    loss = (ebb.ones(3, requires_grad=True).exp() * 2).sum()
    ebb.viz.write_html(ebb.graph(loss), path, compress=compress)
    # The page's own scripts take most of the file and are not read.
    text = path.read_text()
    at = text.index('<script id="graph"')
    path.write_text(text[at : text.index("</script>", at) + 9])


WRITERS = {
    "npz": lambda path: ebb.save_npz(tensors(), path),
    "packed npz": lambda path: ebb.save_npz(tensors(), path, compressed=True),
    "npy": lambda path: np.save(path, tensors()["a/b"].numpy()),
    "fortran npy": lambda path: np.save(path, np.asfortranarray(np.ones((4, 6), ">f8"))),
    "safetensors": lambda path: ebb.save(tensors(), path, {"note": "text"}),
    "tree": lambda path: ebb.save({"state": [tensors(), 1, None, (2.5, "x")]}, path),
    "html": lambda path: page(path, False),
    "packed html": lambda path: page(path, True),
}
READERS = {
    "npz": ebb.load,
    "npy": ebb.load,
    "safetensors": lambda path: (ebb.load(path), ebb.load(path, mmap=True)),
    "html": ebb.viz.read_html,
}
SUFFIXES = {name: "safetensors" if name == "tree" else name.split()[-1] for name in WRITERS}
NUMBERS = [
    0,
    1,
    0x7F,
    0xFF,
    0xFFFF,
    1 << 16,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    1 << 62,
    (1 << 64) - 1,
]


def flip_bit(rng, data):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def put_number(rng, data):
    width = rng.choice("BHIQ")
    number = rng.choice(NUMBERS) & ((1 << 8 * struct.calcsize(width)) - 1)
    text = struct.pack("<" + width, number)
    at = rng.randrange(len(data))
    data[at : at + len(text)] = text[: len(data) - at]


def put_digits(rng, data):
    """Replace a number that is spelled out, in a header or in JSON."""
    found = list(re.finditer(rb"\d+", data))
    if found:
        place = rng.choice(found)
        data[place.start() : place.end()] = str(rng.choice([-1, 10**400, *NUMBERS])).encode()


def cut(rng, data):
    first, last = sorted(rng.randrange(len(data)) for _ in range(2))
    del data[first : last + 1]


def truncate(rng, data):
    del data[rng.randrange(len(data)) :]


def double(rng, data):
    first, last = sorted(rng.randrange(len(data)) for _ in range(2))
    at = rng.randrange(len(data))
    data[at:at] = data[first : last + 1] * rng.randint(1, 3)


def nest(rng, data):
    at = rng.randrange(len(data))
    data[at:at] = rng.choice([b"[", b"{", b'{"a":', b"(", b"\0", b"-", b"\xff"]) * rng.choice(
        [1, 300, 9999]
    )


DAMAGE = [flip_bit, put_number, put_digits, cut, truncate, double, nest]


def damaged(rng, content):
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        if data:
            rng.choice(DAMAGE)(rng, data)
    return bytes(data)


def within_gzip(rng, content):
    """Damage the text inside a packed page instead of its bytes."""
    import base64

    head, _, rest = content.partition(b">")
    packed, _, tail = rest.partition(b"<")
    text = damaged(rng, gzip.decompress(base64.b64decode(packed)))
    return head + b">" + base64.b64encode(gzip.compress(text, 1)) + b"<" + tail


def read_damaged(name, path, content, rng):
    """Read one damaged file; say what is wrong with what came, or ""."""
    inside = name == "packed html" and rng.random() < 0.5
    path.write_bytes(within_gzip(rng, content) if inside else damaged(rng, content))
    start = time.thread_time()
    tracemalloc.start()
    try:
        READERS[SUFFIXES[name]](path)
    except ebb.Error as error:
        if isinstance(error, ebb.InternalError) or not re.match(r"\w+: ", str(error)):
            return f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if peak > MOST_BYTES:
        return f"{peak:,} bytes were taken"
    return "" if time.thread_time() - start < MOST_SECONDS else "it took too long"


def try_many(name, tmp_path, make_rng, count):
    path = tmp_path / f"x.{SUFFIXES[name]}"
    WRITERS[name](path)
    content = path.read_bytes()
    READERS[SUFFIXES[name]](path)  # undamaged
    wrong = []
    for number in range(count):
        problem = read_damaged(name, path, content, make_rng("files", name, number))
        wrong += [f"{name} {number}: {problem}"] if problem else []
    return wrong


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_file_is_read_or_refused_by_name(name, tmp_path):
    assert try_many(name, tmp_path, seeds.fixed, SAMPLE) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", WRITERS)
def test_many_damaged_files_are_read_or_refused_by_name(name, tmp_path):
    wrong = try_many(name, tmp_path, seeds.fresh, LONG)
    assert not wrong, f"EBB_FUZZ_SEED={seeds.fresh_seed()}: {len(wrong)} wrong\n" + "\n".join(
        wrong[:5]
    )
