# tests/codegen/little_table.py -- a family of the op table that a test writes.
"""``family_of``: rows given as text, read as if they stood in ops/little.yaml."""

from codegen.entry import load_family
from codegen.model import Family


def family_of(tmp_path, text) -> Family:
    """Return the family that ``text`` describes; a mistake in it raises SchemaError."""
    path = tmp_path / "ops" / "little.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return load_family(path)
