# satellites/torch/ebb/_beside/torch_calls.py -- calls as PyTorch puts them: places of the seam.
#
# ebb imports this when a place of its seam (ebb/_base/seam.py) is first asked, so it holds without
# `import ebb.torch_compat` too: classes with __torch_function__ are asked about the functions that
# PyTorch asks for, and PyTorch's older order of arguments is understood, numbers in front of what
# they scale: add(input, alpha, other), addcmul(input, value, tensor1, tensor2) and
# addmm(beta, input, alpha, mat1, mat2). Start reading at as_pytorch() and in_order().
"""Fills ``spell_call`` and ``order_arguments``."""

from __future__ import annotations

import functools
import types as _types
from typing import Any

from ebb._base import seam
from ebb._C import Tensor

# Operators whose method PyTorch names when it asks a class.
_METHODS = {"truediv": "div", "mod": "remainder", "floordiv": "floor_divide", "pos": "positive"}
_NAMED = ("add", "sub", "mul", "truediv", "mod", "matmul", "lt", "le", "gt", "ge", "ne", "neg",
          "abs", "pos")  # fmt: skip
_IN_PLACE = ("add", "sub", "mul", "truediv", "floordiv", "mod")
_REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
              "xor", "lshift", "rshift")  # fmt: skip


@functools.cache
def _spellings() -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """By operator: its method; that of reflected ones for two tensors, and for a number."""
    own = vars(Tensor)
    methods = {own[f"__{name}__"]: own[_METHODS.get(name, name)] for name in _NAMED}
    methods |= {own[f"__i{name}__"]: own[f"{_METHODS.get(name, name)}_"] for name in _IN_PLACE}
    swapped = {own[f"__r{name}__"]: own[f"__{name}__"] for name in _REFLECTED}
    numbers = {own[f"__r{name}__"]: own[name] for name in ("add", "mul")}
    numbers |= {own[f"__r{name}__"]: own[f"bitwise_{name}"] for name in ("and", "or", "xor")}
    return methods, swapped, numbers


def as_pytorch(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """A call as PyTorch would put it: ``Tensor.add`` for ``+``, the left operand first."""
    methods, swapped, numbers = _spellings()
    if not isinstance(function, _types.WrapperDescriptorType):
        return function, args
    if function in swapped and isinstance(args[1], Tensor):
        function, args = swapped[function], (args[1], args[0])
    function = numbers.get(function, function)
    if function is vars(Tensor)["__eq__"] and not any(
        isinstance(one, Tensor) and type(one) is not Tensor for one in args
    ):
        function = vars(Tensor)["eq"]
    return methods.get(function, function), args


def in_order(
    numbers: tuple[str, ...], is_method: bool, args: tuple[Any, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The tensors of a call in their order, and the numbers among them by name; else None."""
    factors = [one for one in args if isinstance(one, (int, float))]
    tensors = tuple(one for one in args if isinstance(one, Tensor))
    if not factors or not tensors or len(factors) > len(numbers):
        return None
    if len(factors) + len(tensors) < len(args) or isinstance(args[-1], (int, float)):
        return None  # a number behind all tensors is none of these
    # A single factor follows the input, beta precedes it.
    begins = is_method or isinstance(args[0], (int, float))
    if begins != (is_method or len(numbers) > 1):
        return None
    return tensors, dict(zip(numbers, factors, strict=False))


seam.fill("spell_call", as_pytorch)
seam.fill("order_arguments", in_order)
