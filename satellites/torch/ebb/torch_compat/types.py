# satellites/torch/ebb/torch_compat/types.py -- torch.types: names that annotations of programs use.
"""What an argument may be: ``Device``, ``Number``, ``_size`` and ``_dtype``."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

import ebb
from ebb._C import Tensor as Tensor

Size = ebb.Size
SymInt, SymFloat, SymBool = ebb.SymInt, ebb.SymFloat, ebb.SymBool
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
Device = ebb.device | str | int | None
Number = int | float | bool
FileLike = Any
Storage = ebb.UntypedStorage
_int, _float, _bool = builtins.int, builtins.float, builtins.bool
_dtype, _device = ebb.dtype, ebb.device
_size = ebb.Size | list[int] | tuple[int, ...]
_TensorOrTensors = Tensor | tuple[Tensor, ...] | list[Tensor]
MapLocation = Callable[[ebb.UntypedStorage, str], ebb.UntypedStorage] | Device | dict[str, str]
ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
CollateFn = Callable[[list[Any]], Any]
