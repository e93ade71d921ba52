# codegen/emit/optimizers.py -- the optimizers of the table: options and classes in both languages.
#
# ebb/kernels/optimizer_options.h has the structs of options, ebb/optim/optimizer_table.h and .cpp
# list their fields and make optimizers by name, ebb/optim/<file>.h declares the classes that are
# not written by hand, python/ebb/optim/<module>.py has Python's.
"""Emitter of the optimizers whose step is one loop."""

from __future__ import annotations

from itertools import groupby

from codegen.cpp import environment
from codegen.module_python import folded
from codegen.optimizers import Optimizer


def emit(table: tuple[str, list[Optimizer]]) -> dict[str, str]:
    """All files of the table, by path below the generated folder."""
    source, optimizers = table
    env = environment()
    structs = {one.struct: one for one in reversed(optimizers)}
    shared = {
        "source": source,
        "optimizers": optimizers,
        "structs": dict(sorted(structs.items())),
        "generated": [one for one in optimizers if one.step],
    }
    files = {
        name: env.get_template(name.rpartition("/")[2] + ".j2").render(shared)
        for name in (
            "ebb/kernels/optimizer_options.h",
            "ebb/optim/optimizer_table.h",
            "ebb/optim/optimizer_table.cpp",
        )
    }
    for one in shared["generated"]:
        files[f"ebb/optim/{one.file}.h"] = env.get_template("optimizer.h.j2").render(
            source=source, row=one
        )
    for module, group in groupby(optimizers, key=lambda one: one.module):
        rows = list(group)
        bases = sorted({one.base for one in rows} - {one.name for one in rows})
        files[f"python/ebb/optim/{module}.py"] = env.get_template("optimizer.py.j2").render(
            source=source, module=module, rows=rows, bases=bases, folded=folded
        )
    return files
