# python/ebb/func/samples.py -- calling a function sample by sample, where no rule knows better.
#
# Each argument that varies is taken apart along the dims of the levels, the function is called for
# each sample, and what it returns is stacked. Writes go to views of the whole. This is right for
# every function and as slow as the loop that vmap is to replace. Start reading at by_samples().
"""The rule of functions that have none; what may draw random numbers; properties."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import ebb
from ebb import _C
from ebb.autograd.function import bind_arguments as function_arguments
from ebb.func.batched import Batched, Level, asking, calls, is_tensor, levels_of, plain_of, wrap


def arguments(args: Any, kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """All arguments, and what lies in those that are lists or tuples."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, tuple | list):
            yield from arguments(value, {})
        else:
            yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The arguments with each one changed, also within lists, tuples and dicts."""
    if isinstance(value, dict):
        return {name: mapped(one, change) for name, one in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return type(value)(mapped(one, change) for one in value)
    return change(value)


def by_samples(
    name: str,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    levels: tuple[Level, ...],
    before_each: Callable[[], None] = lambda: None,
) -> Any:
    """What the function gives for each sample, stacked."""
    sizes = tuple(one.size for one in levels)
    count = math.prod(sizes)
    if count == 0:
        raise _C.ValueError(f"{name}: has no batching rule, so vmap needs a sample, got none")

    def whole(value: Any) -> Any:
        if not isinstance(value, Batched):
            return value
        plain = plain_of(value, levels)
        return _Lines(plain if len(levels) == 1 else plain.flatten(0, len(levels) - 1))

    given, named = mapped(args, whole), mapped(kwargs, whole)
    found = []
    for place in range(count):
        before_each()
        pick = lambda one: one.plain[place] if isinstance(one, _Lines) else one  # noqa: B023, E731
        picked = mapped(given, pick)
        before = _geometry(picked)
        found.append(func(*picked, **mapped(named, pick)))
        if before != _geometry(picked):
            raise _C.NotImplementedError(
                f"{name}: gives its tensor other memory or sizes, which a sample cannot have "
                "under vmap\nhint: use a form that returns a new tensor"
            )
    if isinstance(args[0] if args else None, Batched) and is_write(name):
        return args[0] if is_tensor(found[0]) or found[0] is None else found[0]
    return _stacked(name, found, sizes, levels)


def _geometry(args: tuple[Any, ...]) -> Any:
    """Where the first argument lies, and how: writes change what is there, nothing else."""
    first = args[0] if args else None
    if not is_tensor(first) or first.layout != ebb.strided:
        return None
    return first.data_ptr(), tuple(first.shape), first.stride(), first.dtype


@dataclass(frozen=True)
class VmapInfo:
    """What the ``vmap`` of a Function gets to know of the batch."""

    batch_size: int
    randomness: str


def apply_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a user's Function: by its ``vmap`` if it has one, else sample by sample."""
    levels = levels_of(arguments(args, kwargs))
    own = function.vmap is not ebb.autograd.Function.vmap
    if not own or getattr(function, "generate_vmap_rule", False) or len(levels) > 1:
        return by_samples(f"{function.__name__}.apply", function.apply, args, kwargs, levels)
    info = VmapInfo(levels[0].size, levels[0].randomness)
    given = function_arguments(function.forward, args, kwargs) if kwargs else args
    places = mapped(given, lambda one: 0 if isinstance(one, Batched) else None)
    plain = mapped(given, lambda one: one._plain if isinstance(one, Batched) else one)
    found, dims = function.vmap(info, places, *plain)
    if not isinstance(found, tuple):
        return _entered(found, dims, levels)
    dims = dims if isinstance(dims, tuple) else (dims,) * len(found)
    return tuple(_entered(one, dim, levels) for one, dim in zip(found, dims, strict=True))


def _entered(found: Any, dim: int | None, levels: tuple[Level, ...]) -> Any:
    return found if dim is None or not is_tensor(found) else wrap(found.movedim(dim, 0), levels)


# Of which ranks a sample may be turned; one without dims is turned to itself.
_RANKS = {"T": range(3), "H": (0, 2), "mT": (0, *range(2, 64)), "mH": (0, *range(2, 64))}


def attribute(name: str, value: Batched) -> Any:
    """A property: of the samples' matrices, or what all of them have in common."""
    if name in _RANKS:
        return _turned(name, value)
    found = getattr(value._plain, name)
    if name == "nbytes":
        return found // math.prod(one.size for one in value._levels)
    return wrap(found, value._levels) if is_tensor(found) and found.ndim >= 1 else found


def _turned(name: str, value: Batched) -> Any:
    if value.ndim not in _RANKS[name]:
        needed = {"T": "at most two dims", "H": "a matrix or a number"}
        got = needed.get(name, "a number or at least two dims")
        raise _C.ShapeError(f"{name}: needs {got}, got {value.ndim} dims")
    with asking():
        turned = value.transpose(-2, -1) if value.ndim > 1 else value
        return turned.conj() if name in ("H", "mH") else turned


class _Lines:
    """A tensor whose first dim are samples; the class tells it from arguments that do not vary."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain


def is_write(name: str) -> bool:
    """Whether a function writes its first argument, as its name says."""
    return name == "__setitem__" or (name.endswith("_") and not name.startswith("__"))


def _stacked(name: str, found: list[Any], sizes: tuple[int, ...], levels: Any) -> Any:
    one = found[0]
    if is_tensor(one):
        shapes = {tuple(other.shape) for other in found}
        if len(shapes) > 1:
            raise _C.ShapeError(
                f"{name}: needs results of one shape for all samples under vmap, got "
                f"{' and '.join(str(list(shape)) for shape in sorted(shapes)[:2])}"
            )
        stacked = _C.stack(found)
        return wrap(stacked.reshape(*sizes, *one.shape), levels)
    if isinstance(one, tuple | list):
        if len({len(other) for other in found}) > 1:
            raise _C.ShapeError(f"{name}: needs as many results of each sample under vmap")
        parts = [_stacked(name, list(each), sizes, levels) for each in zip(*found, strict=True)]
        return type(one)(*parts) if hasattr(one, "_fields") else type(one)(parts)
    if any(other != one for other in found):
        raise _C.ValueError(f"{name}: gives something else for each sample, which is no tensor")
    return one


def check_draws(name: str, levels: tuple[Level, ...], state: Any) -> None:
    """Refuse a call that has drawn random numbers, unless all samples may share them."""
    if any(one.randomness == "error" for one in levels):
        ebb.set_rng_state(state)
        raise _C.ValueError(
            f"{name}: needs a call that draws no random numbers under vmap, got one that does\n"
            "hint: say randomness='different' or randomness='same'"
        )


calls["apply"] = apply_function
