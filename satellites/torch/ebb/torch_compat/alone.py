# satellites/torch/ebb/torch_compat/alone.py -- PyTorch's packages for several processes: rpc, fsdp,
# ...
#
# Libraries import from them at their top, derive from their classes, decorate with their functions
# and ask whether a model is of one, also where they run in one process. So any name is there: one
# that begins large is a class that refuses to be made, any other a function that refuses its call.
"""Any name of ``torch.distributed.fsdp`` and its like, refusing."""

from __future__ import annotations

import functools
import types
from typing import Any, NoReturn

from ebb import _C
from ebb.torch_compat import absent

__all__: list[str] = []
_ROOT = "torch.distributed."
ROOMS = ("_composable", "_functional_collectives", "_shard", "_tensor", "algorithms", "autograd",
         "checkpoint", "elastic", "fsdp", "launcher", "pipelining", "rpc", "run", "tensor",
         "utils")  # fmt: skip


def holds(module: str) -> bool:
    """Return whether a module of PyTorch's is one of these packages, or in one.

    >>> from ebb.torch_compat import alone
    >>> alone.holds("torch.distributed.fsdp.wrap"), alone.holds("torch.distributed.nn")
    (True, False)
    """
    return module.startswith(_ROOT) and module[len(_ROOT) :].partition(".")[0] in ROOMS


def is_available() -> bool:
    """Return False, as ``torch.distributed.is_available``.

    >>> from ebb.torch_compat import alone
    >>> alone.is_available()
    False
    """
    return False


class RefusingFunction:
    """A function, or a file of functions, of several processes.

    >>> from ebb.torch_compat import alone
    >>> @alone.functions.async_execution
    ... def step():
    ...     pass
    >>> try:
    ...     step()
    ... except NotImplementedError as error:
    ...     print(str(error).splitlines()[0])
    async_execution: ebb runs in one process
    """

    def __init__(self, name: str):
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        return _made(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse; of a function that it decorates, the call is refused."""
        if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType):
            return functools.wraps(args[0])(functools.partial(self._refuse))
        self._refuse()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _C.NotImplementedError(f"{self.__name__}: {absent.ALONE}")


@functools.cache
def _made(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    known = getattr(absent, name, None)
    if known is not None:
        return known
    if name.lstrip("_")[:1].isupper():
        return absent.refusing(name, absent.ALONE)
    return RefusingFunction(name)


__getattr__ = _made
