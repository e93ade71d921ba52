# python/ebb/nn/utils/computed.py -- a weight that a hook computes before each call of its module.
"""What the older spellings of weight_norm and spectral_norm share."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._base.handles import RemovableHandle
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter


class ComputedWeight:
    """A hook that sets the attribute ``name`` of a module before it runs.

    Subclasses define ``split``, which puts what the weight is made of into the module, ``parts``,
    its names, and ``compute``.
    """

    kind: str  # the function that users call
    handle: RemovableHandle | None = None  # a hook out of PyTorch's file brings none

    def __init__(self, name: str):
        self.name = name

    def split(self, module: Module, weight: Parameter) -> None:
        """Put what ``weight`` is made of into ``module``."""
        raise NotImplementedError

    def compute(self, module: Module) -> Any:
        """Return the weight."""
        raise NotImplementedError

    def parts(self) -> list[str]:
        """Return the names of what ``split`` put into the module."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the weight; the module is about to be called."""
        value = self.compute(module)
        value._is_made_anew = True  # a deep copy of the module needs its value alone
        setattr(module, self.name, value)

    def apply(self, caller: str, module: Module) -> Module:
        """Replace the parameter ``name`` of ``module`` by what it is computed from."""
        weight = module._parameters.get(self.name)
        if weight is None:
            raise _C.ValueError(
                f"{caller}: needs the name of a parameter of {type(module).__name__}, got "
                f"{self.name!r}"
            )
        delattr(module, self.name)
        self.split(module, weight)
        with _C.no_grad():
            setattr(module, self.name, self.compute(module))
        self.handle = module.register_forward_pre_hook(self)
        return module

    @classmethod
    def remove(cls, caller: str, module: Module, name: str) -> Module:
        """Make ``name`` a parameter again, of the value that it has now."""
        own = module._hooks.before if module._hooks is not None else {}
        for hook, _ in list(own.values()):
            if isinstance(hook, cls) and hook.name == name:
                break
        else:
            raise _C.ValueError(
                f"{caller}: needs what {cls.kind} computes, got {name!r}, which is not"
            )
        with _C.no_grad():
            value = hook.compute(module)
        for part in hook.parts():
            delattr(module, part)
        delattr(module, name)
        if hook.handle is not None:
            hook.handle.remove()
        module.register_parameter(name, Parameter(value.detach()))
        return module
