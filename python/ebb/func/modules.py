# python/ebb/func/modules.py -- modules and tensors made fit for transforms of functions.
"""``functional_call``, ``stack_module_state`` and what goes with them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn.module import Module
from ebb.nn.module_base import BUFFERS, PARAMETERS
from ebb.nn.normalization import _BatchNorm

__all__ = [
    "debug_unwrap",
    "functional_call",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
]


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the tensor: here no function wraps what it passes on.

    Example:
        >>> ebb.func.debug_unwrap(ebb.tensor(3.0))
        tensor(3.)
    """
    del recurse
    if not isinstance(tensor, Tensor):
        raise _C.DTypeError(f"debug_unwrap: needs a Tensor, got {type(tensor).__name__}")
    return tensor


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let all batch norms within a module use the batch's own mean and variance, and return it.

    They lose their running ones, so that a call changes nothing that the module keeps.

    Example:
        >>> net = ebb.nn.Sequential(ebb.nn.BatchNorm1d(2))
        >>> ebb.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
        True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the place of its parameters and buffers.

    Args:
        module: As it is afterwards, also if the call fails.
        parameter_and_buffer_dicts: Tensors by name, as ``named_parameters`` names them; or several
            such dicts.
        args: The positional arguments, or the only one.
        kwargs: Keyword arguments.
        tie_weights: Whether a parameter that has several names is replaced under all of them.
        strict: Whether every parameter and buffer must be given.
    Raises:
        ValueError: If a name is not in the module, is given twice, or is missing with ``strict``.
    Example:
        >>> layer = ebb.nn.Linear(1, 1, bias=False)
        >>> ebb.func.functional_call(layer, {"weight": ebb.tensor([[2.0]])}, ebb.tensor([3.0]))
        tensor([6.])
    """
    several = parameter_and_buffer_dicts
    dicts = [several] if isinstance(several, Mapping) else list(several)
    given: dict[str, Tensor] = {}
    for one in dicts:
        repeated = sorted(given.keys() & one.keys())
        if repeated:
            raise _C.ValueError(f"functional_call: needs each name once, got {repeated[0]!r} twice")
        given.update(one)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@dataclasses.dataclass(frozen=True)
class _Home:
    """Where a module holds a parameter or buffer."""

    part: Module
    kind: str
    name: str

    @property
    def value(self) -> Any:
        return getattr(self.part, self.kind)[self.name]

    def put(self, value: Any) -> None:
        """Hold another tensor, whatever it is."""
        getattr(self.part, self.kind)[self.name] = value


@contextlib.contextmanager
def _replaced(
    module: Module, given: Mapping[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    homes: dict[str, _Home] = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for kind in (PARAMETERS, BUFFERS):
            for name in getattr(part, kind):
                homes[f"{prefix}.{name}".lstrip(".")] = _Home(part, kind, name)
    for name in given:
        if name not in homes:
            raise _C.ValueError(f"functional_call: {type(module).__name__} has no {name!r}")
    missing = [name for name, home in homes.items() if name not in given and home.value is not None]
    if strict and missing:
        raise _C.ValueError(f"functional_call: needs {missing[0]!r}, which is not given")
    new = dict(given)
    if tie_weights:
        by_tensor = {id(homes[name].value): value for name, value in given.items()}
        tied = {name: id(home.value) for name, home in homes.items() if name not in given}
        new.update((name, by_tensor[one]) for name, one in tied.items() if one in by_tensor)
    old = {name: homes[name].value for name in new}
    try:
        for name, value in new.items():
            homes[name].put(value)
        yield
    finally:
        for name, value in old.items():
            homes[name].put(value)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of like modules, each stacked along a new dim 0.

    Example:
        >>> parameters, buffers = ebb.func.stack_module_state([ebb.nn.Linear(2, 3)] * 4)
        >>> list(parameters["weight"].shape)
        [4, 3, 2]
    """
    if not models:
        raise _C.ValueError("stack_module_state: needs at least one module, got none")
    parameters = [dict(one.named_parameters()) for one in models]
    buffers = [dict(one.named_buffers()) for one in models]
    return (
        {n: _C.stack([o[n].detach() for o in parameters]).requires_grad_() for n in parameters[0]},
        {name: _C.stack([one[name] for one in buffers]) for name in buffers[0]},
    )
