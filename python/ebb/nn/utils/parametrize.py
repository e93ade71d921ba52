# python/ebb/nn/utils/parametrize.py -- parameters that are computed from others when they are read.
#
# A parametrized module gets a class made for it: a subclass of its own class with a property for
# each parametrized name. Such classes are kept by class and names, never changed, so that modules
# share them and copies of a module stay independent.
"""Parametrizations of parameters and buffers, under PyTorch's names."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb._C import Tensor
from ebb.nn.containers import ModuleDict, ModuleList
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Tensor] = {}
_cached_blocks = 0


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once within the block.

    Example:
        >>> layer = ebb.nn.utils.parametrizations.weight_norm(ebb.nn.Linear(2, 2))
        >>> with ebb.nn.utils.parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _cached_blocks
    _cached_blocks += 1
    try:
        yield
    finally:
        _cached_blocks -= 1
        if not _cached_blocks:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first to last, and what they start from.

    Args:
        modules: The parametrizations.
        original: The tensor as it was. It becomes ``original``, or ``original0``, ``original1``,
            ... if the first ``right_inverse`` returns several tensors.
        unsafe: Allow results of another shape or dtype.

    Example:
        >>> layer = ebb.nn.utils.parametrizations.weight_norm(ebb.nn.Linear(3, 2))
        >>> made = layer.parametrizations.weight
        >>> type(made).__name__, len(made), made.original1.shape
        ('ParametrizationList', 1, ebb.Size([2, 3]))
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False):
        super().__init__(modules)
        self.unsafe = unsafe
        found: Any = original
        with _C.no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # some forms of a map have no inverse
                        found = module.right_inverse(found)
        self.is_tensor: bool = isinstance(found, Tensor)
        self.ntensors: int = 1 if self.is_tensor else len(found)
        for name, value in zip(self._names(), [found] if self.is_tensor else found, strict=True):
            self._keep(name, value, original)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def _keep(self, name: str, value: Tensor, original: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise _C.DTypeError(
                f"register_parametrization: right_inverse needs to return tensors, got "
                f"{type(value).__name__}"
            )
        if not isinstance(original, Parameter):
            self.register_buffer(name, value.detach())
        elif value is original:
            self.register_parameter(name, original)
        else:
            self.register_parameter(name, Parameter(value.detach(), original.requires_grad))

    def _originals(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._names()]

    def right_inverse(self, value: Tensor) -> None:
        """Set what the parametrizations start from so that they give ``value``, if they can."""
        found: Any = value
        with _C.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise _C.NotImplementedError(
                        f"right_inverse: needs {type(module).__name__}.right_inverse to assign to "
                        "what it parametrizes, got none"
                    )
                found = module.right_inverse(found)
            targets = [found] if self.is_tensor else list(found)
            for original, new in zip(self._originals(), targets, strict=True):
                original.copy_(new)

    def forward(self) -> Tensor:
        """Return the tensor: the last parametrization of ... of the first."""
        modules = list(self)
        value = modules[0](*self._originals())
        for module in modules[1:]:
            value = module(value)
        return value


@functools.cache
def _class_with(base: type, names: tuple[str, ...]) -> type:
    """Return a subclass of ``base`` whose attributes ``names`` are computed."""
    return type(
        f"Parametrized{base.__name__}",
        (base,),
        {
            "__module__": base.__module__,
            "_parametrized_base": base,
            "__getstate__": _refuse_pickle,
            "__deepcopy__": _copy,
            **{name: _property(name) for name in names},
        },
    )


def _property(name: str) -> property:
    def get(self: Module) -> Tensor:
        if not _cached_blocks:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def put(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _copy(self: Module, memo: dict[Any, Any]) -> Module:
    twin = type(self).__new__(type(self))
    memo[id(self)] = twin
    twin.__setstate__(copy.deepcopy(vars(self), memo))
    return twin


def _refuse_pickle(self: Module) -> None:
    raise _C.NotImplementedError(
        f"pickle: {type(self).__name__} is made when parametrized and cannot be pickled\n"
        "hint: save state_dict(), or call remove_parametrizations() first"
    )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether ``module`` computes ``tensor_name``, or any of its tensors.

    Example:
        >>> layer = ebb.nn.utils.parametrizations.weight_norm(ebb.nn.Linear(3, 2))
        >>> check = ebb.nn.utils.parametrize.is_parametrized
        >>> check(layer), check(layer, "weight"), check(layer, "bias")
        (True, True, False)
    """
    lists = module._modules.get("parametrizations")
    if not isinstance(lists, ModuleDict) or not hasattr(type(module), "_parametrized_base"):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def type_before_parametrizations(module: Module) -> type:
    """Return the class that ``module`` had before it was parametrized.

    Example:
        >>> layer = ebb.nn.utils.parametrizations.weight_norm(ebb.nn.Linear(3, 2))
        >>> ebb.nn.utils.parametrize.type_before_parametrizations(layer) is ebb.nn.Linear
        True
    """
    return getattr(type(module), "_parametrized_base", type(module))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of ``module`` by ``parametrization`` whenever it is read.

    Args:
        tensor_name: The attribute. Its value moves to
            ``module.parametrizations[tensor_name].original``, which is trained in its place.
        parametrization: Called with the original, or the result of an earlier parametrization.
            Its ``right_inverse``, if any, is what assignments and the first value go through.
        unsafe: Allow results of another shape or dtype.

    Returns:
        ``module``, whose class is now a subclass of what it was.

    Example:
        >>> class Symmetric(ebb.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = ebb.nn.Linear(3, 3)
        >>> _ = ebb.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.mT).all())
        True
    """
    name = "register_parametrization"
    if not isinstance(parametrization, Module):
        raise _C.DTypeError(f"{name}: needs a Module, got {type(parametrization).__name__}")
    if is_parametrized(module, tensor_name):
        _add(module.parametrizations[tensor_name], tensor_name, parametrization, unsafe)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise _C.ValueError(
            f"{name}: needs the name of a parameter or buffer of {type(module).__name__}, got "
            f"{tensor_name!r}"
        )
    original = getattr(module, tensor_name)
    made = ParametrizationList([parametrization], original, unsafe)
    with _C.no_grad():
        _check_result(tensor_name, made(), original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = made
    _set_class(module)
    return module


def _add(made: ParametrizationList, tensor_name: str, module: Module, unsafe: bool) -> None:
    with _C.no_grad():
        before = made()
        _check_result(tensor_name, module(before), before, unsafe)
    made.append(module)
    made.unsafe = made.unsafe or unsafe


def _check_result(tensor_name: str, got: Any, original: Tensor, unsafe: bool) -> None:
    if not isinstance(got, Tensor):
        raise _C.DTypeError(
            f"register_parametrization: needs a parametrization that returns a tensor, got "
            f"{type(got).__name__}"
        )
    if not unsafe and (got.dtype is not original.dtype or got.shape != original.shape):
        raise _C.ValueError(
            f"register_parametrization: needs a result for {tensor_name!r} of {original.dtype} "
            f"{list(original.shape)}, got {got.dtype} {list(got.shape)}\n"
            "hint: unsafe=True allows it"
        )


def _set_class(module: Module) -> None:
    base = type_before_parametrizations(module)
    lists = module._modules.get("parametrizations")
    names = tuple(sorted(lists.keys())) if lists is not None else ()
    object.__setattr__(module, "__class__", _class_with(base, names) if names else base)


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make ``tensor_name`` a parameter or buffer again.

    Args:
        leave_parametrized: Keep the computed value; else the original one.

    Example:
        >>> layer = ebb.nn.utils.parametrizations.weight_norm(ebb.nn.Linear(3, 2))
        >>> ebb.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        Linear(in_features=3, out_features=2, bias=True)
        >>> type(layer.weight).__name__
        'Parameter'
    """
    if not is_parametrized(module, tensor_name):
        raise _C.ValueError(
            f"remove_parametrizations: needs the name of a parametrized tensor of "
            f"{type(module).__name__}, got {tensor_name!r}"
        )
    made = module.parametrizations[tensor_name]
    if not leave_parametrized and not made.is_tensor:
        raise _C.ValueError(
            f"remove_parametrizations: needs leave_parametrized=True for {tensor_name!r}, which "
            f"is made of {made.ntensors} tensors, got False"
        )
    first = made._originals()[0]
    value = first if made.is_tensor else None
    with _C.no_grad():
        computed = made() if leave_parametrized else None
    if computed is not None:
        if value is not None and value.shape == computed.shape and value.dtype is computed.dtype:
            value.data = computed.detach().clone()  # what a state_dict() holds stays as it was
        elif isinstance(first, Parameter):
            value = Parameter(computed.detach().clone(), first.requires_grad)
        else:
            value = computed.detach().clone()
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
    _set_class(module)
    if isinstance(value, Parameter):
        module.register_parameter(tensor_name, value)
    else:
        module.register_buffer(tensor_name, value)
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give ``to_module`` the parametrizations of ``from_module`` and their originals.

    Args:
        tensor_name: Transfer those of one tensor only.

    Example:
        >>> layer = ebb.nn.utils.parametrizations.weight_norm(ebb.nn.Linear(3, 2))
        >>> other = ebb.nn.Linear(3, 2)
        >>> _ = ebb.nn.utils.parametrize.transfer_parametrizations_and_params(layer, other)
        >>> bool((other.weight == layer.weight).all())
        True
    """
    if not is_parametrized(from_module):
        return to_module
    names = from_module.parametrizations.keys() if tensor_name is None else [tensor_name]
    for name in list(names):
        if not is_parametrized(from_module, name):
            continue
        made = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            kept = made().detach().clone()
            setattr(to_module, name, Parameter(kept) if isinstance(made._originals()[0], Parameter)
                    else kept)  # fmt: skip
        for one in made:
            register_parametrization(to_module, name, one, unsafe=made.unsafe)
        target = to_module.parametrizations[name]
        with _C.no_grad():
            for own, given in zip(target._originals(), made._originals(), strict=True):
                own.copy_(given)
    return to_module


_naming.name_module(__name__)
