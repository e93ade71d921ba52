# tests/python/ops/reference/named.py -- every reference that rows of the op table name.
"""``NAMED``: the functions of the modules beside this one, by name."""

import importlib
from pathlib import Path

MODULES = [
    importlib.import_module(f"tests.python.ops.reference.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path != Path(__file__)
]
NAMED = {name: function for module in MODULES for name, function in module.NAMED.items()}
