# python/ebb/func/batched.py -- a tensor as one sample of vmap sees it.
#
# A Batched shows the shape of one sample. Its memory, a plain tensor, has a dim in front for each
# level of vmap that it varies over, the outermost first. Whatever is called with one comes here by
# the override protocol: rules.py calls the same function once for all samples where the row of the
# op table has a rule, and sample by sample where it has none. History is that of the plain tensors,
# so gradients need no rules. Start reading at Batched.__ebb_function__().
"""``Batched``, and moving in and out of a level."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ebb
from ebb import _C
from ebb._base.transforms import active_levels
from ebb._C import Tensor
from ebb.overrides import DisableEbbFunctionSubclass, resolve_name

# What calls with a Batched go to: "function" (rules.py), "apply" (samples.py) and "grad"
# (recorded.py), put here by them.
calls: dict[str, Callable[..., Any]] = {}
_numbers = itertools.count()


@dataclass(frozen=True, order=True)
class Level:
    """One call of vmap that is running; its samples draw no random numbers, or the same."""

    number: int = field(default_factory=lambda: next(_numbers), init=False)
    size: int = field(compare=False)
    randomness: str = field(compare=False, default="error")


class Batched(Tensor):
    """One sample of a batch: its shape is the sample's, its memory the batch's."""

    _plain: Tensor
    _levels: tuple[Level, ...]

    @classmethod
    def __ebb_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call ``func`` for all samples."""
        with DisableEbbFunctionSubclass():
            return calls["function"](func, tuple(args), dict(kwargs or {}))

    def __ebb_apply__(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call ``Function.apply`` for all samples."""
        with DisableEbbFunctionSubclass():
            return calls["apply"](function, args, kwargs)

    @staticmethod
    def __ebb_grad__(*args: Any, **kwargs: Any) -> Any:
        """Call ``autograd.grad`` for all samples."""
        with DisableEbbFunctionSubclass():
            return calls["grad"](*args, **kwargs)

    @property
    def shape(self) -> Any:  # type: ignore[override]
        """The shape of one sample."""
        return self._plain.shape[len(self._levels) :]

    @property
    def ndim(self) -> int:  # type: ignore[override]
        """The dims of one sample."""
        return self._plain.ndim - len(self._levels)

    @property
    def grad(self) -> Any:  # type: ignore[override]
        """None: gradients come from ``ebb.func.grad`` and ``ebb.autograd.grad``."""
        return None

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]
        """The shape of one sample, or the size of one dim."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """The dims of one sample."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """The elements of one sample."""
        return math.prod(self.shape)

    nelement = numel

    def storage_offset(self) -> int:
        """Where the first sample begins; ``as_strided`` takes it so for all of them."""
        return self._plain.storage_offset()

    def __len__(self) -> int:
        if self.ndim == 0:
            raise _C.DTypeError("len: needs a tensor with dims, got one without")
        return self.shape[0]

    def __iter__(self) -> Any:
        return iter(self.unbind(0))

    def __repr__(self) -> str:  # type: ignore[override]
        sizes = ", ".join(str(one.size) for one in self._levels)
        return f"Batched(shape={tuple(self.shape)}, samples=({sizes}))"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: Any) -> Batched:
        return self.clone()  # type: ignore[return-value]


def _refuse(name: str, what: str) -> Callable[..., Any]:
    def refused(self: Batched, *args: Any, **kwargs: Any) -> Any:
        raise _C.AutogradError(
            f"{name}: needs one value, got a tensor under vmap, which has one for each of "
            f"{math.prod(one.size for one in self._levels)} samples\nhint: {what}"
        )

    refused.__name__ = name
    return refused


for _name, _hint in {
    "item": "return the tensor from the function",
    "tolist": "return the tensor from the function",
    "numpy": "return the tensor from the function",
    "__bool__": "choose elements by ebb.where()",
    "__float__": "keep it a tensor",
    "__int__": "keep it a tensor",
    "__index__": "keep it a tensor",
    "__complex__": "keep it a tensor",
    "__array__": "return the tensor from the function",
    "backward": "use ebb.func.grad() within vmap",
}.items():
    setattr(Batched, _name, _refuse(_name.strip("_"), _hint))


def wrap(plain: Any, levels: Sequence[Level]) -> Any:
    """The plain tensor, whose first dims are those levels, as its samples see it."""
    if not levels:
        return plain
    made = plain.as_subclass(Batched)
    made._plain = plain
    made._levels = tuple(levels)
    return made


def levels_of(values: Iterable[Any]) -> tuple[Level, ...]:
    """All levels over which one of the values varies, the outermost first."""
    return tuple(sorted({one for v in values if isinstance(v, Batched) for one in v._levels}))


def plain_of(value: Any, levels: Sequence[Level], expands: bool = True) -> Any:
    """The memory of a value with a dim in front for each level.

    Dims of levels over which it does not vary have the level's size, without more memory, or 1 if
    it is not to be expanded.
    """
    own = value._levels if isinstance(value, Batched) else ()
    plain = value._plain if isinstance(value, Batched) else value
    if own == tuple(levels):
        return plain
    for place, one in enumerate(levels):
        if one not in own:
            plain = plain.unsqueeze(place)
    if not expands:
        return plain
    return plain.expand(*(one.size for one in levels), *plain.shape[len(levels) :])


def enter(value: Tensor, dim: int, level: Level) -> Batched:
    """The samples of a tensor along a dim, at a level that is inside all those it has."""
    outer = value._levels if isinstance(value, Batched) else ()
    plain = value._plain if isinstance(value, Batched) else value
    with DisableEbbFunctionSubclass():
        at = dim % value.ndim + len(outer)
        return wrap(plain.movedim(at, len(outer)), (*outer, level))


def leave(value: Any, dim: int, level: Level) -> Any:
    """A result with the samples of a level along a dim; it is repeated if it has none."""
    with DisableEbbFunctionSubclass():
        own = value._levels if isinstance(value, Batched) else ()
        all_levels = tuple(sorted({*own, level}))
        plain = plain_of(value, all_levels)
        outer = tuple(one for one in all_levels if one is not level)
        at = all_levels.index(level)
        last = dim % (plain.ndim - len(outer)) + len(outer)
        return wrap(plain.movedim(at, last), outer)


def expanded(value: Any) -> Any:
    """A tensor that varies over all levels that run: what samples are differentiated by."""
    levels = tuple(active_levels())
    if not levels or not isinstance(value, Tensor):
        return value
    with DisableEbbFunctionSubclass():
        return wrap(plain_of(value, levels), levels)


@contextlib.contextmanager
def asking() -> Iterator[None]:
    """Within a rule, which gets plain tensors: ask Batched again, for a rule made of others."""
    before = _C._switch_overrides_off(False)
    try:
        yield
    finally:
        _C._switch_overrides_off(before)


def name_of(func: Callable[..., Any]) -> str:
    """What a function is called in the op table, and in messages."""
    name = resolve_name(func) or getattr(func, "__qualname__", repr(func))
    name = re.sub(r"^ebb\.tensor\.\w+\.", "", name)
    for prefix in ("ebb.Tensor.", "ebb._C.", "ebb._", "ebb."):
        name = name.removeprefix(prefix)
    return name


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor, of one sample or not."""
    return isinstance(value, ebb.Tensor)
