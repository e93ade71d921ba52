# python/ebb/autograd/saved_hooks.py -- context managers that decide what is kept for backward.
#
# The stack of hooks and the rules are compiled (python/src/autograd/saved_hooks.cpp); here are the
# hooks that the library comes with.
"""Hooks for tensors that are saved for backward; public as ``ebb.autograd.graph``."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable


class saved_tensors_hooks:  # noqa: N801
    """Context manager: what is saved for backward inside goes through a pair of functions.

    Each saved tensor is given to ``pack_hook`` once, when it is saved; what that returns is kept
    instead. Whenever the value is needed, ``unpack_hook`` gets it back and returns a tensor of the
    same shape, dtype and device. Both run without recording; history is taken care of. Nested
    pairs compose: a pair further out gets what the inner ``pack_hook`` returned, if it is a tensor.

    Args:
        pack_hook: From a detached tensor, which it must not write to, to any object.
        unpack_hook: From that object to a tensor.
    Raises:
        RuntimeError: On entering inside ``disable_saved_tensors_hooks``.
    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> with ebb.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), ebb.tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad.item()
        6.0
    """

    def __init__(self, pack_hook: Callable[[_C.Tensor], Any],
                 unpack_hook: Callable[[Any], _C.Tensor]) -> None:  # fmt: skip
        check_callable(pack_hook, unpack_hook)
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error: object) -> None:
        _C._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Context manager: tensors saved for backward inside are kept in the CPU's memory.

    Each goes back to its device when it is needed. A tensor that is on the CPU already is copied.

    Args:
        pin_memory: Keep them in memory from which they go back while the program goes on; see
            Tensor.pin_memory().
        device_type: Accepted as in PyTorch; every device is served.

    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> with ebb.autograd.graph.save_on_cpu():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor([6.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(_to_pinned if pin_memory else _to_cpu, _to_device)


def _to_cpu(value: _C.Tensor) -> tuple[_C.device, _C.Tensor]:
    copy = value.to("cpu")
    return value.device, value.clone() if copy.data_ptr() == value.data_ptr() else copy


def _to_pinned(value: _C.Tensor) -> tuple[_C.device, _C.Tensor]:
    device, copy = _to_cpu(value)
    return device, copy.pin_memory()


def _to_device(packed: tuple[_C.device, _C.Tensor]) -> _C.Tensor:
    device, copy = packed
    return copy.to(device, non_blocking=True)  # nobody else has it, so nobody writes to it


class save_on_disk(saved_tensors_hooks):  # noqa: N801
    """Context manager: tensors saved for backward inside are kept in temporary files.

    A file is removed when the graph lets go of its tensor, or at the end of the process.

    Args:
        folder: Where to put the files (default: where temporary files go).
    Raises:
        OSError: From the operation that saves, if a file cannot be written.
    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> with ebb.autograd.graph.save_on_disk():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor([6.])
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        super().__init__(lambda value: _File(value, folder), _File.load)


class _File:
    """A saved tensor in a file of its own."""

    def __init__(self, value: _C.Tensor, folder: str | os.PathLike[str] | None) -> None:
        import tempfile  # with shutil and all compressions: seldom needed

        from ebb.io import save

        handle, self.path = tempfile.mkstemp(prefix="ebb-saved-", suffix=".safetensors", dir=folder)
        os.close(handle)
        # A forked child that ends must not take its parent's files away.
        self._remove = weakref.finalize(self, _remove, self.path, os.getpid())
        self.device = value.device
        save({"value": value}, self.path)

    def load(self) -> _C.Tensor:
        from ebb.io import load

        return load(self.path)["value"].to(self.device)


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager: installing saved-tensor hooks inside raises ``error_message``.

    Raises:
        RuntimeError: With ``error_message`` on entering hooks inside; on entering this, if hooks
            are installed already.

    Example:
        >>> with ebb.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     with ebb.autograd.graph.save_on_cpu():
        ...         pass
        Traceback (most recent call last):
            ...
        ebb.errors.AutogradError: not here
    """
    guard = _C._disable_saved_hooks(error_message)
    try:
        yield
    finally:
        del guard


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Context manager: what is saved inside may be written in place, then and later.

    A saved tensor is copied just before its memory is first written, once however many operations
    saved it, so that backward sees the values of the forward pass.

    Raises:
        RuntimeError: Inside another such context.
    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> with ebb.autograd.graph.allow_mutation_on_saved_tensors():
        ...     a = x.clone()
        ...     y = a * a
        ...     _ = a.mul_(10.0)
        >>> y.backward()
        >>> x.grad.item()
        6.0
    """
    guard = _C._allow_mutation()
    try:
        yield
    finally:
        del guard


def saved_bytes(roots: Any) -> int:
    """Bytes of memory that the graph behind some tensors or nodes keeps for backward.

    Memory that several saved tensors share counts once. Of what hooks packed, tensors count, and
    those in a tuple or list.

    Args:
        roots: A Tensor, a Node, or a sequence of them.

    Example:
        >>> x = ebb.ones(100, requires_grad=True)
        >>> ebb.autograd.graph.saved_bytes(x.exp())
        400
    """
    return _C._saved_bytes(roots)
