# codegen/examples.py -- the examples in the help of ops: ops/examples/<family>.txt.
#
# The first line of a block names a Python function of the family (`add`, `add_inplace` for `add_`),
# below it stand the lines of a session. A blank line parts blocks.
"""Reads and writes examples of ops."""

from __future__ import annotations

from pathlib import Path

from codegen.signature import SchemaError

FOLDER = Path(__file__).resolve().parent.parent / "ops" / "examples"


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
    found = (read_examples(path).get(name) for path in sorted(FOLDER.glob("*.txt")))
    return next((lines for lines in found if lines), [])


def write_examples(path: Path, examples: dict[str, list[str]]) -> None:
    """Write a file that read_examples() reads; none if there is nothing to say."""
    if not examples:
        return
    head = f"# ops/examples/{path.name} -- examples in the help of the family {path.stem}.\n"
    blocks = ["\n".join([name, *lines]) for name, lines in examples.items()]
    path.write_text(head + "\n" + "\n\n".join(blocks) + "\n", encoding="utf-8")
