# codegen/dtypes.py -- classes of dtypes in the table, and which entries a kernel must have.
"""Dtype classes and kernel declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from codegen.kernel_types import KERNEL_TYPES
from codegen.schema import nearest
from codegen.signature import SchemaError

# In the order of the C++ enum: masks are built from the position.
DTYPES = (
    "boolean",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
_WIDE_UNSIGNED = ("uint16", "uint32", "uint64")
_FLOATING = ("float16", "bfloat16", "float32", "float64")
_COMPLEX = ("complex64", "complex128")
_INTEGER = ("uint8", "int8", "int16", "int32", "int64")
CLASSES = {
    "any": DTYPES,
    "standard": tuple(one for one in DTYPES if one not in _WIDE_UNSIGNED),
    "numeric": (*_INTEGER, *_FLOATING, *_COMPLEX),
    "ordered": ("boolean", *_INTEGER, *_FLOATING),
    "integer": _INTEGER,
    "floating": _FLOATING,
    "complex": _COMPLEX,
    "bool": ("boolean",),
    **{one: (one,) for one in DTYPES},
}


@dataclass(frozen=True)
class KernelUse:
    """A kernel that an op calls: its C++ type, name, operands, and the entries it must have."""

    type: str
    name: str
    operands: tuple[str, ...]
    dtypes: tuple[str, ...]

    def with_operands(self, operands: tuple[str, ...]) -> KernelUse:
        """Fill in the operands in the order of the signature, unless they were given."""
        return self if self.operands else replace(self, operands=operands)


def parse_class(text: str) -> tuple[str, ...]:
    """Dtypes of `floating+complex`, in the order of the enum."""
    chosen: set[str] = set()
    for name in text.split("+"):
        if name.strip() not in CLASSES:
            raise SchemaError(
                f"unknown dtype class `{name.strip()}`{nearest(name.strip(), CLASSES)}"
            )
        chosen.update(CLASSES[name.strip()])
    return tuple(one for one in DTYPES if one in chosen)


def mask(dtypes: tuple[str, ...]) -> int:
    """One bit per dtype."""
    return sum(1 << DTYPES.index(one) for one in dtypes)


def image(rule: str, dtypes: tuple[str, ...]) -> tuple[str, ...]:
    """What operands of these dtypes are computed in."""
    if rule == "promote_number":
        return tuple(one for one in dtypes if one != "boolean")
    if rule != "promote_float":
        return dtypes
    return tuple(one for one in dtypes if one in _FLOATING + _COMPLEX)


_KERNEL = re.compile(r"(\w+)\s+(\w+)\s*(?:\(([^)]*)\))?\s*(?:\[([^\]]*)\])?")


def parse_kernel(text: str, default: tuple[str, ...]) -> KernelUse:
    """Parse `BinaryKernel sub(other, input) [floating]`."""
    match = _KERNEL.fullmatch(text.strip())
    if not match:
        raise SchemaError(f"`kernel` needs `Type name`, got `{text}`")
    if match[1] not in KERNEL_TYPES:
        raise SchemaError(f"unknown kernel type `{match[1]}`{nearest(match[1], KERNEL_TYPES)}")
    operands = tuple(one.strip() for one in match[3].split(",")) if match[3] else ()
    dtypes = parse_class(match[4].replace(",", "+")) if match[4] else default
    return KernelUse(match[1], match[2], operands, dtypes)
