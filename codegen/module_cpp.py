# codegen/module_cpp.py -- rows of the module table as their C++ templates read them.
#
# Only modules of ops exist in C++: modules.h.j2, modules.cpp.j2, and modules_test.cpp.j2 for the
# examples.
"""``CppModule``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from codegen.module_values import flat, shape
from codegen.modules import Module, Option

STORED = {"Scalar": "double", "Tensor?": "Tensor", "str": "std::string"}
# C++ modules with more options than these take a struct of them.
MOST_PARAMETERS = 3


@dataclass
class CppModule:
    """A row as the C++ templates read it; only modules of ops exist in C++."""

    row: Module

    @property
    def options(self) -> list[Option]:
        """What C++ knows of the options."""
        return [option for option in self.row.options if not option.is_added]

    @property
    def required(self) -> list[Option]:
        """Options without a default."""
        return [option for option in self.options if option.param.default is None]

    @property
    def defaulted(self) -> list[Option]:
        """Options with a default."""
        return [option for option in self.options if option.param.default is not None]

    @property
    def struct(self) -> str:
        """The name of the struct of options; empty if they are few."""
        has_many = len(self.defaulted) > MOST_PARAMETERS
        return self.row.name.removesuffix("Loss") + "Options" if has_many else ""

    @property
    def members(self) -> list[Option]:
        """Options that are members of the class."""
        return self.required if self.struct else self.options

    def type(self, option: Option) -> str:
        """How an option is stored."""
        ints = {"1d": "int64_t", "3d": "Triple"}.get(self.row.name[-2:], "Pair")
        kinds = {**STORED, "int[]": ints, "int[]?": f"std::optional<{ints}>"}
        return kinds.get(option.type, option.param.type.stored)

    def default(self, option: Option) -> str:
        """Its default, empty if there is none; a number of ints stands for all of them."""
        if option.param.default is None:
            return ""
        if option.type.startswith("int[]"):
            return "std::nullopt" if option.param.default == "None" else str(option.param.default)
        return option.param.cpp_default or ""

    @property
    def is_made_of_options(self) -> bool:
        """Whether its constructor takes anything."""
        return bool(self.members or self.struct)

    def is_moved(self, option: Option) -> bool:
        """Whether the constructor moves an option into the module."""
        return option.type in ("str", "Tensor?")

    @property
    def buffers(self) -> list[tuple[str, str]]:
        """Tensors that it registers: their names and members."""
        tensors = [one for one in self.options if one.type == "Tensor?"]
        return [(option.name, self.kept(option.name)) for option in tensors]

    def kept(self, name: str) -> str:
        """A member's expression."""
        in_struct = self.struct and name in [option.name for option in self.defaulted]
        return f"options_.{name}" if in_struct else f"{name}_"

    @property
    def checks(self) -> list[tuple[str, str, str]]:
        """Conditions between numbers: in C++, as written, and the values to show."""
        found = []
        for one in self.row.checks:
            terms = re.split(r"\s*(<=|<)\s*", one)
            terms = [self.kept(term) if term.isidentifier() else term for term in terms]
            pairs = [" ".join(terms[i : i + 3]) for i in range(0, len(terms) - 1, 2)]
            names = [self.kept(term) for term in re.findall(r"[a-z_]\w*", one)]
            found.append((" && ".join(pairs), one, ', " and ", '.join(names)))
        return found

    @property
    def base(self) -> str:
        """Its base class, by what a call takes."""
        return "Loss" if self.row.inputs == ["input", "target"] else "Module"

    @property
    def has_own_call(self) -> bool:
        """Whether its base class knows no call of such inputs."""
        return self.base == "Module" and self.row.inputs != ["input"]

    @property
    def call(self) -> str:
        """The call of the op in forward()."""
        options = {option.name: option for option in self.options}
        passed = []
        for param in self.row.op.params if self.row.op else ():
            if param.name in self.row.inputs:
                passed.append(param.name)
            elif param.name in options:
                passed.append(self._passed(options[param.name]))
            elif param.name == "training":
                passed.append("is_training()")
            else:
                break  # it and what follows keep the op's defaults
        call = f"ebb::{self.row.op.cpp_name}({', '.join(passed)})" if self.row.op else ""
        many = self.row.op is not None and len(self.row.op.results) > 1
        return f"std::get<0>({call})" if many else call

    def _passed(self, option: Option) -> str:
        value = self.kept(option.name)
        if option.if_none:
            value = f"{value}.value_or({self.kept(option.if_none)})"
        is_number = option.type.startswith("int[]") and self.row.name.endswith("1d")
        return f"Shape{{{value}}}" if is_number else value

    @property
    def example_arguments(self) -> str:
        """The constructor's arguments of the example."""
        given = (self.row.example or {}).get("options", {})
        positional = list(self.members)
        while positional and positional[-1].name not in given:
            positional.pop()
        texts = [
            cpp_value(one, given[one.name]) if one.name in given else self.default(one)
            for one in positional
        ]
        named = [one for one in self.defaulted if self.struct and one.name in given]
        if named:
            fields = ", ".join(f".{one.name} = {cpp_value(one, given[one.name])}" for one in named)
            texts.append(f"{{{fields}}}")
        return ", ".join(texts)

    @property
    def example_buffers(self) -> int:
        """How many tensors the example gives as options."""
        given = (self.row.example or {}).get("options", {})
        return sum(name in given for name, _ in self.buffers)

    @property
    def example_inputs(self) -> str:
        """The tensors of the example."""
        return ", ".join(cpp_tensor(one) for one in (self.row.example or {})["inputs"])

    @property
    def example_out(self) -> str:
        """The result of the example."""
        return cpp_tensor((self.row.example or {})["out"])


def has_pair(kind: str) -> bool:
    """Whether a type of C++ is made of those of ebb/nn/pair.h."""
    return "Pair" in kind or "Triple" in kind


def cpp_value(option: Option, value: Any) -> str:
    """A value of an example in C++."""
    if option.type == "Reduction":
        return f"kernels::Reduction::{value}"
    if isinstance(value, list) and option.type == "Tensor?":
        return cpp_tensor(value)
    if isinstance(value, list):
        name = {2: "Pair", 3: "Triple"}[len(value)]
        return f"{name}({', '.join(map(str, value))})"
    return json.dumps(value)


def cpp_tensor(values: Any) -> str:
    """A tensor of an example: of classes if it holds integers, else of float32."""
    found = flat(values)
    kind = "integers" if isinstance(found[0], int) else "floats"
    sizes, numbers = ", ".join(map(str, shape(values))), ", ".join(map(str, found))
    return f"{kind}(Shape{{{sizes}}}, {{{numbers}}})"
