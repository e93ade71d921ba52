# satellites/torch/ebb/distributed.py -- ebb.distributed: the names of torch.distributed, for one
# process.
"""``ebb.distributed``: there is one process, of rank 0.

``is_available()`` is False, so that programs for one process or many run as one. A launcher that
started several is told once, by a warning: each would train the whole.

>>> ebb.distributed.is_available(), ebb.distributed.get_rank(), ebb.distributed.get_world_size()
(False, 0, 1)
"""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Callable
from typing import Any

from ebb import _C

__all__ = [
    "Backend",
    "ReduceOp",
    "destroy_process_group",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
]


# May be imported and passed on; refuse when they are called.
_COLLECTIVES = (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list",
    "gather", "gather_object", "get_backend", "get_global_rank", "get_group_rank",
    "get_process_group_ranks", "irecv", "isend", "monitored_barrier", "new_group",
    "new_subgroups", "recv", "recv_object_list", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
)  # fmt: skip
_PARTS = ("fsdp", "optim", "rpc", "tensor")  # packages of PyTorch's


def _note_launcher(name: str) -> None:
    """Warn once where a launcher started this process as one of several."""
    global _is_told
    if _is_told:
        return
    for size, rank in _OF_LAUNCHERS:
        count = os.environ.get(size, "")
        if count.isdigit() and int(count) > 1:
            _is_told = True
            warnings.warn(
                f"distributed.{name}: ebb runs in one process, but a launcher set {size}={count} "
                f"and {rank}={os.environ.get(rank, '?')}: each of the {count} processes does the "
                "whole work as rank 0 of 1\nhint: run without a launcher",
                RuntimeWarning,
                stacklevel=3,
            )
            return


# What launchers set: torchrun and its like, Open MPI, other MPIs.
_OF_LAUNCHERS = (
    ("WORLD_SIZE", "RANK"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
)
_is_told = False


class Backend(str):
    """The name of what processes would speak by, in small letters.

    Args:
        name: Such as "gloo".
    Raises:
        ValueError: If it is no text.
    Example:
        >>> ebb.distributed.Backend("GLOO") == ebb.distributed.Backend.GLOO
        True
    """

    __slots__ = ()

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    XCCL = "xccl"
    UCC = "ucc"
    MPI = "mpi"

    def __new__(cls, name: str) -> Backend:
        """Return the name in small letters."""
        if not isinstance(name, str):
            raise _C.ValueError(f"Backend: needs a text, got {type(name).__name__}")
        return super().__new__(cls, name.lower())


class ReduceOp(enum.Enum):
    """How values of several processes would be joined.

    Example:
        >>> ebb.distributed.ReduceOp.SUM.name
        'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4


def is_available() -> bool:
    """Return False: ebb runs in one process.

    Example:
        >>> ebb.distributed.is_available()
        False
    """
    _note_launcher("is_available")
    return False


def is_initialized() -> bool:
    """Return False.

    Example:
        >>> ebb.distributed.is_initialized()
        False
    """
    _note_launcher("is_initialized")
    return False


def is_nccl_available() -> bool:
    """Return False.

    Example:
        >>> ebb.distributed.is_nccl_available()
        False
    """
    return False


def is_gloo_available() -> bool:
    """Return False.

    Example:
        >>> ebb.distributed.is_gloo_available()
        False
    """
    return False


def is_mpi_available() -> bool:
    """Return False.

    Example:
        >>> ebb.distributed.is_mpi_available()
        False
    """
    return False


def is_torchelastic_launched() -> bool:
    """Return False.

    Example:
        >>> ebb.distributed.is_torchelastic_launched()
        False
    """
    _note_launcher("is_torchelastic_launched")
    return False


def get_rank(group: Any = None) -> int:
    """Return 0.

    Example:
        >>> if ebb.distributed.get_rank() == 0:
        ...     print("the first process, which prints")
        the first process, which prints
    """
    _note_launcher("get_rank")
    del group
    return 0


def get_world_size(group: Any = None) -> int:
    """Return 1.

    Example:
        >>> ebb.distributed.get_world_size()
        1
    """
    _note_launcher("get_world_size")
    del group
    return 1


def init_process_group(*args: Any, **kwargs: Any) -> None:
    """Refuse: there are no other processes to speak to.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> if ebb.distributed.is_available():
        ...     ebb.distributed.init_process_group("gloo")
        >>> ebb.distributed.init_process_group("gloo")
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: distributed.init_process_group: ebb runs in one process
        hint: ask distributed.is_available() first, or run without a launcher
    """
    _note_launcher("init_process_group")
    raise _C.NotImplementedError(_refusal("init_process_group"))


def destroy_process_group(group: Any = None) -> None:
    """Do nothing: there is no group.

    Example:
        >>> ebb.distributed.destroy_process_group()
    """
    del group


def _refusal(name: str) -> str:
    return (
        f"distributed.{name}: ebb runs in one process\n"
        "hint: ask distributed.is_available() first, or run without a launcher"
    )


def _collective(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        _note_launcher(name)
        raise _C.NotImplementedError(_refusal(name))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refuse: there is one process.\n\nRaises:\n    NotImplementedError: Always.\n"
    return refuse


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name in _PARTS:
        raise AttributeError(f"module 'ebb.distributed' has no attribute {name!r}")
    if name in _COLLECTIVES:
        return _collective(name)
    raise AttributeError(_refusal(name))
