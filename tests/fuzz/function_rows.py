# tests/fuzz/function_rows.py -- rows for the functions of ebb.nn.functional that Python composes.
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

REDUCE = "{'none': np.asarray, 'mean': np.mean, 'sum': np.sum}[reduction]"
PLANES = {"input": [2, 3, 4, 5], "kernel_size": [2, 3]}
TRIPLE = {"anchor": [2, 5], "positive": [2, 5], "negative": [2, 5]}

CASES: dict[str, dict[str, Any]] = {
    "bilinear": {
        "inputs": [
            {"input1": [2, 3], "input2": [2, 4], "weight": [5, 3, 4], "bias": [5]},
            {"input1": [2, 6, 3], "input2": [2, 6, 4], "weight": [1, 3, 4]},
        ],
        "numpy": "np.einsum('...i,oij,...j->...o', input1, weight, input2)"
        " + (0 if bias is None else bias)",
    },
    "celu": {"numpy": "np.where(input > 0, input, alpha * np.expm1(np.minimum(input, 0) / alpha))"},
    "cosine_embedding_loss": {
        "inputs": [{"input1": [3, 5], "input2": [3, 5], "target": {"below": 2, "shape": [3]}}],
        "constant": ["target"],
    },
    "cosine_similarity": {
        "inputs": [
            {"x1": [3, 5], "x2": [3, 5], "dim": 1},
            {"x1": [1, 5], "x2": [3, 5], "dim": 0},
            {"x1": [2, 4, 1], "x2": [3, 1, 4, 6], "dim": 2},
        ],
        "numpy": "(lambda a, b: np.sum(a * b, dim) / np.maximum(np.sqrt(np.sum(a * a, dim)), eps)"
        " / np.maximum(np.sqrt(np.sum(b * b, dim)), eps))(*np.broadcast_arrays(x1, x2))",
    },
    "dropout1d": {"none": "random"},
    "dropout2d": {"none": "random"},
    "dropout3d": {"none": "random"},
    "elu_": {"none": "the op's in-place form"},
    "hardtanh_": {"none": "the op's in-place form"},
    "leaky_relu_": {"none": "the op's in-place form"},
    "fold": {
        "inputs": [
            {"input": [2, 18, 6], "output_size": [3, 4], "kernel_size": [2, 3], "padding": [0, 1],
             "stride": [1, 2]},
            {"input": [12, 4], "output_size": [3, 3], "kernel_size": 2},
            {"input": [1, 4, 1], "output_size": [2, 2], "kernel_size": [2, 2]},
            {"input": [2, 4, 4], "output_size": 4, "kernel_size": 2, "stride": 2},
        ],
    },
    "unfold": {
        "inputs": [
            {**PLANES, "padding": 1},
            {**PLANES, "stride": [2, 1]},
            {"input": [3, 4, 4], "kernel_size": 4},
            {"input": [1, 1, 7, 7], "kernel_size": 2, "dilation": [3, 2]},
        ],
    },
    "gaussian_nll_loss": {
        "inputs": [{"input": [3, 5], "target": [3, 5], "var": [3, 5]}],
        "domain": "positive",
        "constant": ["target"],
    },
    "glu": {
        "inputs": [{"input": [3, 4]}, {"input": [6, 5], "dim": 0}],
        "numpy": "(lambda a, b: a / (1 + np.exp(-b)))(*np.split(input, 2, dim))",
    },
    "hardshrink": {"domain": "real", "numpy": "np.where(np.abs(input) > lambd, input, 0)"},
    "hinge_embedding_loss": {
        "domain": "real",
        "inputs": [{"input": [3, 5], "target": {"below": 2, "shape": [3, 5]}}],
        "constant": ["target"],
    },
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
    "margin_ranking_loss": {
        "inputs": [{"input1": [3, 5], "input2": [3, 5], "target": [3, 5]}],
        "numpy": f"{REDUCE}(np.maximum(0, -target * (input1 - input2) + margin))",
        "constant": ["target"],
        "domain": "real",
    },
    "normalize": {
        "inputs": [{"input": [3, 5]}, {"input": [2, 4, 3], "p": 1.5, "dim": -1}],
        "numpy": "input / np.maximum(np.sum(np.abs(input) ** p, dim, keepdims=True)"
        " ** (1 / p), eps)",
    },
    "pairwise_distance": {
        "inputs": [
            {"x1": [3, 5], "x2": [3, 5]},
            {"x1": [1, 5], "x2": [3, 1], "p": 3.0, "keepdim": True},
            {"x1": [4], "x2": [2, 4], "p": 1.0},
        ],
        "numpy": "np.sum(np.abs(x1 - x2 + eps) ** p, -1, keepdims=keepdim) ** (1 / p)",
        "domain": "real",
    },
    "poisson_nll_loss": {
        "inputs": [{"input": [3, 5], "target": [3, 5]}],
        "numpy": f"{REDUCE}(np.exp(input) - target * input if log_input else"
        " input - target * np.log(input + eps))",
        "domain": "positive",
        "constant": ["target"],
        "geometry": {"full": "NumPy's line has no such term"},
    },
    "prelu": {
        "inputs": [{"input": [2, 3, 4], "weight": [3]}, {"input": [4], "weight": [1]}],
        "numpy": "np.where(input > 0, input, input * (weight.reshape(-1, *[1] * (input.ndim - 2))"
        " if weight.size > 1 else weight.reshape(())))",
    },
    "soft_margin_loss": {
        "inputs": [{"input": [3, 5], "target": [3, 5]}],
        "numpy": f"{REDUCE}(np.log1p(np.exp(-target * input)))",
        "constant": ["target"],
    },
    "softmin": {
        "inputs": [{"input": [3, 5], "dim": 1}],
        "numpy": "np.exp(-input) / np.sum(np.exp(-input), dim, keepdims=True)",
    },
    "softshrink": {
        "domain": "real",
        "numpy": "np.sign(input) * np.maximum(np.abs(input) - lambd, 0)",
    },
    "tanhshrink": {"numpy": "input - np.tanh(input)"},
    "threshold": {
        "domain": "real",
        "inputs": [{"input": [3, 5], "threshold": 0.1, "value": 7.0}],
        "numpy": "np.where(input > threshold, input, value)",
    },
    "triplet_margin_loss": {"inputs": [TRIPLE, {**TRIPLE, "swap": True}], "domain": "real"},
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
