# codegen/operators.py -- the operators that the languages have, and which op each stands for.
#
# A row says `operator: input + other`: its expression over the op's own parameters. A row with a
# tensor and a number may have two, `[input + other, other + input]`.
"""Operators of Python and C++."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegen.signature import SchemaError


@dataclass(frozen=True)
class Symbol:
    """An operator of Python: its method and its slot in a type; and whether C++ has it."""

    text: str
    method: str
    slot: str
    kind: str = "binary"  # or unary, comparison, power (which Python may call with a modulus)
    in_cpp: bool = True

    @property
    def word(self) -> str:
        """What __add__, __radd__ and __iadd__ have in common."""
        return self.method.strip("_")


SYMBOLS = (
    Symbol("+", "__add__", "nb_add"),
    Symbol("-", "__sub__", "nb_subtract"),
    Symbol("*", "__mul__", "nb_multiply"),
    Symbol("/", "__truediv__", "nb_true_divide"),
    Symbol("@", "__matmul__", "nb_matrix_multiply", in_cpp=False),
    Symbol("//", "__floordiv__", "nb_floor_divide", in_cpp=False),
    Symbol("%", "__mod__", "nb_remainder"),
    Symbol("**", "__pow__", "nb_power", "power", in_cpp=False),
    # C++'s streams have these two.
    Symbol("<<", "__lshift__", "nb_lshift", in_cpp=False),
    Symbol(">>", "__rshift__", "nb_rshift", in_cpp=False),
    Symbol("&", "__and__", "nb_and"),
    Symbol("|", "__or__", "nb_or"),
    Symbol("^", "__xor__", "nb_xor"),
    Symbol("~x", "__invert__", "nb_invert", "unary"),
    Symbol("abs(x)", "__abs__", "nb_absolute", "unary", in_cpp=False),
    Symbol("-x", "__neg__", "nb_negative", "unary"),
    # C++'s containers and tests want a bool of these two.
    Symbol("==", "__eq__", "Py_EQ", "comparison", in_cpp=False),
    Symbol("!=", "__ne__", "Py_NE", "comparison", in_cpp=False),
    Symbol("<", "__lt__", "Py_LT", "comparison"),
    Symbol("<=", "__le__", "Py_LE", "comparison"),
    Symbol(">", "__gt__", "Py_GT", "comparison"),
    Symbol(">=", "__ge__", "Py_GE", "comparison"),
)
_BY_TEXT = {symbol.text: symbol for symbol in SYMBOLS}
_EXPRESSION = re.compile(r"(\w+) (\S+) (\w+)|([-~])(\w+)|(abs)\((\w+)\)")


@dataclass(frozen=True)
class OperatorUse:
    """One expression of a row: an operator and the parameters beside it."""

    symbol: Symbol
    operands: tuple[str, ...]


def parse_operator(text: str, names: tuple[str, ...]) -> OperatorUse:
    """Parse `input + other`, `-input` or `abs(input)` over all parameters of an op."""
    match = _EXPRESSION.fullmatch(text.strip())
    if not match:
        raise SchemaError(f"`operator` needs an expression as `input + other`, got `{text}`")
    lhs, binary, rhs, sign, signed, function, called = match.groups()
    shown = binary or (f"{sign}x" if sign else f"{function}(x)")
    operands = (lhs, rhs) if binary else (signed or called,)
    if shown not in _BY_TEXT:
        raise SchemaError(f"`operator` needs one of {', '.join(_BY_TEXT)}, got `{text}`")
    if sorted(operands) != sorted(names):
        raise SchemaError(f"`operator` needs each of {', '.join(names)} once, got `{text}`")
    return OperatorUse(_BY_TEXT[shown], operands)
