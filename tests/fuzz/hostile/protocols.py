# tests/fuzz/hostile/protocols.py -- every public callable with tensors of other classes in the
# place of plain ones: the same values, or the same refusal.
#
# A call is drawn twice from one seed: once it gets plain tensors, once those of a class. Run as a
# program it prints a JSON line for each call that ends otherwise: it may switch modes for good.
"""Worker of test_protocols.py: python -m tests.fuzz.hostile.protocols SEED COUNT [KEY...]."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from typing import Any

import ebb
from tests.fuzz import seeds
from tests.fuzz.hostile import values
from tests.fuzz.hostile.callables import Callable, all_callables

# Functions of tensors, methods of Tensor, and layers. What else there is takes no tensors, or keeps
# them for later.
ROOMS = ("nn.functional.", "linalg.", "special.", "fft.", "nn.init.", "masked.",
         "signal.", "Tensor.")  # fmt: skip
# Ask how many bytes, owners or places something has, or what class it is of.
SKIPPED = ("manual_seed", "seed", "set_", "get_", "compile", "graph", "explain", "save", "load",
           "autocast_", "const_data_ptr", "vmap", "data_ptr", "storage", "untyped_storage",
           "share_memory_", "as_subclass", "type", "is_set_to", "empty", "new_empty", "resize",
           "new", "map_", "apply_", "from_file", "initial_seed", "while_loop", "cond")  # fmt: skip


class Kept(ebb.Tensor):
    """Without the protocol."""


class OfEbb(ebb.Tensor):
    """With it, by ebb's name."""

    @classmethod
    def __ebb_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__ebb_function__(func, types, args, kwargs)


class OfTorch(ebb.Tensor):
    """With it, by PyTorch's name."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs)


class Answer:
    """No tensor: answers all that it is asked for, by ebb's name."""

    @classmethod
    def __ebb_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "answered"


class TorchAnswer:
    """The same by PyTorch's name."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "answered"


def is_tried(one: Callable) -> bool:
    """Return whether a callable takes tensors and answers at once."""
    last = one.key.rpartition(".")[2]
    if one.key.startswith(SKIPPED) or last.startswith(SKIPPED):
        return False
    if one.kind == "function":
        return "." not in one.key or one.key.startswith(ROOMS)
    return one.kind == "method" and (one.key.startswith(ROOMS) or one.key.startswith("nn."))


def replaced(value: Any, kind: type | None) -> Any:
    """Return an argument with its tensors made plain leaves, or objects of a class."""
    if type(value) is ebb.Tensor and value.layout == "strided":
        if kind is not None and not issubclass(kind, ebb.Tensor):
            return kind()
        return ebb.Tensor._make_subclass(kind or ebb.Tensor, value.detach().clone(), False)
    if type(value) in (list, tuple):
        return type(value)(replaced(one, kind) for one in value)
    return value


def shown(value: Any) -> str:
    """Return the values of a result as text, whatever its classes."""
    if isinstance(value, ebb.Tensor):
        return f"{value.dtype} {list(value.shape)} {value.detach().tolist()}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return repr(value) if isinstance(value, int | float | complex | str) else type(value).__name__


def outcome(one: Callable, seed: int, number: int, kind: type | None) -> str:
    """Return what a call gives: its values, or the class of its error."""
    rng = seeds.generator(seed, f"{one.key} {number}")
    ebb.manual_seed(number)
    args, kwargs = values.draw_arguments(rng, one.parameters, values.sensible)
    function = one.target
    if one.kind == "method":
        own = values.instance_of(rng, one.target, _constructors().get(one.target, ()))
        own = replaced(own, kind)
        function = getattr(own, one.name, None)
    args = [replaced(value, kind) for value in args]
    kwargs = {name: replaced(value, kind) for name, value in kwargs.items()}
    ebb.manual_seed(number)
    try:
        return shown(function(*args, **kwargs))
    except Exception as error:
        # What is no number may be told by its dims or by its class.
        if isinstance(error, TypeError | ValueError):
            return "is refused"
        plain = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return f"raises {plain.__name__}"


_built: dict[Any, Any] = {}


def _constructors() -> dict[Any, Any]:
    if not _built:
        _built.update((o.target, o.parameters) for o in all_callables() if o.kind == "constructor")
    return _built


def differences(one: Callable, seed: int, number: int) -> list[list[str]]:
    """Return the classes for which a call ends otherwise than with plain tensors."""
    plain = outcome(one, seed, number, None)
    found = []
    for kind in (Kept, OfEbb, OfTorch):
        other = outcome(one, seed, number, kind)
        if other != plain:
            found.append([one.key, str(number), kind.__name__, plain[:200], other[:200]])
    for kind in (Answer, TorchAnswer):
        other = outcome(one, seed, number, kind)
        if other in ("raises SystemError", "raises RecursionError", "raises KeyError"):
            found.append([one.key, str(number), kind.__name__, plain[:200], other])
    return found


def main() -> None:
    """Try all, or those that are named."""
    seed, count, keys = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    os.chdir(tempfile.mkdtemp())
    warnings.simplefilter("ignore")
    tried = [one for one in all_callables() if (one.key in keys if keys else is_tried(one))]
    for one in tried:
        for number in range(count):
            for found in differences(one, seed, number):
                print(json.dumps(found), flush=True)
    print(json.dumps(["tried", len(tried), count]))


if __name__ == "__main__":
    main()
