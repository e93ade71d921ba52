# tests/python/array_api/test_array_api.py -- the standard's functions give what NumPy's give.
#
# NumPy 2 conforms to the standard. Each row calls both namespaces with the same drawn arrays.
import inspect

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ebb

XP = ebb.ones(1).__array_namespace__()
DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128")
REAL = ("uint8", "int32", "int64", "float32", "float64")
FLOAT = ("float32", "float64")
WHOLE = ("uint8", "int32", "int64")


def drawn(seed, shape, dtype):
    """Small numbers, some of them equal."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0 if dtype in ("bool", "uint8") else -4, 5, shape)
    if dtype.startswith("complex"):
        return (numbers + 1j * rng.integers(-2, 3, shape)).astype(dtype)
    return (numbers != 0 if dtype == "bool" else numbers).astype(dtype)


# Functions of one kind, and their dtypes.
UNARY = [
    ("abs negative positive square", REAL + DTYPES[-2:]),
    ("ceil floor trunc round sign isfinite isinf isnan", REAL),
    ("cos exp sin sinh tan tanh cosh", FLOAT + DTYPES[-2:]),
    ("real imag conj", DTYPES[-2:]),
    ("logical_not", ("bool",)),
    ("bitwise_invert", ("bool", *WHOLE)),
    ("signbit atan asinh expm1", FLOAT),
]
BINARY = [
    ("add multiply subtract", REAL + DTYPES[-2:]),
    ("equal not_equal", DTYPES),
    ("greater greater_equal less less_equal maximum minimum", REAL),
    ("bitwise_and bitwise_or bitwise_xor", ("bool", *WHOLE)),
    ("logical_and logical_or logical_xor", ("bool",)),
    ("atan2 hypot copysign logaddexp nextafter", FLOAT),
    ("bitwise_left_shift", WHOLE[1:]),
]
REDUCED = [
    ("sum prod", REAL + DTYPES[-2:]),
    ("max min", REAL),
    ("mean std var", FLOAT),
    ("all any count_nonzero", DTYPES),
]
# The names of the standard's version 2024.12.
NAMES = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like
tril triu zeros zeros_like astype can_cast finfo iinfo isdtype result_type bool int8 int16 int32
int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 e inf nan newaxis pi abs
acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp
expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal
log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit
sin sinh square sqrt subtract tan tanh trunc take take_along_axis matmul matrix_transpose
tensordot vecdot broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims
repeat reshape roll squeeze stack tile unstack argmax argmin count_nonzero nonzero searchsorted
where unique_all unique_counts unique_inverse unique_values argsort sort cumulative_prod
cumulative_sum max mean min prod std sum var all any diff
"""
STANDARD = {*NAMES.split()}
# What ebb has no op for yet.
MISSING = {
    *("acosh", "asinh", "atanh", "bitwise_left_shift", "bitwise_right_shift", "copysign"),
    *("logaddexp", "nextafter", "positive", "signbit"),
}
SHAPES = st.lists(st.integers(1, 4), min_size=0, max_size=3).map(tuple)
SEEDS = st.integers(0, 2**32)


def agree(ours, theirs, what):
    """Shape, dtype and values are those of NumPy."""
    theirs = np.asarray(theirs)
    assert isinstance(ours, ebb.Tensor) and tuple(ours.shape) == theirs.shape, what
    assert ours.dtype.name == theirs.dtype.name, what
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=3e-6, atol=1e-6, err_msg=what)


def rows(table):
    """Pairs of a function that is there and a dtype."""
    named = [(name, dtype) for names, dtypes in table for name in names.split() for dtype in dtypes]
    return [(name, dtype) for name, dtype in named if hasattr(XP, name)]


@pytest.mark.parametrize(("name", "dtype"), rows(UNARY))
@given(SEEDS, SHAPES)
@settings(max_examples=10, deadline=None)
def test_functions_of_one_array_agree_with_numpy(name, dtype, seed, shape):
    x = drawn(seed, shape, dtype)
    agree(getattr(XP, name)(XP.asarray(x)), getattr(np, name)(x), f"{name}({x!r})")


@pytest.mark.parametrize(("name", "dtype"), rows(BINARY))
@given(SEEDS, SHAPES, st.data())
@settings(max_examples=10, deadline=None)
def test_functions_of_two_arrays_agree_with_numpy(name, dtype, seed, shape, data):
    other = data.draw(st.sampled_from([shape, shape[1:], ()]))
    x, y = drawn(seed, shape, dtype), drawn(seed + 1, other, dtype)
    y = abs(y) if "shift" in name else y
    wanted = getattr(np, name)(x, y)
    agree(getattr(XP, name)(XP.asarray(x), XP.asarray(y)), wanted, f"{name}({x!r}, {y!r})")


@pytest.mark.parametrize(("name", "dtype"), rows(REDUCED))
@given(SEEDS, SHAPES, st.data())
@settings(max_examples=10, deadline=None)
def test_reductions_agree_with_numpy(name, dtype, seed, shape, data):
    x, keepdims = drawn(seed, shape, dtype), data.draw(st.booleans())
    axes = [None, *range(-len(shape), len(shape))]
    axis = data.draw(st.sampled_from([*axes, tuple(range(len(shape)))] if shape else [None]))
    ours = getattr(XP, name)(XP.asarray(x), axis=axis, keepdims=keepdims)
    wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    agree(ours, wanted, f"{name}({x!r}, axis={axis}, keepdims={keepdims})")


SHAPED = {
    "concat": lambda xp, x: xp.concat([x, x], axis=-1),
    "concat flat": lambda xp, x: xp.concat([x, x], axis=None),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
    "diff": lambda xp, x: xp.diff(x, axis=0),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=1),
    "flip": lambda xp, x: xp.flip(x, axis=-1),
    "flip all": lambda xp, x: xp.flip(x),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=0),
    "reshape": lambda xp, x: xp.reshape(x, (4, 3)),
    "roll": lambda xp, x: xp.roll(x, (1, 2), axis=(0, 1)),
    "roll flat": lambda xp, x: xp.roll(x, 5),
    "squeeze": lambda xp, x: xp.squeeze(xp.expand_dims(x, axis=0), axis=0),
    "stack": lambda xp, x: xp.stack([x, x], axis=1),
    "take": lambda xp, x: xp.take(x, xp.asarray([2, -1, 0]), axis=1),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "tril": lambda xp, x: xp.tril(x, k=1),
    "unstack": lambda xp, x: xp.unstack(x, axis=1)[2],
    "matmul": lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)),
    "tensordot": lambda xp, x: xp.tensordot(x, xp.permute_dims(x, (1, 0)), axes=1),
    "vecdot": lambda xp, x: xp.vecdot(x, x),
    "sort": lambda xp, x: xp.sort(x, axis=0),
    "argsort": lambda xp, x: xp.argsort(x, axis=1, stable=True),
    "argmax": lambda xp, x: xp.argmax(x, axis=0, keepdims=True),
    "nonzero": lambda xp, x: xp.nonzero(x)[1],
    "where": lambda xp, x: xp.where(x > 0, x, -x),
    "clip": lambda xp, x: xp.clip(x, -1, 2),
    "unique_values": lambda xp, x: xp.unique_values(x),
    "unique_all": lambda xp, x: xp.unique_all(x).indices,
    "unique_inverse": lambda xp, x: xp.unique_inverse(x).inverse_indices,
    "unique_counts": lambda xp, x: xp.unique_counts(x).counts,
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
    "eye": lambda xp, x: xp.eye(3, 4, k=1, dtype=x.dtype),
    "linspace": lambda xp, x: xp.linspace(0, 1, 5, endpoint=False, dtype=x.dtype),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0], x[1])[0],
    "astype": lambda xp, x: xp.astype(x, xp.int64),
    "prod": lambda xp, x: xp.prod(x, axis=(0, 1)),
}


@pytest.mark.parametrize("name", SHAPED)
@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_functions_of_shapes_agree_with_numpy(name, seed):
    x = drawn(seed, (3, 4), "float64")
    agree(SHAPED[name](XP, XP.asarray(x)), SHAPED[name](np, x), name)


def test_the_namespace_says_what_it_is():
    assert dir(XP) == dir(ebb.array_api) and XP.__array_api_version__ == "2024.12"
    assert ebb.ones(1).__array_namespace__(api_version="2023.12") is XP
    with pytest.raises(ValueError, match="__array_namespace__: needs a version"):
        ebb.ones(1).__array_namespace__(api_version="2020.01")
    for name in ("sum", "concat", "take", "unique_all"):
        kinds = [one.kind for one in inspect.signature(getattr(XP, name)).parameters.values()]
        assert kinds[0] is kinds[0].POSITIONAL_ONLY or name == "concat"


def test_every_name_of_the_standard_is_there_or_known_to_be_missing():
    info = np.__array_namespace_info__()
    own = {*dir(np), *info.dtypes()} & STANDARD
    assert own == STANDARD  # NumPy has all of them
    assert {name for name in STANDARD if not hasattr(XP, name)} <= MISSING


def test_dtypes_are_told_apart():
    assert XP.isdtype(XP.int8, "signed integer") and XP.isdtype(XP.uint64, ("bool", "integral"))
    assert XP.isdtype(XP.float32, XP.float32) and not XP.isdtype(XP.bool, "numeric")
    assert XP.can_cast(XP.int8, XP.int16) and not XP.can_cast(XP.int16, XP.int8)
    assert XP.result_type(XP.ones(1, dtype=XP.int8), XP.int32, 1.5) is XP.float32
    info = XP.__array_namespace_info__()
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert info.default_dtypes()["integral"] is XP.int64
