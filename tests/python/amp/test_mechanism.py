# tests/python/amp/test_mechanism.py -- the mechanism of mixed precision piece by piece, as in
# Paddle: entry, level, destination dtype, cast of each input, guard, names of ops.
"""Rows of the table "The mechanism, and Paddle's names for it" in docs/amp.md."""

import re

import pytest

import ebb
from ebb.profiler import profile

X = ebb.rand([2, 3])


def dtypes(level="O1", operands=(ebb.float32, ebb.float32), **lists):
    """The dtypes of a product, an exponential and a sum of two operands under autocast."""
    lhs, rhs = (ebb.ones([2, 2], dtype=dtype) for dtype in operands)
    with ebb.autocast("cpu", level=level, **lists):
        return (lhs @ rhs).dtype, lhs.exp().dtype, (lhs + rhs).dtype


def casts_of(body):
    with profile() as prof:
        body()
    return [one.name for one in prof.ranges if one.kind == "op" and "cast" in one.name]


def test_amp_entry_outside_of_blocks_no_cast_is_made():
    def body():
        (X @ X.t()).exp().sum()

    assert casts_of(body) == []
    with ebb.autocast("cpu", enabled=False):
        assert casts_of(body) == []
    with ebb.autocast("cpu"):
        assert len(casts_of(body)) > 0


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("O0", (ebb.float32, ebb.float32, ebb.float32)),
        ("O1", (ebb.bfloat16, ebb.float32, ebb.float32)),
        ("O2", (ebb.bfloat16, ebb.float32, ebb.bfloat16)),
        ("O3", (ebb.bfloat16, ebb.bfloat16, ebb.bfloat16)),
    ],
)
def test_amp_level_says_how_many_lists_are_lowered(level, expected):
    assert dtypes(level) == expected


def test_destination_dtype_is_that_of_the_list_and_of_all_operands():
    half, single = ebb.bfloat16, ebb.float32
    assert dtypes(operands=(single, single)) == (half, single, single)
    assert dtypes(operands=(half, half)) == (half, single, half)
    assert dtypes(operands=(half, single)) == (half, single, single)  # the widest
    assert dtypes(operands=(ebb.float16, half))[2] == single


def test_cast_of_an_input_leaves_integers_alone_and_has_a_gradient():
    weight = ebb.rand([4, 2]).requires_grad_()
    index = ebb.tensor([0, 3])
    with ebb.autocast("cpu", level="O2"):
        rows = ebb.nn.functional.embedding(index, weight)
        loss = (rows @ ebb.rand([2, 2])).sum()
    assert index.dtype == ebb.int64
    loss.backward()
    assert weight.grad.dtype == ebb.float32 and weight.grad.count_nonzero().item() == 4


def test_guard_ends_with_its_call_also_by_an_error():
    with ebb.autocast("cpu"):
        assert casts_of(lambda: X @ X.t()) == ["amp_cast", "amp_cast"]  # and none of a cast
        for _ in range(2):
            with pytest.raises(ValueError, match="matmul"):
                X @ X
            assert ebb.is_autocast_enabled("cpu")
            assert (X @ X.t()).dtype == ebb.bfloat16
    assert not ebb.is_autocast_enabled("cpu")


@pytest.mark.parametrize("alias", ["matmul_v2", "mm_op", "Matmul", "elementwise_add"])
def test_names_of_ops_are_those_of_the_table_and_others_are_refused(alias):
    assert dtypes(custom_black_list=["matmul"])[0] == ebb.float32
    assert dtypes(custom_white_list=["exp"])[1] == ebb.bfloat16
    text = f"needs names of ops that autocast casts for, got '{alias}'\nhint: ebb.amp.lists()"
    for name in ("custom_white_list", "custom_black_list"):
        with pytest.raises(ValueError, match=re.escape(text)):
            ebb.autocast("cpu", **{name: [alias]}).__enter__()
