# python/ebb/optim/part.py -- Part: the C++ optimizer behind one group, and its state as dicts.
#
# The state of fused optimizers is C++'s; a program sees it as dicts, where it may also put what it
# likes. Start reading at show() and take_back(), which carry it there and back.
"""What a fused optimizer has for each group."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, MutableMapping
from sys import getrefcount
from typing import Any

from ebb import _C
from ebb.optim.optimizer import Group, distinct

Rest = tuple[_C.Tensor, ...]  # parameters that sit a step out
State = MutableMapping[Any, Any]  # of an optimizer: dicts by parameter, and what programs add


class Part:
    """The C++ optimizer of a group.

    Args:
        kind: The class in ``ebb/optim``.
        group: Its parameters and options.
    """

    def __init__(self, kind: str, group: Group):
        self.kind = kind
        self.group = group
        self.params = distinct(group["params"])
        self.handle = _C._optimizer(kind, self.params, group)
        self.rests = _rests(group["params"])

    def fits(self, group: Group) -> bool:
        """Whether it is that of a group as the program has it now."""
        return self.group is group and _C._optimizer_fits(self.handle, group)

    def kept(self, index: int) -> dict[str, Any]:
        """What C++ keeps of a parameter; empty before its first step."""
        return _C._optimizer_state(self.handle, index)

    def keep(self, index: int, kept: Mapping[str, Any]) -> None:
        """Let C++ keep copies of this instead."""
        _C._set_optimizer_state(self.handle, index, kept)

    def show(self, state: State, following: Mapping[int, Mapping[str, Any]]) -> None:
        """Bring the dicts of a state to what C++ keeps; all else in them stays.

        Args:
            following: What follows from that, by the index of a parameter.
        """
        for index, tensor in enumerate(self.params):
            kept = self.kept(index)
            shown = state.get(tensor)
            if shown is None:
                if kept:
                    state[tensor] = {**kept, **following[index]}
                continue
            for name in state_names(self.kind):
                if name not in kept:
                    shown.pop(name, None)
            steps = shown.get("step")
            if (
                isinstance(steps, _C.Tensor)
                and "step" in kept
                and steps.dtype is kept["step"].dtype
            ):
                kept["step"] = steps.copy_(kept["step"])  # whoever holds it sees it count
            shown.update(kept, **following[index])

    def take_back(self, state: State) -> None:
        """Let C++ keep what the dicts of a state say, where the program has changed it."""
        for index, tensor in enumerate(self.params):
            shown = state.get(tensor, {})
            if not isinstance(shown, MutableMapping):
                raise _C.DTypeError(
                    f"{self.kind}: needs a dict of state per parameter, got {type(shown).__name__}"
                )
            told = {
                name: shown[name] for name in state_names(self.kind) if shown.get(name) is not None
            }
            if _differ(told, self.kept(index)):
                self.keep(index, told)

    def hide(self, state: State, following: Iterable[str]) -> None:
        """Take from the dicts of a state what C++ keeps, and dicts that are empty then."""
        for tensor in self.params:
            shown = state.get(tensor)
            if shown is None:
                continue
            for name in (*state_names(self.kind), *following):
                shown.pop(name, None)
            if not shown:
                del state[tensor]


class Shown:
    """The dicts that a program sees as the state of an optimizer: by parameter, and its own."""

    def __init__(self) -> None:
        self.dicts: State = defaultdict(dict)

    def references(self, params: Iterable[Any]) -> tuple[int, int]:
        """How many references there are to the dicts, and at most to one of a parameter."""
        inner = (self.dicts.get(one) for one in params)
        counts = (getrefcount(one) for one in inner if one is not None)
        return getrefcount(self.dicts), max(counts, default=0)

    def is_held(self, params: Iterable[Any]) -> bool:
        """Whether anybody else has one of the dicts, so that it must stay true after a step."""
        outer, inner = self.references(params)
        return outer > _OURS[0] or inner > _OURS[1]


def _references_of_ours() -> tuple[int, int]:
    alone = Shown()
    alone.dicts[0] = {}
    return alone.references([0])


_OURS = _references_of_ours()


@functools.cache
def state_names(kind: str) -> tuple[str, ...]:
    """What a class in ``ebb/optim`` keeps of each parameter."""
    return tuple(_C._optimizer_state_names(kind))


def _differ(told: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
    """Whether a program has other state than C++; tensors are told by identity."""
    if told.keys() != kept.keys():
        return True
    return any(
        float(value) != float(kept[name]) if name == "step" else value is not kept[name]
        for name, value in told.items()
    )


def _rests(params: Iterable[_C.Tensor]) -> list[Rest]:
    """Who sits out each further step of a group in which a parameter is given several times.

    A step in C++ goes over each parameter once, from several threads.
    """
    times = Counter(id(tensor) for tensor in params)
    most = max(times.values(), default=1)
    return [
        tuple(tensor for tensor in distinct(params) if times[id(tensor)] <= steps)
        for steps in range(1, most)
    ]
