# codegen/emit/modules.py -- the modules of the table: C++ classes, Python classes and their tests.
#
# ebb/nn/<family>.h and .cpp, python/ebb/nn/<family>.py, the functions of ebb.nn.functional that add
# an option to an op, a C++ test of all examples and module_rows.json for the Python tests. How a
# row reads is in module_python.py and module_cpp.py, what is text in the templates.
"""Emitter of modules that hold options only."""

from __future__ import annotations

import json
from typing import Any

from codegen.cpp import comment, environment
from codegen.module_cpp import CppModule, has_pair
from codegen.module_python import AddedFunction, PythonModule, folded
from codegen.modules import Module, ModuleFamily


def row_of(module: Module, family: ModuleFamily) -> dict[str, Any]:
    """What the Python tests must know of a module."""
    return {
        "module": module.name,
        "family": family.name,
        "function": module.function,
        "inputs": module.inputs,
        "options": [
            {"name": one.name, "type": one.type, "default": one.param.default,
             "attribute": one.attribute, "checked": one.is_checked, "choices": one.choices,
             "keyword_only": one.keyword_only, "if_none": one.if_none, "own": one.is_own,
             "kept": one.is_kept, "as": one.checked_by}
            for one in module.options
        ],
        "shown": module.shown,
        "example": module.example,
        "is_op": module.op is not None,
        "parameters": [one.name for one in module.weights],
        "fixed": module.fixed,
        "params": [one.name for one in module.params],
        "channels": module.channels,
    }  # fmt: skip


def _bases_first(modules: list[Module]) -> list[Module]:
    """The rows in their order, each behind the row that it derives from."""
    named = {one.name: one for one in modules}
    ordered: dict[str, Module] = {}
    for one in modules:
        if one.base in named:
            ordered.setdefault(one.base, named[one.base])
        ordered.setdefault(one.name, one)
    return list(ordered.values())


def emit(families: list[ModuleFamily]) -> dict[str, str]:
    """All files of the module table, by path below the generated folder."""
    env = environment()
    files = {}
    tested = []
    for family in families:
        rows = [PythonModule(one) for one in _bases_first(family.modules)]
        files[f"python/ebb/nn/{family.name}.py"] = env.get_template("modules.py.j2").render(
            family=family,
            modules=rows,
            folded=folded,
            has_sequence=any("Sequence" in text for one in rows for text in one.parameters),
            has_error=any(one.checks for one in rows),
            has_check=any(one.check(option) for one in rows for option in one.row.options)
            or any(one.row.weights or one.row.channels for one in rows),
            has_weights=any(one.row.weights for one in rows),
            starts_plainly=any("init." in two["start"] for one in rows for two in one.weights),
        )
        ours = [CppModule(one) for one in family.modules if one.is_in_cpp]
        if not ours:
            continue
        context = {
            "family": family,
            "modules": ours,
            "comment": comment,
            "has_pair": any(has_pair(one.type(o)) for one in ours for o in one.options),
            "has_loss": any(one.base == "Loss" for one in ours),
            "ops": sorted({one.row.op.name for one in ours if one.row.op}),
        }
        for kind in ("h", "cpp"):
            template = env.get_template(f"modules.{kind}.j2")
            files[f"ebb/nn/{family.name}.{kind}"] = template.render(context)
        tested.append((family, [one for one in ours if one.row.example]))
    functions = [one for family in families for one in AddedFunction.of(family)]
    files["python/ebb/nn/functional/added_options.py"] = env.get_template(
        "functional.py.j2"
    ).render(
        functions=functions, folded=folded, names=[name for one in functions for name in one.names]
    )
    files["tests/nn/module_table_test.cpp"] = env.get_template("modules_test.cpp.j2").render(
        tested=tested
    )
    rows = [row_of(one, family) for family in families for one in family.modules]
    files["module_rows.json"] = json.dumps(rows, indent=1) + "\n"
    return files
