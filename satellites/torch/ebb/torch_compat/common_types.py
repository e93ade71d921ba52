# satellites/torch/ebb/torch_compat/common_types.py -- torch.nn.common_types: what annotations of
# layers use.
"""Sizes such as ``_size_2_t``, and ``BroadcastingList2`` of ``torch._jit_internal``."""

from __future__ import annotations

from typing import Any

from ebb._C import Tensor

_size_any_t = int | tuple[int, ...]
_size_1_t = int | tuple[int]
_size_2_t = int | tuple[int, int]
_size_3_t = int | tuple[int, int, int]
_size_4_t = int | tuple[int, int, int, int]
_size_5_t = int | tuple[int, int, int, int, int]
_size_6_t = int | tuple[int, int, int, int, int, int]

_size_any_opt_t = int | None | tuple[int | None, ...]
_size_2_opt_t = int | None | tuple[int | None, int | None]
_size_3_opt_t = int | None | tuple[int | None, int | None, int | None]

_ratio_any_t = float | tuple[float, ...]
_ratio_2_t = float | tuple[float, float]
_ratio_3_t = float | tuple[float, float, float]

_tensor_list_t = Tensor | tuple[Tensor, ...]
_maybe_indices_t = Tensor | tuple[Tensor, Tensor]


class _Broadcasting:
    """What compilers read as a number, or as many of them: ``BroadcastingList2[int]``."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return kind | list[kind]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _Broadcasting
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = _Broadcasting
