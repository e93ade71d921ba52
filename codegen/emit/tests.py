# codegen/emit/tests.py -- test_rows.json: what the generic tests try for every op; and calls of
# all composites for a test in C++.
#
# One row per entry of the table: signature, dtypes, forms, NumPy reference, how to make inputs, and
# bad calls with the text of their error. The tests that run the rows are in tests/python/.
"""Emitter of test rows."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from codegen.cpp import Form, environment, forms
from codegen.dtypes import parse_class
from codegen.model import Family, Op
from codegen.signature import Param


def row(op: Op) -> dict[str, Any]:
    """Everything that a generic test must know of an op."""
    return {
        "op": op.full_name,
        "name": op.name,
        "family": op.family,
        "place": f"{op.file}:{op.line}",
        "python": op.python,
        "namespace": op.namespace,
        "aliases": list(op.aliases),
        "spellings": {name: list(others) for name, others in op.spellings.items()},
        "operators": [[use.symbol.method, *use.operands] for use in op.operators],
        "cost": op.cost,
        "amp": op.amp,
        "generator": op.takes_generator,
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
        "works_for": list(parse_class(op.test.get("dtypes", "any"))),
        "dtype_rule": op.dtype_rule,
        "result_dtype": op.result_dtype,
        "copies_inplace": op.copies_inplace,
        "copies_out": op.copies_out,
        "forms": [*op.forms, *(["out"] if op.copies_out else [])],
        "differentiable": [
            name for name, text in op.grad.items() if text != "none" and name not in op.refused
        ],
        "refused": list(op.refused),
        "checks": [kind for kind, _ in op.checks],
        "is_composite": bool(op.composite),
        "kernels": [use.name for use in op.kernels],
        "body": dataclasses.asdict(op.body) if op.body else None,
        "test": op.test,
    }


# What a generated call gives for a parameter that is no tensor, by its type.
VALUES = {"Scalar": "Scalar(1)", "int": "int64_t{1}", "int[]": "std::vector<int64_t>{1}"}


def value(param: Param) -> str:
    """An argument of a generated call."""
    if param.type.is_tensor:
        return "tensor"
    if param.type.name == "Tensor[]":
        return "std::span(&tensor, 1)"
    return VALUES.get(param.type.name, f"{param.type.argument}{{}}")


def composite_calls(families: list[Family]) -> str:
    """A header with a call of each function that is made of others."""

    def values(form: Form) -> str:
        given = [value(param) for param in form.op.params]
        return ", ".join([*given, "tensor"] if form.kind == "out" else given)

    ops = [op for family in families for op in family.ops if op.composite]
    found = [form for op in ops for form in forms(op) if "tensor" in values(form)]
    template = environment().get_template("composite_calls.h.j2")
    return template.render(composites=found, values=values)


def emit(families: list[Family]) -> dict[str, str]:
    """One file with all rows, and one with calls."""
    rows = [row(op) for family in families for op in family.ops]
    return {
        "test_rows.json": json.dumps(rows, indent=1) + "\n",
        "tests/composite_calls.h": composite_calls(families),
    }
