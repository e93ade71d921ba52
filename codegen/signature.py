# codegen/signature.py -- parses `name.overload(Type name=default, *, ...) -> Type name`.
#
# The grammar is PyTorch's, cut down. Every type knows how C++ passes, stores and defaults it, so
# that the templates never spell a type out. Start reading at parse_signature().
"""Signatures of ops: names, parameters, types and results."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass


class SchemaError(Exception):
    """A mistake in the op table; the text names file, line and op."""


@dataclass(frozen=True)
class ParamType:
    """A type of the table and how C++ passes, returns and keeps it."""

    name: str
    argument: str  # how C++ takes it
    stored: str  # how a node keeps it by value; empty if it is kept in another way
    python: str  # the annotation in the stub

    @property
    def is_tensor(self) -> bool:
        """One tensor, perhaps optional."""
        return self.name in ("Tensor", "Tensor?")

    @property
    def is_tensor_list(self) -> bool:
        """A list of tensors."""
        return self.name == "Tensor[]"

    @property
    def is_optional(self) -> bool:
        """Whether None stands for "not given"."""
        return self.name.endswith("?")


TYPES = {
    kind.name: kind
    for kind in (
        ParamType("Tensor", "const Tensor&", "", "Tensor"),
        ParamType("Tensor?", "const Tensor&", "", "Tensor | None"),
        ParamType("Tensor[]", "std::span<const Tensor>", "", "Sequence[Tensor]"),
        ParamType("Scalar", "const Scalar&", "Scalar", "_Number"),
        ParamType("Scalar?", "std::optional<Scalar>", "std::optional<Scalar>", "_Number | None"),
        ParamType("int", "int64_t", "int64_t", "int"),
        ParamType("int?", "std::optional<int64_t>", "std::optional<int64_t>", "int | None"),
        ParamType("int[]", "IntSpan", "", "int | Sequence[int]"),
        ParamType("int[]?", "std::optional<IntSpan>", "", "int | Sequence[int] | None"),
        ParamType("bool", "bool", "bool", "bool"),
        ParamType("bool?", "std::optional<bool>", "std::optional<bool>", "bool | None"),
        ParamType("float", "double", "double", "float"),
        ParamType("float?", "std::optional<double>", "std::optional<double>", "float | None"),
        ParamType("str", "std::string_view", "std::string", "str"),
        ParamType(
            "str?", "std::optional<std::string_view>", "std::optional<std::string>", "str | None"
        ),
        ParamType("dtype", "DType", "DType", "dtype"),
        ParamType("dtype?", "std::optional<DType>", "std::optional<DType>", "dtype | None"),
        ParamType("device", "Device", "Device", "device | str"),
        ParamType(
            "device?", "std::optional<Device>", "std::optional<Device>", "device | str | None"
        ),
        ParamType("Reduction", "kernels::Reduction", "kernels::Reduction", "str"),
    )
}


@dataclass(frozen=True)
class Param:
    """One parameter, in the order of the signature."""

    type: ParamType
    name: str
    default: str | None = None  # as written in the table: a Python literal
    keyword_only: bool = False

    @property
    def cpp_default(self) -> str | None:
        """The default as a C++ expression, or None."""
        if self.default is None:
            return None
        if self.default == "None":
            return "{}" if self.type.is_tensor else "std::nullopt"
        if self.type.name == "Reduction":
            return f"kernels::Reduction::{self.default}"
        if self.type.name == "dtype":
            return f"DType::{self.default}"
        if self.type.name.startswith("str"):
            return json.dumps(ast.literal_eval(self.default))
        if self.type.name.startswith("int[]"):
            return self._cpp_ints()
        return {"True": "true", "False": "false"}.get(self.default, self.default)

    @property
    def default_ints(self) -> list[int]:
        """The default list of an `int[]`; one number stands for a list of it."""
        value = ast.literal_eval(self.default or "[]")
        return [value] if isinstance(value, int) else value

    def _cpp_ints(self) -> str:
        """A default list of ints, which outlives every call."""
        ints = ", ".join(map(str, self.default_ints))
        if not ints:
            return "IntSpan()"
        if "," not in ints:
            return f"IntSpan(&std::integral_constant<int64_t, {ints}>::value, 1)"
        return f"[] {{ static constexpr int64_t ints[] = {{{ints}}}; return IntSpan(ints); }}()"

    @property
    def python_default(self) -> str | None:
        """The default as it reads in Python, or None."""
        return (
            repr(self.default) if self.default and self.type.name == "Reduction" else self.default
        )


@dataclass(frozen=True)
class Result:
    """One result: a tensor, or a list of them."""

    name: str
    is_list: bool = False


@dataclass(frozen=True)
class Signature:
    """A parsed signature."""

    name: str
    overload: str
    params: tuple[Param, ...]
    results: tuple[Result, ...]

    @property
    def full_name(self) -> str:
        """`mul` or `mul.Scalar`, unique in the table."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


_SIGNATURE = re.compile(r"(\w+)(?:\.(\w+))?\((.*)\)\s*->\s*(.+)")
_PARAM = re.compile(r"([A-Za-z]+(?:\[\])?\??)\s+(\w+)(?:=(.+))?")
_RESULT = re.compile(r"Tensor(\[\])?\s+(\w+)")


def parse_signature(text: str) -> Signature:
    """Parse a signature; a mistake raises SchemaError without a place."""
    match = _SIGNATURE.fullmatch(text.strip())
    if not match:
        raise SchemaError(f"op: needs `name(Type name, ...) -> Tensor name`, got `{text}`")
    name, overload, params, results = match.groups()
    return Signature(name, overload or "", parse_params(params), _parse_results(results))


def parse_params(text: str) -> tuple[Param, ...]:
    """Parse `Type name=default, *, ...`; a mistake raises SchemaError without a place."""
    params: list[Param] = []
    keyword_only = False
    for piece in split(text):
        if piece == "*":
            keyword_only = True
            continue
        params.append(_parse_param(piece, keyword_only))
    names = [param.name for param in params]
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"op: needs different parameter names, got `{name}` twice")
    return tuple(params)


def _parse_param(piece: str, keyword_only: bool) -> Param:
    match = _PARAM.fullmatch(piece)
    if not match or match[1] not in TYPES:
        known = ", ".join(TYPES)
        raise SchemaError(f"op: needs parameters `Type name[=default]` of {known}; got `{piece}`")
    if match[2] in ("grad_out", "grads", "filled_grads", "tangent", "index_in_list"):
        raise SchemaError(f"op: needs a parameter name that formulas do not use, got `{match[2]}`")
    if match[1].startswith("str") and match[3] not in (None, "None"):
        _check_text(piece, match[3])
    return Param(TYPES[match[1]], match[2], match[3], keyword_only)


def _check_text(piece: str, default: str) -> None:
    """Refuse a default of a str that is no Python literal."""
    if not re.fullmatch(r"'[\w -]*'", default):
        raise SchemaError(f"op: needs a default in single quotes for a str, got `{piece}`")


def _parse_results(text: str) -> tuple[Result, ...]:
    inner = text.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    results = []
    for piece in split(inner):
        match = _RESULT.fullmatch(piece)
        if not match:
            raise SchemaError(f"op: needs results `Tensor name` or `Tensor[] name`, got `{piece}`")
        results.append(Result(match[2], bool(match[1])))
    if not results:
        raise SchemaError("op: needs at least one result, got none")
    return tuple(results)


def split(text: str) -> list[str]:
    """Split at commas that are outside brackets."""
    pieces, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            pieces.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*pieces, last] if last else pieces
