# python/ebb/precision/compare.py -- runs a step in two precisions and compares all it computes.
#
# The wide run keeps a copy of each result; the narrow one is compared as it goes. What belongs
# together is found by op, module and line, and by how often these came before. Results that the
# wide run lacks are casts, mostly: those are compared with their operand.
"""``compare_precision``: the first op whose result drifts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable
from ebb._C import Tensor
from ebb._functions.dtypes import finfo
from ebb.amp import autocast
from ebb.graphs.node import Location
from ebb.precision.measure import Difference, is_measured, is_same_kind, measure
from ebb.precision.report import PrecisionReport, PrecisionRow
from ebb.precision.state import KeptState

_DTYPES = ("float16", "bfloat16", "float32", "float64")
Key = tuple[Any, ...]


def compare_precision(
    step: Callable[[], Tensor | None],
    narrow: str | _C.dtype | autocast = "bfloat16",
    wide: str | _C.dtype = "float32",
    *,
    tolerance: float = 8.0,
    restore: Iterable[Any] = (),
    device_type: str = "cpu",
) -> PrecisionReport:
    """Run one step in two precisions, and find the op whose result drifts.

    ``step`` computes a loss from what it closes over, and may call ``backward()`` and step an
    optimizer; if it does not, its loss is differentiated here. It runs first as ``wide``, then as
    ``narrow`` says, from the same random numbers, and should not enter ``autocast`` itself.
    Afterwards random numbers, parameters, buffers and gradients are as before, also after an error;
    of other tensors, leaves that require a gradient.

    A result drifts if it differs from the wide run by more than ``tolerance`` times what roundings
    explain: one ulp of the narrow dtype of its own, and what its operands differ by. So an op is to
    blame that cancels, overflows or amplifies, not those behind it. In-place ops count where they
    leave the range of the dtype: what they read is not known.

    Args:
        narrow: ``"bfloat16"`` or ``"float16"``: ``autocast`` at level O1; ``"float32"``: as
            written; or an ``autocast`` with a level and lists of its own.
        wide: ``"float32"``; or ``"float64"``: every op that autocast knows computes in it.
        tolerance: How many times more than explained counts as drifting.
        restore: Optimizers that the step steps, modules whose gradients it clears, and whatever
            else has a ``state_dict()`` that it changes.
        device_type: Where the step computes.
    Raises:
        ValueError: If ``narrow`` is not narrower than ``wide``.
    Example:
        >>> x = ebb.tensor([1000.0, 1000.5], requires_grad=True)
        >>> report = ebb.compare_precision(lambda: (x @ ebb.eye(2) - 1000.0).sum())
        >>> report.first.name, report.first.is_backward
        ('sub', False)
    """
    check_callable(step)
    dtypes = _dtype_of(narrow), _dtype_of(wide)
    if finfo(dtypes[0]).eps <= finfo(dtypes[1]).eps:
        raise _C.ValueError(
            f"compare_precision: 'narrow' needs a dtype of less precision than 'wide', got "
            f"{dtypes[0]} and {dtypes[1]}"
        )
    with KeptState(restore) as state:
        first = _Recorder(dtypes[0], state, None)
        first.run(step, _mode(wide, dtypes[1], device_type))
        state.restore()
        second = _Recorder(dtypes[0], state, first)
        second.run(step, _mode(narrow, dtypes[0], device_type))
    names = [str(one).removeprefix("ebb.") for one in dtypes]
    return PrecisionReport(second.rows, *names, tolerance, second.unmatched)


def _dtype_of(precision: Any) -> _C.dtype:
    if isinstance(precision, autocast):
        return precision.fast_dtype
    name = str(precision).removeprefix("ebb.")
    if name not in _DTYPES or not isinstance(precision, str | _C.dtype):
        raise _C.ValueError(
            f"compare_precision: needs precisions among {', '.join(_DTYPES)}, got {precision!r}"
        )
    return getattr(_C, name)


def _mode(precision: Any, dtype: _C.dtype, device: str) -> AbstractContextManager[Any]:
    if isinstance(precision, autocast):
        return precision
    if dtype == _C.float32:
        return autocast(device, _C.bfloat16, enabled=False)
    return autocast(device, dtype=dtype, level="O3" if dtype == _C.float64 else "O1")


class _Recorder:
    """Is shown each op and node of one run; the second compares with the first."""

    def __init__(self, dtype: _C.dtype, state: KeptState, wide: _Recorder | None) -> None:
        self.rows: list[PrecisionRow] = []
        self.unmatched = 0
        self.results: dict[Key, list[Tensor]] = {}
        self._dtype, self._state, self._wide = dtype, state, wide
        self._counts: Counter[Key] = Counter()
        self._drifts: dict[int, float] = {}  # of tensors, by the id of their object
        self._alive: list[Tensor] = []  # so that the ids stay theirs
        self._leaves: set[int] = set()
        self._handles: list[Any] = []
        self._has_run_backward = False

    def run(self, step: Callable[[], Tensor | None], mode: AbstractContextManager[Any]) -> None:
        """Run the step, and its backward pass if it does not."""
        with ExitStack() as stack:
            stack.callback(self._forget)
            with mode, _observed(self._see):
                loss = step()
            is_open = isinstance(loss, Tensor) and loss.requires_grad
            if is_open and not self._has_run_backward:
                loss.sum().backward()

    def _forget(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._alive.clear()
        self._drifts.clear()

    def _key(self, *what: Any) -> Key:
        self._counts[what] += 1
        return (*what, self._counts[what])

    def _see(
        self,
        name: str,
        place: tuple[str, int, str] | None,
        module: str | None,
        writes: bool,
        operands: list[Tensor],
        results: list[Tensor],
    ) -> None:
        if self._state.is_busy:
            return
        with _plain():
            operands = [one for one in operands if is_measured(one)]
            results = [one for one in results if is_measured(one)]
            for one in operands:
                self._see_leaf(one)
            if not results:
                return
            key = self._key(name, place, module)
            behind = sum(
                self._drifts.get(id(one), 0.0) for one in {id(o): o for o in operands}.values()
            )
            if self._wide is None:
                self.results[key] = [one.detach().clone() for one in results]
            else:
                self._compare_op(key, writes, behind, operands, results)
            self._watch_node(key, behind, results)
            self._alive += [*operands, *results]

    def _compare_op(
        self, key: Key, writes: bool, behind: float, operands: list[Tensor], results: list[Tensor]
    ) -> None:
        assert self._wide is not None
        kept = self._wide.results.pop(key, None)
        if kept is None and _is_cast(operands, results):
            self._row(key, False, results, operands, 1.0)
            drift = self._worst(results, operands).drift
            self._drifts[id(results[0])] = behind + drift
            return
        if kept is None or not _fit(results, kept):
            self.unmatched += 1
            self._drifts.update((id(one), behind) for one in results)
            return
        drifts = [
            measure(one, other, self._dtype).drift for one, other in zip(results, kept, strict=True)
        ]
        # What a write read is not known: only leaving the range is a fault of its own.
        has_left = any(math.isinf(one) for one in drifts)
        explained = math.inf if writes and not has_left else 1.0 + behind
        self._row(key, False, results, kept, explained)
        self._drifts.update((id(one), drift) for one, drift in zip(results, drifts, strict=True))

    def _watch_node(self, key: Key, behind: float, results: list[Tensor]) -> None:
        made = next((one for one in results if one.requires_grad and one.grad_fn is not None), None)
        if made is None:
            return
        own = sum(self._drifts.get(id(one), 0.0) for one in results)
        node = made.grad_fn
        key = (node.name(), *key[1:])

        def see(grad_inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> None:
            self._see_node(key, behind + own, grad_inputs, grad_outputs)

        self._handles.append(node.register_hook(see))

    def _see_node(
        self, key: Key, saved: float, grad_inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]
    ) -> None:
        self._has_run_backward = True
        with _plain():
            made, arrived = ([one for one in all_ if one is not None and is_measured(one)]
                             for all_ in (grad_inputs, grad_outputs))  # fmt: skip
            if not made:
                return
            key = self._key("backward", *key)
            if self._wide is None:
                self.results[key] = [one.detach().clone() for one in (*made, *arrived)]
                return
            kept = self._wide.results.pop(key, None)
            if kept is None or not _fit([*made, *arrived], kept):
                self.unmatched += kept is not None
                return
            behind = [
                measure(one, other, self._dtype).drift
                for one, other in zip(arrived, kept[len(made) :], strict=True)
            ]
            self._row(key[1:], True, made, kept[: len(made)], 1.0 + saved + sum(behind))

    def _see_leaf(self, leaf: Tensor) -> None:
        if not (leaf.is_leaf and leaf.requires_grad) or id(leaf) in self._leaves:
            return
        self._leaves.add(id(leaf))
        self._state.keep(leaf)
        name = leaf.name or self._state.names.get(id(leaf)) or f"leaf {len(self._leaves)}"
        key = ("gradient of " + name, None, None)

        def see(grad: Tensor) -> None:
            self._has_run_backward = True
            with _plain():
                self._see_leaf_gradient(self._key(*key), grad)

        self._handles.append(leaf.register_hook(see))

    def _see_leaf_gradient(self, key: Key, grad: Tensor) -> None:
        if not is_measured(grad):
            return
        if self._wide is None:
            self.results[key] = [grad.detach().clone()]
            return
        kept = self._wide.results.pop(key, None)
        if kept is not None and _fit([grad], kept):
            self._row(key, True, [grad], kept, math.inf)  # the sum of what nodes computed

    def _worst(self, results: list[Tensor], kept: list[Tensor]) -> Difference:
        all_ = [measure(one, other, self._dtype) for one, other in zip(results, kept, strict=True)]
        worst = max(all_, key=lambda one: one.drift)
        lost = (sum(one.overflowed for one in all_), sum(one.underflowed for one in all_))
        return Difference(*worst[:3], *lost)

    def _row(
        self,
        key: Key,
        is_backward: bool,
        results: list[Tensor],
        kept: list[Tensor],
        explained: float,
    ) -> None:
        worst = self._worst(results, kept)
        place = None if key[1] is None else Location(*key[1])
        dtypes = tuple(str(one[0].dtype).removeprefix("ebb.") for one in (results, kept))
        found = (worst.max_abs, worst.max_rel, worst.drift, explained)
        self.rows.append(
            PrecisionRow(
                len(self.rows), key[0], is_backward, key[2], place, dtypes, *found, *worst[3:]
            )
        )


def _is_cast(operands: list[Tensor], results: list[Tensor]) -> bool:
    if len(operands) != 1 or len(results) != 1 or operands[0].dtype == results[0].dtype:
        return False
    return is_same_kind(operands[0], results[0])


def _fit(results: list[Tensor], kept: list[Tensor]) -> bool:
    pairs = zip(results, kept, strict=False)
    return len(results) == len(kept) and all(is_same_kind(one, other) for one, other in pairs)


@contextmanager
def _observed(see: Callable[..., None]) -> Iterator[None]:
    _C._push_op_observer(see)
    try:
        yield
    finally:
        _C._pop_op_observer()


@contextmanager
def _plain() -> Iterator[None]:
    """A block in which nothing is recorded or cast."""
    with _C.no_grad(), autocast("cpu", _C.bfloat16, enabled=False):
        yield
