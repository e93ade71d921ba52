# codegen/emit/batching.py -- how ebb.func.vmap calls each function of the table with a batch.
#
# A row's rule is its key `batch`, or follows from the row: pointwise ops broadcast, and an op of
# one tensor that names dims is called with the same dims of the batch. The rules themselves are
# functions of python/ebb/func/rules.py; a function without one is called sample by sample.
"""Emitter of python/ebb/func/rows.py."""

from __future__ import annotations

from codegen.model import Family, Op

# Parameters that are dims of the tensor, or several of them.
DIM_NAMES = (
    *("dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim"),
    *("axis", "source", "destination"),
)
HEADER = f'''# python/ebb/func/rows.py -- generated from the op table: batching rules.
"""DIMS: parameters that are dims. ROWS: the rule of a function, and whether it writes."""

DIMS = frozenset({DIM_NAMES!r})
ROWS = {{
'''


def rule_of(op: Op) -> str:
    """The name of the rule; empty if the op has none."""
    if op.batch:
        return "" if op.batch == "none" else op.batch
    if op.is_pointwise:
        return "pointwise"
    names_dims = any(param.name in DIM_NAMES for param in op.params)
    if len(op.tensors) == 1 and not op.tensor_lists and names_dims:
        return "dims"
    return ""


def python_names(op: Op) -> list[tuple[str, bool]]:
    """The names that Python has it by, each with whether that form writes its operand."""
    names = [op.name, *op.aliases]
    if op.namespace:
        names[0] = f"{op.namespace}.{op.name.removeprefix(op.namespace + '_')}"
    found = [(name, op.is_inplace) for name in names]
    if op.has_inplace:
        found += [(f"{name}_", True) for name in names]
    for use in op.operators:
        is_reflected = len(use.operands) == 2 and use.operands[0] != op.params[0].name
        word = use.symbol.word
        found.append((f"__r{word}__" if is_reflected else f"__{word}__", False))
        if use.symbol.kind in ("binary", "power"):
            found.append((f"__r{word}__", False))
            found += [(f"__i{word}__", True)] if op.has_inplace else []
    return found


def _agreed(found: list[tuple[str, bool]]) -> tuple[str, bool]:
    """What the overloads of one name say, of which a rule that does not fit a call stands aside."""
    known = {rule for rule, _ in found} - {""}
    rule = known.pop() if len(known) == 1 else ""
    return rule, any(writes for _, writes in found)


def emit(families: list[Family]) -> dict[str, str]:
    """The generated module."""
    rules: dict[str, list[tuple[str, bool]]] = {}
    for family in families:
        for op in family.ops:
            for name, writes in python_names(op):
                rules.setdefault(name, []).append((rule_of(op), writes))
    lines = [f"    {name!r}: {_agreed(found)!r},\n" for name, found in sorted(rules.items())]
    return {"python/ebb/func/rows.py": HEADER + "".join(lines) + "}\n"}
