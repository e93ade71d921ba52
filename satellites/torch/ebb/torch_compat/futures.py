# satellites/torch/ebb/torch_compat/futures.py -- torch.futures: results that another thread may
# give later.
"""``Future``, ``collect_all`` and ``wait_all``, over those of ``concurrent.futures``."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value that is there once ``set_result`` was called.

    Example:
        >>> from ebb.torch_compat.futures import Future
        >>> later = Future()
        >>> twice = later.then(lambda done: 2 * done.value())
        >>> later.set_result(3)
        >>> twice.wait()
        6
    """

    def __init__(self, *, devices: Any = None):
        del devices
        self._held: concurrent.futures.Future[T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Return whether there is a value or an error."""
        return self._held.done()

    def wait(self) -> T:
        """Return the value when it is there; raises the error that was set."""
        return self._held.result()

    def value(self) -> T:
        """Return the value, which must be there."""
        if not self.done():
            raise RuntimeError(
                "Future.value: needs a result, got none yet\nhint: wait() waits for it"
            )
        return self._held.result()

    def set_result(self, result: T) -> None:
        """Give the value, once."""
        self._once("set_result", self._held.set_result, result)

    def set_exception(self, result: BaseException) -> None:
        """Give an error, which ``wait`` raises."""
        if not isinstance(result, BaseException):
            raise TypeError(f"Future.set_exception: needs an error, got {type(result).__name__}")
        self._once("set_exception", self._held.set_exception, result)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Return a future of what ``callback`` makes of this one."""
        made: Future[Any] = Future()

        def follow(_: Any) -> None:
            try:
                made.set_result(callback(self))
            except BaseException as error:
                made.set_exception(error)

        self._held.add_done_callback(follow)
        return made

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call ``callback`` with this when there is a value or an error."""
        self._held.add_done_callback(lambda _: callback(self))

    def _once(self, name: str, give: Callable[[Any], None], what: Any) -> None:
        try:
            give(what)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError(f"Future.{name}: needs a future without a result, got one") from None


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of all ``futures``, when each is done.

    Example:
        >>> from ebb.torch_compat.futures import Future, collect_all
        >>> both = [Future(), Future()]
        >>> whole = collect_all(both)
        >>> for one in both:
        ...     one.set_result(1)
        >>> len(whole.wait())
        2
    """
    listed = list(futures)
    whole: Future[list[Future[Any]]] = Future()
    left = [len(listed)]
    lock = threading.Lock()

    def count(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            is_last = left[0] == 0
        if is_last:
            whole.set_result(listed)

    for one in listed:
        one.add_done_callback(count)
    if not listed:
        whole.set_result(listed)
    return whole


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Return the values of all ``futures`` when they are there.

    Example:
        >>> from ebb.torch_compat.futures import Future, wait_all
        >>> one = Future()
        >>> one.set_result(1)
        >>> wait_all([one])
        [1]
    """
    return [one.wait() for one in collect_all(futures).wait()]
