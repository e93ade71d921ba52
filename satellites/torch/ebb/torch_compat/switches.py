# satellites/torch/ebb/torch_compat/switches.py -- options of PyTorch's compilers, kept and read
# back.
#
# `torch._inductor.config`, `torch._dynamo.config` and `torch._functorch.config` show this module:
# programs set options there at their top, and ebb compiles nothing. What is set stays in the view
# of the module; what was not set is a Switch, which is false and may hold further ones.
"""Any option, and functions of ``torch._C`` that set one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SETTERS = ("_jit_set_", "_jit_override_")  # of torch._C, for the compiler of torch.jit


class Switch:
    """An option that was not set: false; its attributes are options too.

    >>> from ebb.torch_compat import switches
    >>> config = switches.Switch()
    >>> config.triton.cudagraphs = True
    >>> config.triton.cudagraphs, bool(config.max_autotune)
    (True, False)
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = Switch()
        self.__dict__[name] = made
        return made

    def __bool__(self) -> bool:
        return False


@contextmanager
def patch(*args: Any, **options: Any) -> Iterator[None]:
    """Do nothing in a ``with`` block or a function: options change nothing."""
    del args, options
    yield


def setter_of(name: str) -> Any:
    """Return a function that takes and does nothing for ``torch._C._jit_set_*``, else None."""
    return _ignore if name.startswith(_SETTERS) else None


def _ignore(*args: Any) -> bool:
    del args
    return False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Switch()
