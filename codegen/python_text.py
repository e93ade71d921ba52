# codegen/python_text.py -- how a parameter reads in a Python signature and converts in C++.
"""Text of Python parameters and signatures."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# C++ types by kind.
TYPES = {
    "tensor": "Tensor&",
    "tensor_list": "std::vector<Tensor>",
    "scalar": "Scalar",
    "integer": "int64_t",
    "int_list": "IntList",
    "boolean": "bool",
    "floating": "double",
    "text": "std::string_view",
    "dtype": "DType",
    "device": "Device",
    "reduction": "kernels::Reduction",
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
    none_is_default: bool = False  # None stands for C++'s default
    spellings: tuple[str, ...] = ()  # more keywords that it goes by
    has_slot: bool = True  # else it is looked at by name, behind all that have one
    is_ignored: bool = False  # taken from programs written for PyTorch, and changes nothing

    @property
    def flags(self) -> str:
        """The parameter's flags in C++."""
        names = [
            name
            for name, is_set in (
                ("kHasDefault", self.default is not None),
                ("kKeywordOnly", self.keyword_only),
                ("kNoneAllowed", self.may_be_none or self.none_is_default),
                ("kVarArgs", self.varargs),
            )
            if is_set
        ]
        return " | ".join(names) or "0"

    @property
    def is_optional(self) -> bool:
        """Whether C++ takes it as std::optional; an undefined tensor stands for none."""
        return self.may_be_none and self.kind != "tensor"

    @property
    def cpp_type(self) -> str:
        """The type of the constant that C++ makes of it."""
        return f"std::optional<{TYPES[self.kind]}>" if self.is_optional else TYPES[self.kind]

    @property
    def getter(self) -> str:
        """The member of Arguments that converts it."""
        return f"optional_{self.kind}" if self.is_optional else self.kind

    @property
    def has_fallback(self) -> bool:
        """Whether C++ writes its default, which the getter does not know."""
        if self.is_optional and (self.default == "None" or self.kind == "int_list"):
            return False
        return self.default is not None and self.kind != "tensor"

    @property
    def fallback(self) -> str:
        """Its default in C++."""
        if self.kind == "int_list":
            return f"{{{self.default.strip('[]')}}}"
        return self.cpp_default

    def shown(self) -> str:
        """As it stands in a text signature."""
        if self.varargs:
            return f"*{self.name}"
        return self.name if self.default is None else f"{self.name}={self.default}"


def merged_signature(overloads: list[list[Argument]]) -> list[Argument]:
    """One list of parameters for all overloads; what only some have or need gets a default."""
    merged: dict[str, Argument] = {}
    for overload in overloads:
        for argument in overload:
            known = merged.setdefault(argument.name, argument)
            if known.default is None and argument.default == "None":
                merged[argument.name] = argument
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
    takes_none = argument.default == "None" or argument.none_is_default
    if takes_none and "None" not in annotation:
        annotation += " | None"
    # Tensor has methods and attributes of these names.
    annotation = re.sub(r"(?<![\w.])(bool|int|float)\b", r"builtins.\1", annotation)
    annotation = re.sub(r"\b(dtype|device)\b", r"_\1", annotation)
    text = f"{argument.name}: {annotation}"
    return text if argument.default is None else f"{text} = {argument.default}"
