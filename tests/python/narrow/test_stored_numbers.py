# tests/python/narrow/test_stored_numbers.py -- a number that becomes an infinity where it is stored
# is told of.
"""Numbers that leave the range of a half type."""

from __future__ import annotations

import warnings

import pytest

import ebb

STORES = {
    "fill_": lambda x: x.fill_(1e6),
    "full": lambda x: ebb.full((2,), 1e6, dtype=x.dtype),
    "full_like": lambda x: ebb.full_like(x, -1e6),
    "new_full": lambda x: x.new_full((2,), 1e6),
    "masked_fill": lambda x: x.masked_fill(x == 0, -1e9),
    "where": lambda x: ebb.where(x > 0, x, 1e6),
    "x[0] =": lambda x: x.__setitem__(0, 1e6),
    "x[index] =": lambda x: x.__setitem__(ebb.tensor([0]), 1e6),
    "index_fill": lambda x: x.index_fill(0, ebb.tensor([0]), 1e6),
    "scatter": lambda x: x.scatter(0, ebb.tensor([0]), 1e6),
    "pad": lambda x: ebb.nn.functional.pad(x, (1, 1), value=1e6),
    "tensor": lambda x: ebb.tensor([1e6, 1e7, 1.0], dtype=x.dtype),
}


@pytest.mark.parametrize("store", STORES)
def test_a_number_that_is_stored_out_of_range_is_told_of_once_with_the_line(store):
    x = ebb.zeros(2, dtype=ebb.float16)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            STORES[store](x)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert "leaves the range of float16 and is stored as an infinity" in str(caught[0].message)


def test_numbers_in_range_infinities_and_computed_ones_say_nothing():
    x = ebb.ones(2, dtype=ebb.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.fill_(65504.0), x.fill_(65519.0), x.masked_fill(x > 0, float("-inf"))
        x * 1e9, x + 70000, x.clamp(max=1e6), x > 1e6, ebb.full((2,), 1e6, dtype=ebb.bfloat16)
