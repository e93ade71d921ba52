# tests/fuzz/rows/function_rows.py -- rows for the functions of ebb.nn.functional that Python
# composes.
#
# They are not in the op table, but geometry breaks them like ops. Parameters come from their
# signatures; what cannot be read there stands here as in a row of the op table: calls that show
# which sizes belong together, a domain, and what NumPy says, if that fits a line.
"""Rows of composed functions, for the geometry fuzzer."""

from __future__ import annotations

import inspect
import types
from typing import Any

import ebb.nn.functional as F
from ebb import _C
from tests.python.ops.op_rows import ALL_DTYPES, Row

CASES: dict[str, dict[str, Any]] = {
    "interpolate": {
        "inputs": [
            {"input": [2, 3, 5], "size": 7, "mode": "linear"},
            {"input": [1, 2, 4], "scale_factor": 2.0},
            {"input": [2, 1, 4, 5], "size": [3, 7], "mode": "bilinear", "align_corners": True},
            {"input": [2, 1, 4, 5], "size": [8, 2], "mode": "bicubic"},
            {"input": [2, 1, 4, 5], "scale_factor": [0.5, 1.7], "mode": "area"},
            {"input": [1, 1, 2, 3, 4], "size": [3, 2, 4], "mode": "trilinear"},
            {"input": [1, 1, 2, 3, 4], "size": 3},
        ],
    },
    "upsample": {
        "inputs": [{"input": [2, 3, 5], "size": 7, "mode": "linear"},
                   {"input": [2, 1, 4, 5], "scale_factor": 2.0}],
    },
    "upsample_bilinear": {"inputs": [{"input": [2, 1, 4, 5], "size": [3, 7]}]},
    "upsample_nearest": {"inputs": [{"input": [2, 1, 4, 5], "scale_factor": 1.7}]},
    "adaptive_max_pool1d_with_indices": {"inputs": [{"input": [2, 3, 7], "output_size": 3}]},
    "adaptive_max_pool2d_with_indices": {
        "inputs": [{"input": [2, 3, 5, 7], "output_size": [2, 3]}],
    },
    "adaptive_max_pool3d_with_indices": {
        "inputs": [{"input": [1, 2, 3, 5, 4], "output_size": [2, 3, 1]}],
    },
    "linear_cross_entropy": {
        "inputs": [{"input": [4, 3], "linear_weight": [5, 3],
                    "target": {"below": 5, "shape": [4]}}],
    },
    "triplet_margin_with_distance_loss": {
        "domain": "any",  # evenly spaced numbers meet the kink at the margin
        "inputs": [{"anchor": [3, 4], "positive": [3, 4], "negative": [3, 4]}],
    },
    "fractional_max_pool2d": {"none": "its windows lie at random places"},
    "fractional_max_pool2d_with_indices": {"none": "its windows lie at random places"},
    "fractional_max_pool3d": {"none": "its windows lie at random places"},
    "fractional_max_pool3d_with_indices": {"none": "its windows lie at random places"},
    "grouped_mm": {"none": "operands whose sizes hang together, and ends of groups among them"},
    "multi_head_attention_forward": {"none": "fifteen operands whose sizes hang together"},
}  # fmt: skip

KINDS = {"Tensor": "Tensor", "Tensor | None": "Tensor?", "int": "int", "float": "float"}
KINDS |= {"bool": "bool", "Ints": "int[]", "str": "str", "int | Sequence[int] | None": "int[]?"}


def composed_functions() -> dict[str, types.FunctionType]:
    """Return the public functions written in Python that are no ops, by name."""
    ops = {*dir(_C), *dir(_C._ops)}
    found = {name: getattr(F, name) for name in F.__all__ if name not in ops}
    return {name: one for name, one in found.items() if isinstance(one, types.FunctionType)}


def _param(param: inspect.Parameter) -> dict[str, Any]:
    is_given = param.default is not inspect.Parameter.empty
    return {
        "name": param.name,
        "type": KINDS.get(str(param.annotation), "other"),
        "default": repr(param.default) if is_given else None,
        "keyword_only": param.kind is inspect.Parameter.KEYWORD_ONLY,
    }


def composed_rows() -> list[Row]:
    """Return a row for every composed function that has cases."""
    rows = []
    for name, function in composed_functions().items():
        test = {"inputs": "unary", "domain": "off_kink", **CASES.get(name, {"none": "no cases"})}
        parameters = inspect.signature(function).parameters.values()
        data = {"op": name, "name": name, "family": "functional", "forms": ["plain"], "test": test}
        data |= {"params": [_param(one) for one in parameters if one.name != "inplace"]}
        data |= {"dtypes": {}, "works_for": ALL_DTYPES, "dtype_rule": "", "is_composite": True}
        if "none" not in test:
            rows.append(Row(data))
    return rows
