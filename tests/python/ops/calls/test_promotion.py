# tests/python/ops/calls/test_promotion.py -- dtypes of results for operands of two dtypes, pair by
# pair: PyTorch's table, with 0-d tensors and Python numbers weak.
import itertools

import numpy as np
import pytest

import ebb

SIGNED = ("int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
STANDARD = ("bool", "uint8", *SIGNED, *FLOATS, *COMPLEX)


def promoted(lhs, rhs):
    """The dtype that two operands with dims meet in, written independently of the library."""
    if lhs == rhs:
        return lhs
    first, second = sorted((lhs, rhs), key=STANDARD.index)
    if first == "bool":
        return second
    if second in SIGNED:
        if first == "uint8":
            return "int16" if second == "int8" else second
        return max(first, second, key=SIGNED.index)
    if second in FLOATS:
        if first not in FLOATS:
            return second
        return "float32" if second == "bfloat16" else second
    return "complex128" if "float64" in (first, second) or second == "complex128" else second


def kind(dtype):
    groups = (("bool",), ("uint8", *SIGNED), FLOATS, COMPLEX)
    return next(index for index, names in enumerate(groups) if dtype in names)


def weak(strong, zero_dim):
    """The dtype for operands of which the second is 0-d."""
    if strong in FLOATS and zero_dim in COMPLEX:
        return "complex128" if strong == "float64" else "complex64"
    return promoted(strong, zero_dim) if kind(zero_dim) > kind(strong) else strong


def tensor(dtype, shape=(3,)):
    return ebb.ones(shape, dtype=getattr(ebb, dtype))


def name(result):
    return str(result.dtype).removeprefix("ebb.")


PAIRS = list(itertools.product(STANDARD, STANDARD))


@pytest.mark.parametrize("op", ["add", "mul"])
def test_two_tensors_meet_in_the_promoted_dtype(op):
    for lhs, rhs in PAIRS:
        result = getattr(ebb, op)(tensor(lhs), tensor(rhs))
        assert name(result) == promoted(lhs, rhs), (lhs, rhs)
        wanted = 2 if op == "add" and name(result) != "bool" else 1
        assert [complex(one) for one in result.tolist()] == [wanted] * 3, (lhs, rhs)


def test_division_of_integers_is_float32():
    for lhs, rhs in PAIRS:
        wanted = promoted(lhs, rhs)
        wanted = "float32" if kind(wanted) < 2 else wanted
        assert name(tensor(lhs) / tensor(rhs)) == wanted, (lhs, rhs)


def test_where_and_comparisons_promote_too():
    mask = ebb.tensor([True, False, True])
    for lhs, rhs in PAIRS:
        assert name(ebb.where(mask, tensor(lhs), tensor(rhs))) == promoted(lhs, rhs), (lhs, rhs)
        assert name(ebb.eq(tensor(lhs), tensor(rhs))) == "bool"
        assert ebb.eq(tensor(lhs), tensor(rhs)).tolist() == [True] * 3, (lhs, rhs)


def test_a_tensor_without_dims_is_weak():
    for lhs, rhs in PAIRS:
        assert name(tensor(lhs) + tensor(rhs, ())) == weak(lhs, rhs), (lhs, rhs)
        assert name(tensor(rhs, ()) * tensor(lhs)) == weak(lhs, rhs), (rhs, lhs)
        assert name(tensor(lhs, ()) + tensor(rhs, ())) == promoted(lhs, rhs), (lhs, rhs)


@pytest.mark.parametrize(
    ("number", "rank", "default"),
    [(2, 1, "int64"), (1.5, 2, "float32"), (1j, 3, "complex64")],
    ids=["int", "float", "complex"],
)
def test_a_python_number_is_weakest(number, rank, default):
    for dtype in STANDARD:
        wanted = dtype if kind(dtype) >= rank else default
        wanted = "complex128" if wanted == "complex64" and dtype == "float64" else wanted
        assert name(tensor(dtype) * number) == wanted, dtype
        assert name(number + tensor(dtype)) == wanted, dtype


def test_gradients_come_back_in_the_dtype_of_each_operand():
    for lhs, rhs in itertools.product((*FLOATS, *COMPLEX), repeat=2):
        inputs = [tensor(one).requires_grad_() for one in (lhs, rhs)]
        out = inputs[0] * inputs[1]
        found = ebb.autograd.grad([out], inputs, [ebb.ones_like(out.detach())])
        assert [name(one) for one in found] == [lhs, rhs]
        assert all(np.allclose(one.tolist(), 1) for one in found)


def test_an_index_or_a_mask_has_no_part_in_the_dtype_of_the_result():
    index, mask = ebb.tensor([1, 0]), ebb.tensor([True, False])
    for dtype in (ebb.float16, ebb.float32, ebb.complex64, ebb.uint8):
        x = ebb.ones(2).to(dtype)
        for result in (x.gather(0, index), x.index_select(0, index), x[index], x[mask],
                       ebb.where(mask, x, x), x.masked_fill(mask, 1)):  # fmt: skip
            assert result.dtype is dtype


def test_an_optional_operand_counts_only_if_it_is_given():
    x, weight = ebb.ones(2, 3), ebb.ones(4, 3)
    assert ebb.linear(x, weight).dtype is ebb.float32
    assert ebb.linear(x, weight, None).dtype is ebb.float32
    with pytest.raises(TypeError, match="input and bias need one dtype"):
        ebb.linear(x, weight, ebb.ones(4, dtype=ebb.float64))


def test_all_tensors_of_a_list_count_for_the_dtype():
    parts = [tensor("int32"), tensor("float16"), tensor("float64")]
    assert name(ebb.cat(parts)) == name(ebb.cat(parts[::-1])) == "float64"


SHAPES = ((), (3,), (1, 3), (0, 3))


@pytest.mark.parametrize("number", (0.5, 1, 2))
@pytest.mark.parametrize("shapes", itertools.product(SHAPES, repeat=2), ids=str)
def test_a_factor_does_not_widen_a_sum(number, shapes):
    """Integers times 0.5 are float32 on their own; beside float16 the sum stays float16."""
    for lhs, rhs in itertools.product((*FLOATS, *COMPLEX), (*SIGNED, "uint8")):
        x = ebb.full(shapes[0], 4, dtype=getattr(ebb, lhs))
        y = ebb.ones(shapes[1], dtype=getattr(ebb, rhs))
        one = ebb.ones_like(y)
        sums = [ebb.add(x, y, alpha=number), ebb.addcmul(x, y, one, value=number)]
        sums += [ebb.addcdiv(x, y.to(x.dtype), one.to(x.dtype), value=number)]
        for found in (*sums, 8 - ebb.sub(x, y, alpha=number)):
            assert name(found) == lhs
            assert all(value == 4 + number for value in found.flatten().tolist())


def test_a_factor_of_integers_alone_makes_floats():
    ints = ebb.tensor([2, 3])
    assert ebb.add(ints, ints, alpha=0.5).tolist() == [3.0, 4.5]
    assert ebb.add(ints, ints, alpha=2).dtype is ebb.int64


@pytest.mark.parametrize("function", [ebb.trapezoid, ebb.cumulative_trapezoid])
def test_areas_have_the_dtype_of_heights_and_places_together(function):
    heights, places = ebb.tensor([100, 100], dtype=ebb.int8), ebb.tensor([0.0, 1.0])
    for dtype in (ebb.float16, ebb.float32, ebb.float64):
        area = function(heights, places.to(dtype))
        assert area.dtype == dtype and area.flatten().tolist() == [100]
    assert function(heights, places.long()).dtype == ebb.float32
