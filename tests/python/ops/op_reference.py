# tests/python/ops/op_reference.py -- what NumPy says an op must give: values and dtype.
#
# A row's `numpy` is an expression over the op's parameters, or the name of a function below.
# Floating and complex arguments are doubles here, integers keep their dtype so that they wrap.
"""NumPy references of the op table's rows."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import numpy as np

import ebb
from tests.python.ops.op_rows import ALL_DTYPES, BOOL, COMPLEX, FLOATING, INTEGERS, Row, wide_array
from tests.python.ops.reference.named import NAMED

RANKS = (BOOL, INTEGERS, FLOATING, COMPLEX)

# Allowed error of results, relative to the largest magnitude involved.
TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 3e-6,
    "float64": 1e-13,
    "complex64": 3e-6,
    "complex128": 1e-13,
}


def _as_numpy(value: Any, row: Row) -> Any:
    if isinstance(value, ebb.Tensor):
        array = wide_array(value)
        # NumPy computes small integers in float16; ebb does not.
        in_float = row.data["dtype_rule"] == "promote_float" or row.test.get("dtype") == "default"
        is_promoted = in_float and array.dtype.kind in "iub"
        return array.astype(np.float64) if is_promoted else array
    if isinstance(value, list) and value and isinstance(value[0], ebb.Tensor):
        return [_as_numpy(one, row) for one in value]
    return value


def reference(row: Row, arguments: dict[str, Any]) -> list[np.ndarray]:
    """Return what the row's NumPy expression gives, as a list of results."""
    values = {p["name"]: default_of(p) for p in row.params}
    values |= {name: _as_numpy(value, row) for name, value in arguments.items()}
    expression = row.test["numpy"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of nothing, the real part of a complex number
        if expression in NAMED:
            result = NAMED[expression](values)
        else:
            if isinstance(values.get("dim"), list):
                values["dim"] = tuple(values["dim"])
                if _is_optional(row, "dim"):  # no dims mean all, in PyTorch's way
                    values["dim"] = values["dim"] or None
            if isinstance(values.get("dtype"), ebb.dtype):
                values["dtype"] = None
            result = eval(expression, {"np": np, "slice": slice, **values})
    results = list(result) if isinstance(result, tuple | list) else [result]
    free = row.test.get("phases", [])
    names = row.data["results"] if free else [""] * len(results)
    pairs = zip(names, results, strict=True)
    return [abs(one) if name in free else np.asarray(one) for name, one in pairs]


def _is_optional(row: Row, name: str) -> bool:
    return any(param["name"] == name and param["type"].endswith("?") for param in row.params)


def default_of(param: dict[str, Any]) -> Any:
    """Return the value of a parameter's default; None if it has none."""
    text = param["default"]
    if text is None:
        return None
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text


def _rank(dtype: str) -> int:
    return next(rank for rank, names in enumerate(RANKS) if dtype in names)


def with_scalar(dtype: str, value: Any) -> str:
    """Return the dtype of an op of a tensor and a Python number, which is weak."""
    kinds = {bool: 0, int: 1, float: 2, complex: 3}
    rank = kinds[type(value)]
    if rank <= _rank(dtype):
        return dtype
    if rank == 3:
        return _kin_of(dtype if dtype in FLOATING else default_dtype(), "complex")
    return ("bool", "int64", default_dtype())[rank]


def default_dtype() -> str:
    """Return the dtype of what floating numbers ops make of integers."""
    return str(ebb.get_default_dtype()).removeprefix("ebb.")


def _kin_of(dtype: str, kind: str) -> str:
    """Return the real, or the complex, dtype of one precision."""
    kin = {"float32": "complex64", "float64": "complex128"}
    if kind == "complex":
        dtype = default_dtype() if dtype in BOOL + INTEGERS else dtype
        return kin.get(dtype, "complex64" if dtype not in COMPLEX else dtype)
    return {pair: single for single, pair in kin.items()}.get(dtype, dtype)


def expected_dtype(row: Row, case_arguments: dict[str, Any], dtype: str, result: int = 0) -> str:
    """Return the dtype that a result must have for operands of ``dtype``."""
    if row.data["result_dtype"] == "bool":
        return "bool"
    wanted = row.test.get("dtype", row.data["result_dtype"])
    names = row.data["results"]
    name = names[min(result, len(names) - 1)]  # a list of results has one name
    wanted = row.test.get("result_dtypes", {}).get(name, wanted)
    if name in row.test.get("phases", []):
        wanted = "real"
    if wanted in ("floating_real", "default") and dtype in BOOL + INTEGERS:
        return default_dtype()
    if wanted in ("real", "floating_real", "complex"):
        return _kin_of(dtype, wanted)
    if wanted == "double":
        return "complex128" if dtype in COMPLEX else "float64"
    if wanted in ALL_DTYPES:
        return wanted
    given = case_arguments.get("dtype")
    if given is not None:
        return str(given).removeprefix("ebb.")
    if wanted == "summed" and dtype in BOOL + INTEGERS:
        return "int64"
    if wanted == "of_number":
        has_float = any(isinstance(value, float) for value in case_arguments.values())
        return default_dtype() if has_float else "int64"
    for param in row.params:
        value = case_arguments.get(param["name"])
        is_operand = param["type"] in ("Scalar", "Scalar?") and value is not None
        if is_operand and (row.data["dtype_rule"] or wanted == "promoted"):
            dtype = with_scalar(dtype, value)
    if row.data["dtype_rule"] == "promote_float" and dtype in BOOL + INTEGERS:
        return default_dtype()
    if row.data["dtype_rule"] == "promote_number" and dtype in BOOL:
        return "int64"
    return dtype


def assert_close(actual: ebb.Tensor, wanted: np.ndarray, dtype: str, what: str) -> None:
    """Compare values, shape and dtype."""
    assert str(actual.dtype) == f"ebb.{dtype}", f"{what}: dtype {actual.dtype}, not {dtype}"
    assert tuple(actual.shape) == wanted.shape, f"{what}: {tuple(actual.shape)}, not {wanted.shape}"
    values = wide_array(actual)
    if dtype in BOOL + INTEGERS:
        np.testing.assert_array_equal(values, wanted.astype(values.dtype), err_msg=what)
        return
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    if finite.size == wanted.size:  # NumPy's function takes ten times as long to say so
        with np.errstate(all="ignore"):
            error = np.abs(values - wanted)
        if (error <= TOLERANCE[dtype] * (scale + np.abs(wanted))).all():
            return
    np.testing.assert_allclose(
        values, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale, err_msg=what
    )
