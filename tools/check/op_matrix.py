# tools/check/op_matrix.py -- the op x dtype x form matrix of the table against the built library.
"""Usage: python tools/check/op_matrix.py [--library PATH] [--show].

A hole is: a kernel entry that the table promises and the library lacks; an entry that it has
beyond what the ops of the kernel accept; a form (plain, in-place, out=) or a forward-mode rule of
an op that is not in the library; an op without test rows. Holes are printed and fail the check.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from codegen.cpp import forms  # noqa: E402
from codegen.dtypes import DTYPES, mask  # noqa: E402
from codegen.emit.common import kernels_of  # noqa: E402
from codegen.emit.jvp import has_rule  # noqa: E402
from codegen.generate import load_all  # noqa: E402

if TYPE_CHECKING:
    from codegen.model import Family, Op

LIBRARY = ROOT / "build" / "release" / "lib" / "libebb.so"


def registered_dtypes(library: Path) -> dict[str, int]:
    """Return, per kernel of the table, the mask of dtypes that run on the CPU; -1 if unknown."""
    loaded = ctypes.CDLL(str(library))
    loaded.ebb_kernel_dtypes.restype = ctypes.c_int64
    return {
        kernel.name: loaded.ebb_kernel_dtypes(kernel.name.encode())
        for kernel in kernels_of(load_all())
    }


def exported_functions(library: Path) -> set[str]:
    """Return the qualified names of all functions that the library exports."""
    command = ["nm", "-D", "-C", "--defined-only", str(library)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split(" ", 2)[2].split("(")[0].split("[")[0] for line in lines}


def names_of(dtypes: int) -> str:
    return ", ".join(name for index, name in enumerate(DTYPES) if dtypes >> index & 1)


def kernel_holes(families: list[Family], registered: dict[str, int]) -> list[str]:
    """Return what the kernel tables lack, and what they have too much."""
    holes = []
    accepted = accepted_by_pointwise(families)
    for kernel in kernels_of(families):
        have, want = registered[kernel.name], mask(kernel.dtypes)
        if have < 0:
            holes.append(f"kernel {kernel.name}: the library does not know it")
            continue
        if want & ~have:
            holes.append(f"kernel {kernel.name}: no entry for {names_of(want & ~have)}")
        # The straight path of a pointwise op takes any entry there is.
        extra = have & ~accepted.get(kernel.name, have)
        if extra:
            holes.append(f"kernel {kernel.name}: {names_of(extra)} beyond what its ops accept")
    return holes


def accepted_by_pointwise(families: list[Family]) -> dict[str, int]:
    """Return, per kernel of a pointwise op, the dtypes that every such op accepts."""
    accepted: dict[str, int] = {}
    for family in families:
        for op in family.ops:
            if not op.is_pointwise:
                continue
            kernel = op.kernels[0]
            dtypes = mask(kernel.dtypes)
            accepted[kernel.name] = accepted.get(kernel.name, dtypes) & dtypes
    return accepted


def op_holes(op: Op, exported: set[str]) -> list[str]:
    """Return what the library lacks of one op."""
    place = f"{op.file}:{op.line}: {op.full_name}"
    holes = []
    for form in forms(op):
        layers = ["ebb"] if op.composite or form.is_copied else ["ebb", "ebb::ops"]
        for layer in layers:
            if f"{layer}::{form.name}" not in exported:
                holes.append(f"{place}: no function {layer}::{form.name}")
    is_plain_gradient = op.is_differentiable and not op.is_inplace
    if is_plain_gradient and not has_rule(op):
        holes.append(f"{place}: has gradients but no forward-mode rule")
    if "numpy" not in op.test and "none" not in op.test:
        holes.append(f"{place}: its test has no `numpy` reference, nor says why")
    return holes


def show(families: list[Family]) -> None:
    """Print one line per op: its dtypes and forms."""
    for family in families:
        for op in family.ops:
            dtypes = next(iter(op.dtypes.values()), ())
            flags = "".join("x" if name in dtypes else "." for name in DTYPES)
            rule = "jvp" if has_rule(op) else ""
            print(f"{op.full_name:<24} {flags}  {' '.join(op.forms):<18} {rule}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="op_matrix", description=__doc__)
    parser.add_argument("--library", type=Path, default=LIBRARY)
    parser.add_argument("--show", action="store_true", help="print the matrix")
    options = parser.parse_args()
    families = load_all()
    if options.show:
        show(families)
    if not options.library.exists():
        print(f"  op_matrix: needs {options.library}, found none\n  hint: make build")
        return 1
    exported = exported_functions(options.library)
    holes = kernel_holes(families, registered_dtypes(options.library))
    holes += [hole for family in families for op in family.ops for hole in op_holes(op, exported)]
    for hole in holes:
        print(f"  {hole}")
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main())
