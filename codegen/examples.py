# codegen/examples.py -- the examples in the help of ops: ops/<topic>/<family>.txt.
#
# The first line of a block names a Python function of the family (`add`, `add_inplace` for `add_`),
# below it stand the lines of a session. A blank line parts blocks.
"""Reads and writes examples of ops."""

from __future__ import annotations

from pathlib import Path

from codegen.model import table_files
from codegen.signature import SchemaError


def examples_path(family: str) -> Path:
    """The file of a family's examples: beside its table."""
    known = table_files().get(family)
    return known.with_suffix(".txt") if known else Path(f"{family}.txt")


def read_examples(path: Path) -> dict[str, list[str]]:
    """Return the lines of each example by the key of its function."""
    if not path.exists():
        return {}
    found: dict[str, list[str]] = {}
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        name, *session = lines
        if name in found or not session or not session[0].startswith(">>> "):
            raise SchemaError(f"{path}: needs a name and a session once, got {name!r}")
        found[name] = session
    return found


def example_of(name: str) -> list[str]:
    """Return the lines of the example of an op, of whatever family."""
    found = (read_examples(examples_path(family)).get(name) for family in table_files())
    return next((lines for lines in found if lines), [])


def write_examples(path: Path, examples: dict[str, list[str]]) -> None:
    """Write a file that read_examples() reads; none if there is nothing to say."""
    if not examples:
        return
    head = (
        f"# ops/{path.parent.name}/{path.name} -- examples in the help of the family {path.stem}.\n"
    )
    blocks = ["\n".join([name, *lines]) for name, lines in examples.items()]
    path.write_text(head + "\n" + "\n\n".join(blocks) + "\n", encoding="utf-8")
