# codegen/emit_tests.py -- test_rows.json: what the generic tests try for every op.
#
# One row per entry of the table: signature, dtypes, forms, NumPy reference, how to make inputs, and
# bad calls with the text of their error. The tests that run the rows are in tests/python/.
"""Emitter of test rows."""

from __future__ import annotations

import json
from typing import Any

from codegen.model import Family, Op


def row(op: Op) -> dict[str, Any]:
    """Everything that a generic test must know of an op."""
    return {
        "op": op.full_name,
        "name": op.name,
        "family": op.family,
        "place": f"{op.file}:{op.line}",
        "python": op.python,
        "aliases": list(op.aliases),
        "cost": op.cost,
        "temporaries": op.temporaries,
        "params": [
            {
                "name": param.name,
                "type": param.type.name,
                "default": param.default,
                "keyword_only": param.keyword_only,
            }
            for param in op.params
        ],
        "results": [result.name + ("[]" if result.is_list else "") for result in op.results],
        "dtypes": {name: list(dtypes) for name, dtypes in op.dtypes.items()},
        "dtype_rule": op.dtype_rule,
        "result_dtype": op.result_dtype,
        "forms": list(op.forms),
        "differentiable": [name for name, formula in op.grad.items() if formula != "none"],
        "checks": [kind for kind, _ in op.checks],
        "is_composite": bool(op.composite),
        "jvp": op.jvp != "none",
        "test": op.test,
    }


def emit(families: list[Family]) -> dict[str, str]:
    """One file with all rows."""
    rows = [row(op) for family in families for op in family.ops]
    return {"test_rows.json": json.dumps(rows, indent=1) + "\n"}
