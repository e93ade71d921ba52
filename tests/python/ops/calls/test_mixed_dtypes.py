# tests/python/ops/calls/test_mixed_dtypes.py -- operands of several dtypes: as if all had been
# promoted.
#
# A pointwise op computes in the dtype that its operands promote to. So do its gradients: one that
# works out a part in the narrower dtype of one operand loses digits that nobody misses.
"""Values, gradients and second derivatives of mixed dtypes, row by row."""

import itertools

import pytest

import ebb
from tests.python.ops.op_reference import reference
from tests.python.ops.op_rows import call, load_rows, make_arguments
from tests.python.ops.test_gradients import is_differentiable

PAIRS = [
    ("float64", "float32"),
    ("float64", "int64"),
    ("float64", "int32"),
    ("float32", "float16"),
    ("complex128", "float32"),
    ("complex128", "complex64"),
]
# Wider than one rounding of the wide dtype, far below one of the narrow dtype.
TOLERANCE = {"float64": 1e-13, "complex128": 1e-13, "float32": 2e-6}


def tensors_of(arguments):
    return [name for name, value in arguments.items() if isinstance(value, ebb.Tensor)]


# A row with a rule of promotion and several tensors. (Composed functions promote where they
# combine operands; what they make of one alone has its dtype, as in PyTorch.)
ROWS = [
    row
    for row in load_rows()
    if "inputs" in row.test
    and row.differentiable
    and row.data["dtype_rule"]
    and sum(param["type"] == "Tensor" for param in row.params) > 1
]


def mixed(row, case, wide, narrow, name):
    """Arguments in the wide dtype, but for one operand, whose values the narrow one can hold."""
    arguments = make_arguments(row, case, wide)
    own = arguments[name]
    if not is_differentiable(own) and own.dtype != getattr(ebb, wide):
        return None  # indices and masks
    small = own.real if own.is_complex() and not narrow.startswith("complex") else own
    small = small.to(getattr(ebb, narrow))
    if not small.is_floating_point() and not small.is_complex():
        small = ebb.where(small == 0, 2, small).to(small.dtype)
    return {**arguments, name: small}


def derivatives(row, arguments, names):
    leaves = [arguments[name].detach().requires_grad_() for name in names]
    result = call(row, {**arguments, **dict(zip(names, leaves, strict=True))})
    if not isinstance(result, ebb.Tensor) or not result.requires_grad:
        return None
    weights = ebb.arange(1.0, result.numel() + 1, dtype=ebb.float64).reshape(result.shape)
    seed = (weights / result.numel()).to(result.dtype)
    first = ebb.autograd.grad(result, leaves, seed, create_graph=True, materialize_grads=True)
    recorded = [one for one in first if one.requires_grad]
    second = ()
    if recorded:
        second = ebb.autograd.grad(
            recorded, leaves, [ebb.ones_like(one) for one in recorded], materialize_grads=True
        )
    return [result.detach(), *first, *second, *tangents(row, arguments, names)]


def tangents(row, arguments, names):
    """What forward mode gives for tangents of ones."""

    def func(*given):
        return call(row, {**arguments, **dict(zip(names, given, strict=True))})

    primals = tuple(arguments[name].detach() for name in names)
    return [ebb.func.jvp(func, primals, tuple(map(ebb.ones_like, primals)))[1]]


ALL = [
    pytest.param(row, wide, narrow, id=f"{row}-{wide}-{narrow}")
    for row in ROWS
    for wide, narrow in PAIRS
    if wide in row.dtypes and narrow in row.dtypes
]


@pytest.mark.parametrize(("row", "wide", "narrow"), ALL)
def test_gradients_are_those_of_promoted_operands(row, wide, narrow):
    for case in itertools.islice(row.cases(), 3):
        for name in tensors_of(make_arguments(row, case, wide)):
            arguments = mixed(row, case, wide, narrow, name)
            if arguments is None:
                continue
            promoted = {**arguments, name: arguments[name].to(getattr(ebb, wide))}
            names = [
                n
                for n in tensors_of(arguments)
                if n in row.differentiable and n != name and is_differentiable(arguments[n])
            ]
            try:
                found = derivatives(row, arguments, names) if names else None
            except (TypeError, ValueError):
                continue  # the op asks for operands of one dtype
            if found is None or found[0].dtype != getattr(ebb, wide):
                continue
            wanted = derivatives(row, promoted, names)
            for one, other in zip(found, wanted, strict=True):
                near = TOLERANCE[wide]
                assert ebb.allclose(
                    one, other.to(one.dtype), rtol=near, atol=near, equal_nan=True
                ), name


def test_lengths_of_a_cosine_have_the_digits_of_both():
    x, y = ebb.tensor([[0.1, 0.7]], dtype=ebb.float64), ebb.tensor([[0.3, 0.2]])
    cosine = ebb.nn.functional.cosine_similarity
    assert (cosine(x, y) - cosine(x, y.double())).abs().item() < 1e-15
    assert (cosine(y, x) - cosine(x, y.double())).abs().item() < 1e-15


# Public pointwise rows of integers, and of something beside them.
OF_INTEGERS = [
    row
    for row in load_rows()
    if "inputs" in row.test
    and row.data["dtype_rule"]
    and row.data["python"] != "private"
    and "int64" in row.dtypes
    and sum(param["type"] in ("Tensor", "Scalar") for param in row.params) > 1
]


def numpy_takes_bool(row, arguments):
    numbers = {name: True for name, value in arguments.items() if isinstance(value, int | float)}
    flags = {name: ebb.tensor(True) for name in tensors_of(arguments)}
    try:
        reference(row, {**arguments, **numbers, **flags})
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("row", OF_INTEGERS, ids=str)
def test_bool_beside_integers_is_0_and_1(row):
    arguments = make_arguments(row, row.cases()[0], "int64")
    for name in tensors_of(arguments):
        if arguments[name].dtype is ebb.bool:
            continue  # a mask
        flags = arguments[name] > 0
        try:
            wanted = call(row, {**arguments, name: flags.long()})
        except ValueError:
            continue  # what divides by 0
        try:
            found = call(row, {**arguments, name: flags})
        except TypeError as error:
            is_stored = "must be of a kind" in str(error)  # among bools
            assert is_stored or not numpy_takes_bool(row, arguments), name
            continue
        assert ebb.allclose(found.double(), wanted.double(), equal_nan=True), name
