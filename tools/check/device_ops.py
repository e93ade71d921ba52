# tools/check/device_ops.py -- docs/device_ops.md: which ops of the table run on devices.
"""Usage: python tools/check/device_ops.py [--library PATH] [--write].

Reads the table, and asks the registry of the built library which kernels `opencl` has. Without
--write it fails where the page says something else. Where the device is missing it says so and
passes: then nothing can be asked.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from codegen.dtypes import DTYPES  # noqa: E402
from codegen.emit.common import kernels_of  # noqa: E402
from codegen.generate import load_all  # noqa: E402

if TYPE_CHECKING:
    from codegen.model import Family, Op

LIBRARY = ROOT / "build" / "release" / "lib" / "libebb.so"
PAGE = ROOT / "docs" / "device_ops.md"
DEVICE = "opencl:0"
# What the columns of the page are; other dtypes follow these.
SHOWN = ("float32", "float64", "int64", "boolean")

HEAD = """\
# Ops on devices

Which rows of the op table have all their kernels on `opencl`, for float32, float64, int64 and bool
as far as the CPU has them. Others run on the CPU: their operands travel there and the results back,
with a warning, or a `NotImplementedError` with `ebb.set_kernel_fallback(False)` (devices.md). Ops
without kernels (views, and what is composed of other ops) are not listed: they run where those do.

Written by `python tools/check/device_ops.py --write`; `make check` holds it to the registry.
"""


def registered_dtypes(library: Path, names: list[str]) -> dict[str, int] | None:
    """Return, per kernel, the mask of dtypes that the device has; nothing without the device."""
    loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    loaded.ebb_kernel_dtypes_on.restype = ctypes.c_int64
    found = {name: loaded.ebb_kernel_dtypes_on(name.encode(), DEVICE.encode()) for name in names}
    return None if all(dtypes < 0 for dtypes in found.values()) else found


def lacking(op: Op, registered: dict[str, int]) -> list[str]:
    """Return what a row lacks: a kernel, or "kernel (dtypes)" if it has others of these."""
    holes = []
    for use in op.kernels:
        wanted = [name for name in SHOWN if name in use.dtypes] or list(use.dtypes)
        have = max(registered[use.name], 0)
        missing = [name for name in wanted if not have >> DTYPES.index(name) & 1]
        if missing == wanted:
            holes.append(f"`{use.name}`")
        elif missing:
            dtypes = ", ".join("bool" if name == "boolean" else name for name in missing)
            holes.append(f"`{use.name}` ({dtypes})")
    return holes


def row_of(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def page(families: list[Family], registered: dict[str, int]) -> str:
    """Return the whole page."""
    counts, there, holes = [], [], []
    for family in families:
        ops = sorted((op for op in family.ops if op.kernels), key=lambda op: op.full_name)
        if not ops:
            continue
        missing = {op.full_name: lacking(op, registered) for op in ops}
        run = [name for name, lacks in missing.items() if not lacks]
        counts.append([family.name, str(len(ops)), str(len(run)), str(len(ops) - len(run))])
        if run:
            there.append([family.name, ", ".join(f"`{name}`" for name in run)])
        holes += [
            [family.name, f"`{name}`", ", ".join(lacks)] for name, lacks in missing.items() if lacks
        ]
    sums = [str(sum(int(row[column]) for row in counts)) for column in (1, 2, 3)]
    parts = [
        HEAD,
        *table(["family", "rows with kernels", "run there", "lack one"], [*counts, ["all", *sums]]),
        "\n## What lacks a kernel\n",
        *table(["family", "op", "kernels"], holes),
        "\n## What runs there\n",
        *table(["family", "ops"], there),
    ]
    return "\n".join(parts) + "\n"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [row_of(head), row_of(["---"] * len(head)), *map(row_of, rows)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="device_ops", description=__doc__)
    parser.add_argument("--library", type=Path, default=LIBRARY)
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    if not options.library.exists():
        print(f"  device_ops: needs {options.library}, found none\n  hint: make build")
        return 1
    families = load_all()
    names = [kernel.name for kernel in kernels_of(families)]
    registered = registered_dtypes(options.library, names)
    if registered is None:
        print(f"  device_ops: {DEVICE} is not here, so {PAGE.name} was not compared")
        return 0
    wanted = page(families, registered)
    if options.write:
        PAGE.write_text(wanted, encoding="utf-8")
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted:
        return 0
    print(f"  {PAGE.relative_to(ROOT)} differs from the registry of {options.library.name}")
    print("  hint: python tools/check/device_ops.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
