# codegen/device_text.py -- the `device` key: what an op computes per element on every device.
#
# An expression is in the dialect of ebb/devices/kernels, which OpenCL C and CUDA C++ both accept:
# it may name the kernel's operands, the functions of functions.k and special.k, and what both
# languages have.
"""Expressions of pointwise kernels for devices."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from codegen.dtypes import CLASSES, KernelUse
from codegen.signature import SchemaError

KINDS = ("floating", "integer", "bool")
POINTWISE = ("UnaryKernel", "BinaryKernel", "TernaryKernel", "WhereKernel")
# Functions that OpenCL C and CUDA C++ both have, for float and double.
BUILT_IN = frozenset(
    (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos"),
        *("cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fmod", "hypot"),
        *("lgamma", "log", "log10", "log1p", "log2", "nextafter", "pow", "rint", "rsqrt", "sin"),
        *("sinh", "sqrt", "tan", "tanh", "trunc", "K"),
    )
)
# Of a reduction: what each is where the row does not say.
PARTS = {"init": "0", "map": "x", "combine": "x + y", "finish": "x"}
NAMES = frozenset({"C", "INFINITY", "NAN"})  # the type computed in, and constants
KERNELS = Path(__file__).resolve().parent.parent / "ebb" / "devices" / "kernels"
FUNCTIONS = (KERNELS / "functions.k", KERNELS / "special.k")


@functools.cache
def functions() -> frozenset[str]:
    """What an expression may call."""
    text = "\n".join(one.read_text(encoding="utf-8") for one in FUNCTIONS)
    return BUILT_IN | frozenset(re.findall(r"^EBB_FUNCTION \w+ (\w+)\(", text, re.M))


def parse_device(
    value: Any, kernels: tuple[KernelUse, ...], is_reduction: bool = False
) -> dict[str, str]:
    """Expressions by kind of number, or by part of a reduction; none if the row has no `device`."""
    if value is None:
        return {}
    if is_reduction or not {*PARTS}.isdisjoint(value if isinstance(value, dict) else ()):
        return _parts(value, is_reduction)
    if len(kernels) != 1 or kernels[0].type not in POINTWISE:
        raise SchemaError(f"`device` is for rows of one kernel, one of {', '.join(POINTWISE)}")
    kernel = kernels[0]
    given = dict.fromkeys(KINDS, value) if isinstance(value, str) else value
    offered = {kind for kind in KINDS if _has_kind(kernel, kind)}
    if isinstance(value, dict) and set(given) - offered:
        raise SchemaError(
            f"`device` has an expression for {', '.join(sorted(set(given) - offered))}, which the "
            f"kernel {kernel.name} never gets"
        )
    for text in given.values():
        _check(text, kernel)
    return {kind: str(text) for kind, text in given.items() if kind in offered}


def _parts(value: Any, is_reduction: bool) -> dict[str, str]:
    """The parts of a reduction, those left out filled in."""
    if not is_reduction or not isinstance(value, dict) or not set(value) <= set(PARTS):
        raise SchemaError(
            f"`device` needs {', '.join(PARTS)} in rows of kind reduce alone, got {value!r}"
        )
    return {**PARTS, **{part: str(text) for part, text in value.items()}}


def _has_kind(kernel: KernelUse, kind: str) -> bool:
    members = CLASSES[kind] + (("uint16", "uint32", "uint64") if kind == "integer" else ())
    return any(one in members for one in kernel.dtypes)


def _check(text: Any, kernel: KernelUse) -> None:
    if not isinstance(text, str) or text.count("(") != text.count(")"):
        raise SchemaError(f"`device` needs an expression, got {text!r}")
    without_numbers = re.sub(r"\b\d[\w.]*(?:[eE][+-]?\d+)?", " ", text)
    for word, bracket in re.findall(r"([A-Za-z_]\w*)\s*(\(?)", without_numbers):
        if word in kernel.operands or word in NAMES or (bracket and word in functions()):
            continue
        raise SchemaError(
            f"`device` names `{word}`, which is no operand of {kernel.name} "
            f"({', '.join(kernel.operands)}) and no function of functions.k or special.k of "
            "ebb/devices/kernels"
        )
