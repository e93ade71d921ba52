# codegen/cpp.py -- how an op reads in C++: its forms, parameter lists and result types.
#
# A Form is one function: mul, mul_ or mul_out. Emitters ask it for text and never look at types.
"""C++ text of signatures."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from codegen.dtypes import mask
from codegen.model import REFUSAL, Op, op_names
from codegen.signature import Param


@dataclass(frozen=True)
class Form:
    """One C++ function of an op."""

    op: Op
    kind: str  # plain, inplace or out

    @property
    def name(self) -> str:
        """The function's name."""
        if self.kind == "inplace" and not self.op.is_inplace:
            return self.op.cpp_name + "_"
        return self.op.cpp_name + ("_out" if self.kind == "out" else "")

    @property
    def key(self) -> str:
        """An identifier unique to the function."""
        return self.op.key + {"plain": "", "inplace": "_inplace", "out": "_out"}[self.kind]

    @property
    def is_copied(self) -> bool:
        """Whether it copies to self what the plain form makes of a copy of self."""
        return self.kind == "inplace" and self.op.copies_inplace

    def spelled(self, param: Param) -> str:
        """A parameter's name in this form: the one written in place is self."""
        return "self" if self.kind == "inplace" and param is self.op.params[0] else param.name

    def respelled(self, expression: str) -> str:
        """An expression of the table with parameters named as in this form."""
        if self.kind != "inplace":
            return expression
        return re.sub(rf"\b{self.op.params[0].name}\b", "self", expression)

    def parameters(self, defaults: bool = False) -> str:
        """The parameter list."""
        texts = []
        for place, param in enumerate(self.op.params):
            is_last = all(one.default is not None for one in self.op.params[place:])
            is_free = is_last and place >= self.op.without_default
            has_default = defaults and self.kind != "out" and is_free
            default = param.cpp_default if has_default else None
            texts.append(
                f"{param.type.argument} {self.spelled(param)}"
                + (f" = {default}" if default is not None else "")
            )
        if self.kind == "out":
            texts.append("const Tensor& out")
        return ", ".join(texts)

    @property
    def names(self) -> list[str]:
        """The parameters' names."""
        names = [self.spelled(param) for param in self.op.params]
        return [*names, "out"] if self.kind == "out" else names

    @property
    def arguments(self) -> str:
        """The parameters as arguments of a call."""
        return ", ".join(self.names)

    @property
    def result_type(self) -> str:
        """What the function returns."""
        if self.kind == "inplace":
            return "const Tensor&"
        results = self.op.results
        if len(results) > 1:
            return f"std::tuple<{', '.join(['Tensor'] * len(results))}>"
        return "std::vector<Tensor>" if results[0].is_list else "Tensor"

    @property
    def shape_of_result(self) -> str:
        """single, tuple or list."""
        if len(self.op.results) > 1:
            return "tuple"
        return "list" if self.op.results[0].is_list else "single"

    def accepted(self, param: Param) -> str:
        """The mask of dtypes that a tensor parameter may have."""
        return f"0x{mask(self.op.dtypes[param.name]):x}u"

    @property
    def required_tensors(self) -> list[str]:
        """Tensors that must be defined, as spelled here."""
        return [self.spelled(p) for p in self.op.tensors if not p.type.is_optional]

    @property
    def unseen_modes(self) -> str:
        """The bits of autocast that a call passes by."""
        if self.kind != "plain" or self.op.amp == "none":
            return "gate::kAutocast"
        # They promote by themselves.
        return "gate::kAmp" if self.op.amp == "widest" and self.op.is_pointwise else ""


def forms(op: Op) -> list[Form]:
    """All functions of an op."""
    return [Form(op, kind) for kind in op.forms]


def op_header(name: str) -> str:
    """The header that declares the recorded functions of an op, all overloads and forms."""
    return f"ebb/autograd/ops/{name}.h"


@functools.cache
def written_header(folder: str, family: str) -> str:
    """The header of a family that is written by hand, wherever below a folder of ebb/ it lies."""
    root = Path(__file__).parent.parent
    found = sorted((root / folder).rglob(f"{family}.h"))
    return str(found[0].relative_to(root)) if found else f"{folder}/{family}.h"


def kernel_header(name: str) -> str:
    """The header that declares the table of a kernel."""
    return f"ebb/kernels/tables/{name}.h"


_CALL = re.compile(r"(?<![\w.>:])(?:ebb::)?(\w+?)(_out|_)?\(")


def called_ops(code: str) -> set[str]:
    """The names of all recorded ops that a piece of C++ calls."""
    known = op_names()
    calls = _CALL.findall(code)
    return {one for name, suffix in calls for one in (name, name + suffix) if one in known}


def comment(text: str, indent: str = "") -> str:
    """Documentation as /// lines of at most 100 columns."""
    lines, line = [], ""
    for word in text.split():
        if line and len(indent) + 4 + len(line) + 1 + len(word) > 96:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join(f"{indent}/// {one}" for one in [*lines, line])


def render_with_ops(template: str, own: Iterable[str], **context: Any) -> str:
    """A source with an include for each op that it defines (`own`) or calls, and for its rules.

    So a new op makes nothing stale but its own family.
    """
    mark = "// op headers"
    code = environment().get_template(template).render(**context, op_headers=mark)
    headers = {op_header(name) for name in {*own, *called_ops(code)}}
    if "rules::" in code.replace("autograd::rules", ""):
        headers.add(written_header("ebb/autograd/rules", context["family"].name))
    if REFUSAL in code:
        headers.add("ebb/autograd/rules/refused.h")
    return code.replace(mark, "\n".join(f'#include "{one}"' for one in sorted(headers)), 1)


@functools.cache
def environment() -> jinja2.Environment:
    """The templates of all folders by their own names, strict about unknown ones."""
    folder = Path(__file__).parent / "templates"
    rooms = sorted(one for one in folder.iterdir() if one.is_dir())
    loader = jinja2.FileSystemLoader([folder, *rooms])
    env = jinja2.Environment(
        loader=loader,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    env.filters["comment"] = comment
    env.filters["each"] = lambda values, text: [text % value for value in values]
    env.filters["c_string"] = lambda text: json.dumps(text.rstrip("\n"))
    return env
