# codegen/python_stub.py -- the type stub of ebb._C: hand-written head, generated ops.
"""Writes _C.pyi."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.python_text import Argument

if TYPE_CHECKING:
    from codegen.emit_python import PythonFunction

HEAD = Path(__file__).parent / "templates" / "python_stub_head.pyi.in"


def parameter(argument: Argument) -> str:
    """One annotated parameter."""
    annotation = argument.annotation
    if argument.default == "None" and "None" not in annotation:
        annotation += " | None"
    if argument.name == "requires_grad":
        annotation = "builtins.bool"
    # Tensor has methods of these names.
    annotation = re.sub(r"(?<![\w.])(bool|int|float)\b", r"builtins.\1", annotation)
    text = f"{argument.name}: {annotation}"
    return text if argument.default is None else f"{text} = {argument.default}"


def definition(function: PythonFunction, name: str, is_method: bool) -> str:
    """One `def` line."""
    arguments = function.signature()
    parts = ["self"] if is_method else []
    keyword_seen = False
    for argument in arguments[1:] if is_method else arguments:
        if argument.varargs:
            parts.append(f"*{argument.name}: builtins.int | Sequence[builtins.int]")
            keyword_seen = True
            continue
        if argument.keyword_only and not keyword_seen:
            parts.append("*")
            keyword_seen = True
        parts.append(parameter(argument))
    result = "Tensor"
    if any(op.results[0].is_list for op in function.ops):
        result = "tuple[Tensor, ...]"
    elif function.results:
        result = "Any" if len(function.ops) > len(function.results) else "tuple[Tensor, Tensor]"
    return f"def {name}({', '.join(parts)}) -> {result}: ..."


def render_stub(functions: list[PythonFunction]) -> str:
    """The whole stub."""
    public = [one for one in functions if one.kind != "private"]
    methods = [
        f"    {definition(one, name, True)}"
        for one in public
        if one.is_method
        for name in one.names
    ]
    plain = [
        definition(one, name, False)
        for one in public
        if one.kind in ("both", "function")
        for name in one.names
    ]
    head = HEAD.read_text(encoding="utf-8")
    return head.replace("    # METHODS", "\n".join(methods)).replace(
        "# FUNCTIONS", "\n".join(plain)
    )
