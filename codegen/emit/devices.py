# codegen/emit/devices.py -- pointwise kernels and reductions of all devices, as rows.
#
# ebb/devices/common/pointwise/pointwise.h and reduce/reduce.h say what a row is. A kernel that
# several ops use has its expression in one of their rows.
"""Emitter of ebb/devices."""

from __future__ import annotations

import json
from dataclasses import dataclass

from codegen.cpp import environment
from codegen.device_text import KINDS, PARTS
from codegen.emit.common import Kernel, kernels_of
from codegen.model import Family, Op
from codegen.signature import SchemaError

FUNCTIONS = {
    "UnaryKernel": "unary_row",
    "BinaryKernel": "binary_row",
    "TernaryKernel": "ternary_row",
    "WhereKernel": "ternary_row",
}


@dataclass
class DeviceRow:
    """A kernel and its expressions."""

    kernel: Kernel
    op: Op

    @property
    def parameters(self) -> str:
        """What expressions call the operands."""
        return json.dumps(", ".join(self.op.kernels[0].operands))

    @property
    def text(self) -> tuple[str, list[str]]:
        """All that is said of the kernel."""
        return self.parameters, self.parts if self.op.body else self.expressions

    @property
    def parts(self) -> list[str]:
        """The C++ literals of a reduction."""
        return [json.dumps(self.op.device[part]) for part in PARTS]

    @property
    def dtypes(self) -> str:
        """For which dtypes a device has a reduction, whose elements the op may convert first."""
        assert self.op.body
        return "DTypesOfRow::" + self.op.body.device_dtypes

    @property
    def function(self) -> str:
        """The template whose instance fills the kernel's table."""
        return FUNCTIONS[self.kernel.type]

    @property
    def expressions(self) -> list[str]:
        """One C++ literal per kind."""
        texts = [self.op.device.get(kind) for kind in KINDS]
        return ["nullptr" if text is None else json.dumps(text) for text in texts]


def device_rows(families: list[Family]) -> list[DeviceRow]:
    """All kernels with an expression, by name; two that differ are an error."""
    kernels = {kernel.name: kernel for kernel in kernels_of(families)}
    found: dict[str, DeviceRow] = {}
    for op in (op for family in families for op in family.ops if op.device):
        name = op.kernels[0].name
        row = DeviceRow(kernels[name], op)
        if name in found and found[name].text != row.text:
            raise SchemaError(
                f"{op.file}:{op.line}: {op.full_name}: `device` for kernel `{name}` is "
                f"another one in {found[name].op.full_name}"
            )
        found.setdefault(name, row)
    return [found[name] for name in sorted(found)]


def emit(families: list[Family]) -> dict[str, str]:
    """A file of pointwise kernels, and one of reductions."""
    rows = device_rows(families)
    template = environment().get_template("device_rows.cpp.j2")
    files = {}
    for what, header, is_body in (
        ("pointwise kernels", "pointwise/pointwise.h", False),
        ("reductions", "reduce/reduce.h", True),
    ):
        room = header.partition("/")[0]
        path = f"ebb/devices/common/{room}/{'reduction' if is_body else room}_rows.cpp"
        chosen = [one for one in rows if bool(one.op.body) is is_body]
        files[path] = template.render(path=path, what=what, header=header, rows=chosen)
    return files
