# python/ebb/autograd/anomaly.py -- detect_anomaly, check_nan_inf, trace_cuts: to find faults.
"""Find the operation to blame for an error, a NaN or a cut; keep every gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ebb import _C

F = TypeVar("F", bound=Callable[..., Any])


class _Checks:
    """A context manager that sets some of the switches of ``_C._set_checks``."""

    SWITCHES = 6

    def __init__(self, *wanted: bool | None) -> None:
        self._wanted = wanted + (None,) * (self.SWITCHES - len(wanted))
        self._before: list[tuple[bool | None, ...]] = []

    def _switch(self) -> None:
        before = _C._set_checks(*self._wanted)
        changed = zip(before, self._wanted, strict=True)
        self._before.append(tuple(None if want is None else old for old, want in changed))

    def __enter__(self) -> None:
        self._switch()

    def __exit__(self, *error: object) -> None:
        _C._set_checks(*self._before.pop())

    def __call__(self, function: F) -> F:
        """Return ``function`` so that it runs in this mode."""
        from ebb.autograd._decorate import run_in_mode  # takes 7 ms to load

        def again(wanted: tuple[bool | None, ...]) -> _Checks:
            return _Checks(*wanted)

        again.__name__ = type(self).__name__
        return run_in_mode(again, self._wanted, function)


class detect_anomaly(_Checks):  # noqa: N801 -- the field's name for it
    """Context manager and decorator: find the op that a NaN or a failed backward comes from.

    Run forward and backward inside. Each node recorded inside keeps the whole stack of the call
    that recorded it (``Node.stack``), and an error of a backward run shows it. With ``check_nan``,
    ``backward()`` and ``grad()`` raise :class:`ebb.errors.NonFiniteError` at a loss or seed that
    is not finite, and at the first node that computes NaN, or an infinity from finite gradients;
    the message names node, line, counts and first index. docs/benchmarks.md says what it
    costs: 2 to 10 % of a step of small operations.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> with ebb.autograd.detect_anomaly(): x.sqrt().sum().backward()
        >>> x.grad
        tensor([0.2500])
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(None, bool(check_nan), None, True, None)


class check_nan_inf(_Checks):  # noqa: N801 -- the field's name for it
    """Context manager and decorator: every operation inside must give finite results.

    The first operation that gives NaN, or an infinity although its operands are finite, raises
    :class:`ebb.errors.NonFiniteError`, which names it, its line, counts, the first bad index and
    the ranges of the operands. ``backward()`` and ``grad()`` inside check as in
    :class:`detect_anomaly`. What was given as a number (``fill_(nan)``) is no fault, nor is an
    infinity that comes from another one, such as the ``-inf`` of a mask. With ``inf=False`` only
    NaN is a fault.

    Example:
        >>> with ebb.autograd.check_nan_inf(): x = ebb.ones(2) / 2
        >>> x
        tensor([0.5000, 0.5000])
    """

    def __init__(self, enabled: bool = True, *, inf: bool = True) -> None:
        on = bool(enabled)
        super().__init__(on, on, on and not inf, None, None)


class record_stacks(_Checks):  # noqa: N801 -- named as retain_grad is
    """Context manager and decorator: nodes recorded inside know the whole stack of their call.

    ``Node.stack``, ``ebb.graph()`` and its page show it. This is the part of
    :class:`detect_anomaly` that checks nothing. Outside, a node knows its own line only, which
    costs nothing more.

    Example:
        >>> with ebb.autograd.record_stacks(): y = ebb.ones(2, requires_grad=True) * 2
        >>> y.requires_grad
        True
    """

    def __init__(self, enabled: bool = True) -> None:
        super().__init__(None, None, None, bool(enabled), None)


class retain_all_grads(_Checks):  # noqa: N801 -- named as retain_grad is
    """Context manager and decorator: every result recorded inside keeps its ``grad``.

    As after ``retain_grad()`` on each. Views of one memory keep gradients of their own.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> with ebb.autograd.retain_all_grads():
        ...     y = x * x
        ...     z = (3 * y).sum()
        >>> z.backward()
        >>> y.grad
        tensor([3., 3.])
    """

    def __init__(self, enabled: bool = True) -> None:
        super().__init__(None, None, None, None, bool(enabled))


class trace_cuts(_Checks):  # noqa: N801 -- a mode, named as the others
    """Context manager and decorator: note where values come from that carry no gradient.

    Inside, each result that is not recorded although an operand wanted a gradient is noted with
    its op, line and operands, and so is what is computed from it, and what leaves as a number, a
    list or an array. :func:`ebb.explain` then shows the way from a parameter through the cut to
    the loss. No tensor is kept alive. The latest 262,144 notes are kept, in at most 32 MB, until
    :func:`ebb.autograd.forget_cuts`. Operations inside ``backward()`` are not noted.

    Example:
        >>> with ebb.autograd.trace_cuts(): x = ebb.ones(2, requires_grad=True).detach()
        >>> x.requires_grad
        False
    """

    def __init__(self, enabled: bool = True) -> None:
        super().__init__(None, None, None, None, None, bool(enabled))


class _SetChecks(_Checks):
    """Switches at once; as a context manager it puts back what was there before."""

    def __init__(self, *wanted: bool | None) -> None:
        super().__init__(*wanted)
        self._switch()

    def __enter__(self) -> None:
        pass


class set_detect_anomaly(_SetChecks):  # noqa: N801 -- the field's name for it
    """Turn :class:`detect_anomaly` on or off, for good or for the length of a block.

    Example:
        >>> with ebb.autograd.set_detect_anomaly(False): x = ebb.ones(2)
        >>> x
        tensor([1., 1.])
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(None, bool(mode and check_nan), None, bool(mode), None)


class set_check_nan_inf(_SetChecks):  # noqa: N801 -- the field's name for it
    """Turn :class:`check_nan_inf` on or off, for good or for the length of a block.

    Example:
        >>> with ebb.autograd.set_check_nan_inf(True): x = ebb.ones(2) / 2
        >>> x
        tensor([0.5000, 0.5000])
    """

    def __init__(self, mode: bool, *, inf: bool = True) -> None:
        super().__init__(bool(mode), bool(mode), bool(mode and not inf), None, None)


class set_trace_cuts(_SetChecks):  # noqa: N801 -- named as the others
    """Turn :class:`trace_cuts` on or off, for good or for the length of a block.

    Example:
        >>> with ebb.autograd.set_trace_cuts(True):
        ...     x = ebb.ones(2, requires_grad=True).detach()
        >>> ebb.autograd.forget_cuts()
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(None, None, None, None, None, bool(mode))


def forget_cuts() -> None:
    """Forget all that :class:`trace_cuts` noted, lines of cuts included, and free its memory.

    Example:
        >>> with ebb.autograd.trace_cuts():
        ...     x = ebb.ones(2, requires_grad=True).detach()
        >>> ebb.autograd.forget_cuts()
    """
    _C._forget_cuts()
