# tests/python/ops/network/test_fft.py -- long lines, large primes and threads, beyond the op
# table's rows.
"""Fourier transforms of lengths that go by other ways than the short lines of the op table."""

from __future__ import annotations

import numpy as np
import pytest

import ebb

# Rows and columns alone, Bluestein, a prime squared, lines above the longest tile.
SHAPES = [(1, 64), (1, 1009), (3, 961), (2, 1000), (33, 127), (2, 10007), (1, 65536), (9, 4096)]
# Full tiles whose squares are turned, with and without elements left over.
SHAPES += [(16, 256), (40, 96), (35, 30), (8, 2), (5, 17)]
# Tiles of which a quarter is used; passes of 8, of 8 and 4, of 4 alone; odd rows and columns.
SHAPES += [(4, 1000), (6, 512), (4, 513), (17, 128), (20, 8), (18, 32), (2, 1155), (3, 32768)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_transforms_of_any_length_match_numpy(shape, dtype):
    rng = np.random.default_rng(0)
    real = rng.standard_normal(shape).astype(dtype)
    whole = real + 1j * rng.standard_normal(shape).astype(dtype)
    for name, given in (("fft", whole), ("ifft", whole), ("rfft", real), ("ihfft", real)):
        want = getattr(np.fft, name)(given.astype("complex128" if given is whole else "float64"))
        for operand in (ebb.tensor(given), ebb.tensor(given.T.copy()).t()):
            error = np.linalg.norm(getattr(ebb.fft, name)(operand).numpy() - want)
            assert error < 8 * np.finfo(dtype).eps * np.linalg.norm(want), name
    back = ebb.fft.irfft(ebb.fft.rfft(ebb.tensor(real)), n=shape[1]).numpy()
    assert np.linalg.norm(back - real) < 16 * np.finfo(dtype).eps * np.linalg.norm(real)


def test_transforms_are_the_same_bits_for_any_number_of_threads():
    given = ebb.tensor(np.random.default_rng(0).standard_normal((3, 65536)).astype("float32"))
    found = set()
    for count in (1, 2, 3, 8):
        ebb.set_num_threads(count)
        found.add(ebb.fft.rfft(given).numpy().tobytes() + ebb.fft.fft(given[:1]).numpy().tobytes())
    assert len(found) == 1


def test_frequencies_of_no_sample_are_none_and_the_one_that_nothing_divides():
    assert ebb.fft.fftfreq(0).shape == (0,)
    made = ebb.fft.rfftfreq(0, dtype=ebb.float64)
    assert made.shape == (1,) and made.isnan().all() and made.dtype is ebb.float64
