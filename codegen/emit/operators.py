# codegen/emit/operators.py -- the operators of Tensor: ebb/autograd/operators.h for C++, and
# python/operators.cpp with the slots of Python's type.
"""Emitter of operators."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.cpp import environment, op_header
from codegen.model import Family, Op
from codegen.operators import SYMBOLS, Symbol
from codegen.signature import Param, SchemaError

# What a use is called by the types of its operands.
SIDES = {
    ("Tensor",): "alone",
    ("Tensor", "Tensor"): "both",
    ("Tensor", "Scalar"): "right",
    ("Scalar", "Tensor"): "left",
}


@dataclass
class Side:
    """An op under an operator, for operands of given types."""

    op: Op
    operands: list[Param]  # in the order of the expression

    @property
    def parameters(self) -> str:
        """The operands as C++ parameters."""
        return ", ".join(f"{param.type.argument} {param.name}" for param in self.operands)

    @property
    def arguments(self) -> str:
        """The operands in the order of the op."""
        return ", ".join(param.name for param in self.op.params)

    @property
    def writes(self) -> bool:
        """Whether the operator also stands before an equals sign."""
        return self.op.has_inplace and self.operands[0] is self.op.params[0]

    @property
    def other(self) -> Param:
        """The operand that such a write reads."""
        return self.operands[-1]

    @property
    def weight(self) -> str:
        """The function that tells whether a call of two tensors is worth releasing the GIL."""
        return "is_heavy" if self.op.cost == "elements" else f"is_heavy_{self.op.cost}"


@dataclass
class Operator:
    """A symbol and its op for each kind of operands."""

    symbol: Symbol
    sides: dict[str, Side]

    @property
    def struct(self) -> str:
        """The C++ class."""
        return self.symbol.word.capitalize()

    @property
    def writes(self) -> bool:
        """Whether `x += y` writes x; else Python computes x + y."""
        is_value = self.symbol.kind == "comparison"
        return not is_value and "both" in self.sides and self.sides["both"].writes


def operators_of(families: list[Family]) -> list[Operator]:
    """All operators of the table in the order of SYMBOLS."""
    found = {symbol: Operator(symbol, {}) for symbol in SYMBOLS}
    for op in (op for family in families for op in family.ops):
        by_name = {param.name: param for param in op.params}
        for use in op.operators:
            operands = [by_name[name] for name in use.operands]
            side = SIDES[tuple(param.type.name for param in operands)]
            first = found[use.symbol].sides.setdefault(side, Side(op, operands))
            if first.op is not op:
                raise SchemaError(
                    f"{op.file}:{op.line}: {op.full_name}: `operator` "
                    f"`{use.symbol.text}` is {first.op.full_name} already"
                )
    return [operator for operator in found.values() if operator.sides]


def headers_of(operators: list[Operator]) -> list[str]:
    """What declares the ops of these."""
    return sorted({op_header(side.op.name) for one in operators for side in one.sides.values()})


def emit(families: list[Family]) -> dict[str, str]:
    """Both files, by path below the generated folder."""
    operators = operators_of(families)
    in_cpp = [operator for operator in operators if operator.symbol.in_cpp]
    env = environment()
    return {
        "ebb/autograd/operators.h": env.get_template("operators.h.j2").render(
            operators=in_cpp, headers=headers_of(in_cpp)
        ),
        "python/operators.cpp": env.get_template("python_operators.cpp.j2").render(
            operators=operators, headers=headers_of(operators)
        ),
    }
