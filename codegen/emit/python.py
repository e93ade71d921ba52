# codegen/emit/python.py -- Python's functions and methods of each op: python/ops_<family>.cpp.
#
# A function is described by an OpSpec, whose parameters the runtime (python/src/calls/args.h)
# binds; the generated code converts them and calls ebb::name. Which functions take no tensor, so
# that no class of one can take part in them, is told in python/ebb/_base/makers.py.
"""Emitter of the Python bindings and the stub."""

from __future__ import annotations

from codegen.cpp import environment, render_with_ops
from codegen.dtypes import DTYPES
from codegen.emit.operators import operators_of
from codegen.model import Family
from codegen.python_function import python_functions
from codegen.schema import KEYS


def emit(family: Family) -> dict[str, str]:
    """The bindings of one family."""
    own = {op.name for op in family.ops}
    recorded = [op.full_name for op in family.ops if op.is_differentiable and not op.composite]
    given = {"family": family, "functions": python_functions(family), "recorded": recorded}
    text = render_with_ops("python_ops.cpp.j2", own, **given)
    return {f"python/ops_{family.name}.cpp": text}


MAKERS = '''# python/ebb/_base/makers.py -- generated from the op table: what takes no tensor.
"""MAKERS: functions of ``ebb`` that take no tensor in any of their overloads."""

MAKERS = frozenset({names!r})
'''


def makers(families: list[Family]) -> list[str]:
    """The functions of `ebb` that take no tensor in any of their overloads."""
    takes: dict[str, bool] = {}
    for op in (op for family in families for op in family.ops if not op.namespace):
        takes[op.name] = takes.get(op.name, False) or not op.is_creation
    return sorted(name for name, is_given in takes.items() if not is_given)


def emit_common(families: list[Family]) -> dict[str, str]:
    """The list of all families, and the stubs of the extension module and of namespaces."""
    template = environment().get_template("python_tables.cpp.j2")
    stub = environment().get_template("python_stub.pyi.j2")
    functions = [function for family in families for function in python_functions(family)]
    ops = [op for family in families for op in family.ops]
    overloads = [op for op in ops if op.overload and op.is_differentiable and not op.composite]
    space_stub = environment().get_template("namespace_stub.pyi.j2")
    return {
        "python/op_tables.cpp": template.render(
            families=[family.name for family in families], overloads=overloads
        ),
        "python/ebb/_base/makers.py": MAKERS.format(names=makers(families)),
        "python/_C.pyi": stub.render(
            functions=functions, operators=operators_of(families), dtypes=DTYPES
        ),
        **{
            f"python/ebb/_{space}.pyi": space_stub.render(space=space, functions=functions)
            for space in KEYS["namespace"].values
        },
    }
