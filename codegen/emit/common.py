# codegen/emit/common.py -- kernel tables, their list, and the header that gathers all ops.
#
# Each kernel has a signature number, a hash of its C++ function type as ebb/kernels/signatures*.h
# spells it: a plug-in built against another one is refused.
"""Emitter of files that depend on the whole table."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from codegen.cpp import environment, kernel_header, op_header
from codegen.dtypes import DTYPES, KernelUse, mask
from codegen.kernel_types import HOMES, SPELLINGS
from codegen.model import Family, Op
from codegen.signature import SchemaError


@dataclass
class Kernel:
    """A kernel table: its type and the entries that it must have on the CPU."""

    name: str
    type: str
    dtypes: tuple[str, ...]
    spelling: str = ""  # of the function type
    signatures: str = ""  # the header that has it

    @property
    def mask(self) -> str:
        """One bit per dtype that must have a kernel."""
        return f"0x{mask(self.dtypes):x}u"

    @property
    def header(self) -> str:
        """The header that declares the table."""
        return kernel_header(self.name)

    @property
    def hash(self) -> str:
        """What a plug-in must present to fill the table."""
        return f"0x{zlib.crc32(f'{self.name} {self.spelling}'.encode()):08x}u"


def kernels_of(families: list[Family]) -> list[Kernel]:
    """All kernels of the table in alphabetical order; conflicting types are an error."""
    found: dict[str, Kernel] = {}
    for family in families:
        for op in family.ops:
            for use in op.kernels:
                known = found.setdefault(use.name, Kernel(use.name, use.type, ()))
                if known.type != use.type:
                    raise SchemaError(
                        f"{op.file}:{op.line}: {op.full_name}: kernel `{use.name}` is "
                        f"a {known.type} elsewhere, got {use.type}"
                    )
                known.dtypes = _union(known.dtypes, use)
    for kernel in found.values():
        kernel.spelling = SPELLINGS[kernel.type]
        kernel.signatures = HOMES[kernel.type]
    return [found[name] for name in sorted(found)]


def _union(dtypes: tuple[str, ...], use: KernelUse) -> tuple[str, ...]:
    return tuple(one for one in DTYPES if one in dtypes or one in use.dtypes)


def amp_lists(families: list[Family]) -> list[tuple[str, str]]:
    """The ops that autocast casts for, by name: overloads are on one list."""
    found: dict[str, Op] = {}
    for op in (op for family in families for op in family.ops):
        if op.amp != "none" and found.setdefault(op.name, op).amp != op.amp:
            raise SchemaError(
                f"{op.file}:{op.line}: {op.full_name}: `amp` is {op.amp}, "
                f"and {found[op.name].amp} of {found[op.name].full_name}"
            )
    return sorted((name, op.amp) for name, op in found.items())


def emit(families: list[Family]) -> dict[str, str]:
    """Files by path below the generated folder."""
    env = environment()
    names = {op.name for family in families for op in family.ops}
    context = {"kernels": kernels_of(families), "families": [family.name for family in families]}
    return {
        **{
            kernel.header: env.get_template("table.h.j2").render(kernel=kernel)
            for kernel in context["kernels"]
        },
        "ebb/kernels/tables.h": env.get_template("tables.h.j2").render(context),
        "ebb/kernels/tables.cpp": env.get_template("tables.cpp.j2").render(context),
        "ebb/autograd/ops.h": env.get_template("all_ops.h.j2").render(
            headers=[op_header(name) for name in sorted(names)]
        ),
        "ebb/autograd/amp_rows.cpp": env.get_template("amp_rows.cpp.j2").render(
            rows=amp_lists(families)
        ),
        "ebb/autograd/pole_rows.cpp": env.get_template("pole_rows.cpp.j2").render(
            rows=sorted(
                {
                    (op.name, operand, value)
                    for family in families
                    for op in family.ops
                    for operand, values in op.poles.items()
                    for value in values
                }
            )
        ),
    }
