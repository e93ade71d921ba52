# codegen/generate.py -- the generator's command line.
#
#     generate.py --family pointwise --out build/release/generated   the files of one family
#     generate.py --common --out build/release/generated             what all families share
#     generate.py --modules --out build/release/generated            the modules and optimizers
#     generate.py --outputs                     "<part> <path>" for all that is written
#
# Files are written only when their content changes, so that a build redoes no more than it must.
# Generated C++ may be wider than 100 columns; nobody edits it.
"""Command line of the generator."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from codegen.device_text import FUNCTIONS  # noqa: E402
from codegen.emit import (  # noqa: E402
    autograd,
    batching,
    common,
    devices,
    jvp,
    modules,
    operators,
    ops,
    optimizers,
    python,
    tests,
    user,
)
from codegen.entry import load_family  # noqa: E402
from codegen.kernel_types import SIGNATURES  # noqa: E402
from codegen.model import OTHER_TABLES, TABLE, Family, table_files  # noqa: E402
from codegen.modules import load_modules  # noqa: E402
from codegen.optimizers import load_optimizers  # noqa: E402
from codegen.schema import SCHEMA, json_schema  # noqa: E402
from codegen.signature import SchemaError  # noqa: E402

FAMILY_EMITTERS = [ops.emit, autograd.emit, jvp.emit, python.emit]
COMMON_EMITTERS = [
    common.emit,
    devices.emit,
    operators.emit,
    tests.emit,
    python.emit_common,
    batching.emit,
    user.emit,
]
# The order of umbrella headers and of documentation; further files follow in alphabetical order.
FIRST = ("creation", "copy", "pointwise", "reduce", "shape", "index", "matmul", "loss")


def find_families() -> tuple[str, ...]:
    """The names of all files of the table."""
    found = set(table_files())
    return (*(name for name in FIRST if name in found), *sorted(found - set(FIRST)))


FAMILIES = find_families()


def table_path(family: str) -> Path:
    """The file of a family."""
    return table_files()[family]


def load_all() -> list[Family]:
    """Every family."""
    return [load_family(table_path(name)) for name in FAMILIES]


def family_files(name: str) -> dict[str, str]:
    """What is generated for one family: content by path."""
    family = load_family(table_path(name))
    files: dict[str, str] = {}
    for emit in FAMILY_EMITTERS:
        files.update(emit(family))
    return files


def common_files() -> dict[str, str]:
    """What is generated from the whole table."""
    families = load_all()
    files = {"ops.schema.json": json.dumps(json_schema(), indent=1) + "\n"}
    for emit in COMMON_EMITTERS:
        files.update(emit(families))
    return files


def module_files() -> dict[str, str]:
    """What is generated from the tables of modules and of optimizers."""
    return {
        **modules.emit(load_modules(ROOT / "ops" / "modules", load_all())),
        **optimizers.emit(load_optimizers(ROOT / "ops" / "optim" / "fused.yaml")),
    }


def write_changed(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write the files whose content is new; return those."""
    written = []
    for name, content in files.items():
        path = folder / name
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        written.append(path)
    return written


def print_outputs() -> None:
    """Print what the build has to know: which command writes which file, and from what."""
    folder = Path(__file__).parent
    for source in sorted([*folder.rglob("*.py"), *folder.rglob("templates/**/*.j2")]):
        print("source", source)
    for path in (*SIGNATURES, *FUNCTIONS, SCHEMA):
        print("source", path)
    for family in FAMILIES:
        print("table", table_path(family), family)
    for family in FAMILIES:
        for name in family_files(family):
            print(family, name)
    for path in sorted(one for other in OTHER_TABLES for one in (TABLE / other).glob("*.yaml")):
        print("module_table", path)
    for name in common_files():
        print("common", name)
    for name in module_files():
        print("modules", name)


def wanted_files(options: argparse.Namespace) -> dict[str, str]:
    """The files of the part that the command line names."""
    if options.modules:
        return module_files()
    return common_files() if options.common else family_files(options.family)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; 1 for a mistake in the table."""
    parser = argparse.ArgumentParser(description="Generate code from the op table.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--family", choices=FAMILIES)
    what.add_argument("--common", action="store_true")
    what.add_argument("--modules", action="store_true")
    what.add_argument("--outputs", action="store_true", help="print paths, write nothing")
    parser.add_argument("--out", type=Path, help="the generated folder")
    options = parser.parse_args(arguments)
    if options.out is None and not options.outputs:
        parser.error("--out is needed, unless --outputs is given")
    try:
        if options.outputs:
            print_outputs()
        else:
            write_changed(options.out, wanted_files(options))
    except SchemaError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
