# codegen/python_text.py -- how a parameter reads in a Python signature and converts in C++.
"""Text of Python parameters and signatures."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# C++ type and getter by kind; `optional_` is put before the getter of what may be None.
GETTERS = {
    "tensor": ("const Tensor&", "tensor"),
    "tensor_list": ("const std::vector<Tensor>", "tensor_list"),
    "scalar": ("const Scalar", "scalar"),
    "integer": ("const int64_t", "integer"),
    "int_list": ("const IntList", "int_list"),
    "boolean": ("const bool", "boolean"),
    "floating": ("const double", "floating"),
    "text": ("const std::string_view", "text"),
    "dtype": ("const DType", "dtype"),
    "device": ("const Device", "device"),
    "reduction": ("const kernels::Reduction", "reduction"),
}
OPTIONAL_TYPES = {
    "scalar": "Scalar",
    "integer": "int64_t",
    "int_list": "IntList",
    "boolean": "bool",
    "floating": "double",
    "text": "std::string_view",
    "dtype": "DType",
    "device": "Device",
}


@dataclass(frozen=True)
class Argument:
    """One parameter of a Python function."""

    name: str
    kind: str
    default: str | None  # a Python literal
    keyword_only: bool
    may_be_none: bool
    varargs: bool
    annotation: str
    cpp_default: str | None
    absent: str = "None"  # the default to show where other overloads lack it

    @property
    def flags(self) -> str:
        """The parameter's flags in C++."""
        names = [
            name
            for name, is_set in (
                ("kHasDefault", self.default is not None),
                ("kKeywordOnly", self.keyword_only),
                ("kNoneAllowed", self.may_be_none),
                ("kVarArgs", self.varargs),
            )
            if is_set
        ]
        return " | ".join(names) or "0"

    def declaration(self, index: int) -> str:
        """A C++ constant of this name, made from slot `index`."""
        if self.may_be_none and self.kind != "tensor":
            wanted = OPTIONAL_TYPES[self.kind]
            value = f"arguments.optional_{self.kind}({index})"
            if self.default not in (None, "None") and self.kind != "int_list":
                # None is not the same as no argument.
                fallback = f"std::optional<{wanted}>({self.cpp_default})"
                value = f"arguments.object({index}) == nullptr ? {fallback} : {value}"
            return f"const std::optional<{wanted}> {self.name} = {value};"
        wanted, getter = GETTERS[self.kind]
        value = f"arguments.{getter}({index})"
        if self.default is not None and self.kind != "tensor":
            fallback = self._default_list() if self.kind == "int_list" else self.cpp_default
            bare = wanted.removeprefix("const ")
            value = f"arguments.given({index}) ? {value} : {bare}({fallback})"
        return f"{wanted} {self.name} = {value};"

    def _default_list(self) -> str:
        return f"IntList({self.default if self.default.isdigit() else ''})"

    def passed(self) -> str:
        """How the constant is passed on."""
        if self.kind == "int_list" and self.may_be_none:
            return f"{self.name} ? std::optional<IntSpan>(*{self.name}) : std::nullopt"
        return self.name

    def shown(self) -> str:
        """As it stands in a text signature."""
        if self.varargs:
            return f"*{self.name}"
        return self.name if self.default is None else f"{self.name}={self.default}"


def merged_signature(overloads: list[list[Argument]]) -> list[Argument]:
    """One list of parameters for all overloads; what only some have gets a default."""
    merged: dict[str, Argument] = {}
    for overload in overloads:
        for argument in overload:
            merged.setdefault(argument.name, argument)
    everywhere = {
        name
        for name in merged
        if all(any(one.name == name for one in overload) for overload in overloads)
    }
    positional, keywords = [], []
    for argument in merged.values():
        if argument.name not in everywhere and argument.default is None:
            argument = replace(argument, default=argument.absent)
        (keywords if argument.keyword_only else positional).append(argument)
    # Python wants parameters with a default behind those without.
    first_default = next((i for i, one in enumerate(positional) if one.default is not None), None)
    if first_default is not None:
        positional[first_default:] = [
            one if one.default is not None else replace(one, default="None")
            for one in positional[first_default:]
        ]
    return positional + keywords


def signature_text(arguments: list[Argument], first: str) -> str:
    """`$module, input, other, *, out=None`."""
    parts = [first] if first else []
    seen_keyword = False
    for argument in arguments:
        if argument.keyword_only and not seen_keyword:
            parts.append("*")
        seen_keyword |= argument.keyword_only or argument.varargs
        parts.append(argument.shown())
    return ", ".join(parts)


def stub_parameter(argument: Argument) -> str:
    """One annotated parameter of the stub."""
    if argument.varargs:
        return f"*{argument.name}: builtins.int | Sequence[builtins.int]"
    annotation = argument.annotation
    if argument.default == "None" and "None" not in annotation:
        annotation += " | None"
    # Tensor has methods and attributes of these names.
    annotation = re.sub(r"(?<![\w.])(bool|int|float)\b", r"builtins.\1", annotation)
    annotation = re.sub(r"\b(dtype|device)\b", r"_\1", annotation)
    text = f"{argument.name}: {annotation}"
    return text if argument.default is None else f"{text} = {argument.default}"
