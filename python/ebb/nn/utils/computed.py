# python/ebb/nn/utils/computed.py -- a weight that a hook computes before each call of its module.
"""What the older spellings of weight_norm and spectral_norm share."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter


class ComputedWeight:
    """A hook that sets the attribute ``name`` of a module before it runs.

    Subclasses define ``_split``, which puts what the weight is made of into the module, ``_parts``,
    its names, and ``_compute``.
    """

    kind: str  # the function that users call

    def __init__(self, name: str):
        self.name = name

    @property
    def _target(self) -> str:
        """The name of the attribute."""
        return self.name

    def _split(self, module: Module, weight: Parameter) -> None:
        """Put what ``weight`` is made of into ``module``."""
        raise NotImplementedError

    def _compute(self, module: Module) -> Any:
        """Return the weight."""
        raise NotImplementedError

    def _parts(self) -> list[str]:
        """Return the names of what ``_split`` put into the module."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the weight; the module is about to be called."""
        value = self._compute(module)
        value._is_made_anew = True  # a deep copy of the module needs its value alone
        setattr(module, self._target, value)

    def _install(self, caller: str, module: Module) -> Module:
        """Replace the parameter ``name`` of ``module`` by what it is computed from."""
        weight = module._parameters.get(self._target)
        if weight is None:
            raise _C.ValueError(
                f"{caller}: needs the name of a parameter of {type(module).__name__}, got "
                f"{self._target!r}"
            )
        delattr(module, self._target)
        self._split(module, weight)
        with _C.no_grad():
            setattr(module, self._target, self._compute(module))
        module.register_forward_pre_hook(self)
        return module


def remove(kind: type[ComputedWeight], caller: str, module: Module, name: str) -> Module:
    """Make ``name`` a parameter again, of the value that it has now."""
    hooks = module._forward_pre_hooks
    found = [
        (number, one)
        for number, one in hooks.items()
        if isinstance(one, kind) and one._target == name
    ]
    if not found:
        raise _C.ValueError(
            f"{caller}: needs what {kind.kind} computes, got {name!r}, which is not"
        )
    number, hook = found[0]
    with _C.no_grad():
        value = hook._compute(module)
    for part in hook._parts():
        delattr(module, part)
    delattr(module, name)
    del hooks[number]
    module.register_parameter(name, Parameter(value.detach()))
    return module
