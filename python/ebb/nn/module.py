# python/ebb/nn/module.py -- Module: the base of layers and networks.
#
# Parameters, buffers and submodules live in three dicts among the attributes, as programs for
# PyTorch expect (module_base.py), and are read there (python/src/parts/module_parts.cpp).
# Calling a module runs forward(), between the hooks if there are any, and lets what is recorded
# belong to the module (python/src/parts/module_call.cpp). Start reading at __setattr__.
"""The base class of everything in a network."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import (
    Callable,
    Iterator,
    Mapping,
)
from typing import TYPE_CHECKING, Any

import ebb
from ebb import _C
from ebb._base.handles import RemovableHandle
from ebb._devices import cuda_device
from ebb.nn import conversion, state, traversal
from ebb.nn.hooks import add_hook, call_with_hooks, of_all
from ebb.nn.module_base import BUFFERS, KINDS, MODULES, PARAMETERS, TRANSIENT, kind_held
from ebb.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from typing_extensions import Self  # noqa: UP035 -- checkers bring it, for 3.10 too

_WORDS = dict(zip(KINDS, ("parameter", "buffer", "module"), strict=True))


class _CallSignature:
    """``inspect.signature(module)``: a call, which C++ makes, has none of its own."""

    def __get__(self, module: Any, kind: type) -> Any:
        if module is None:
            raise AttributeError("__signature__")  # the class has that of its __init__
        from inspect import Parameter, Signature  # seldom needed, and 10 ms

        return Signature(
            [
                Parameter("args", Parameter.VAR_POSITIONAL),
                Parameter("kwargs", Parameter.VAR_KEYWORD),
            ]
        )


class Module(state.OwnState):
    """Base of layers and networks: subclasses assign parts in ``__init__`` and define ``forward``.

    Example:
        >>> class Twice(ebb.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.inner = ebb.nn.Linear(3, 3)
        ...     def forward(self, x):
        ...         return self.inner(self.inner(x))
    """

    __signature__: Any = _CallSignature()
    dump_patches: bool = False  # of PyTorch's oldest files; set by programs, and not looked at
    call_super_init = False  # read by programs written for PyTorch
    _is_part = False  # whether it was ever registered in a module

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Stand for parts that are registered by name, which no checker sees."""

    # Registration.

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        kind = _kind_of(value) if isinstance(value, _MAY_BE_PARTS) else None
        if kind is not None:
            self._take_part(own, kind, name, value)
            return
        for kind in KINDS:
            if kind in own and name in own[kind]:
                _check_reassigned(kind, name, value)
                own[kind][name] = value
                return
        object.__setattr__(self, name, value)

    def _take_part(self, own: dict[str, Any], kind: str, name: str, value: Any) -> None:
        """Hold a part in the place of whatever the module has of that name."""
        if kind not in own:
            raise AttributeError(
                f"{type(self).__name__}: needs super().__init__() before a {_WORDS[kind]} is "
                "assigned"
            )
        if kind == MODULES:
            self._add_part("__setattr__", name, value)
        for other in KINDS:
            if other != kind:
                own[other].pop(name, None)
        own.pop(name, None)
        own[kind][name] = value
        is_transient = kind == BUFFERS and not value.persistent
        (own[TRANSIENT].add if is_transient else own[TRANSIENT].discard)(name)

    def __delattr__(self, name: str) -> None:
        own = vars(self)
        kind = kind_held(own, name)
        if kind is None:
            object.__delattr__(self, name)
        else:
            del own[kind][name]
            own[TRANSIENT].discard(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under ``name``; None keeps the name for later."""
        if param is not None and not isinstance(param, Parameter):
            raise _C.DTypeError(
                f"register_parameter: needs a Parameter or None for {name!r}, "
                f"got {type(param).__name__}"
            )
        self._register("register_parameter", name, param, PARAMETERS)

    def register_buffer(self, name: str, tensor: _C.Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained.

        Args:
            persistent: Whether ``state_dict`` contains it.
        """
        if tensor is not None and not isinstance(tensor, _C.Tensor):
            raise _C.DTypeError(
                f"register_buffer: needs a Tensor or None for {name!r}, got {type(tensor).__name__}"
            )
        self._register("register_buffer", name, tensor, BUFFERS)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under ``name``."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under ``name``."""
        if module is not None and not isinstance(module, Module):
            raise _C.DTypeError(
                f"add_module: needs a Module or None for {name!r}, got {type(module).__name__}"
            )
        self._register("add_module", name, module, MODULES)

    def _register(self, op: str, name: str, value: Any, kind: str) -> None:
        own = vars(self)
        if kind not in own:
            raise AttributeError(
                f"{type(self).__name__}: needs super().__init__() before a {_WORDS[kind]} is "
                "assigned"
            )
        if not isinstance(name, str):
            raise _C.DTypeError(f"{op}: needs a name as str, got {type(name).__name__}")
        is_taken = name not in own[kind] and hasattr(self, name)
        if not name or "." in name or is_taken:
            raise _C.ValueError(f"{op}: needs a new name without dots, got {name!r}")
        if kind == MODULES and value is not None:
            self._add_part(op, name, value)
        own[kind][name] = value

    def _add_part(self, op: str, name: str, module: Module) -> None:
        """Refuse a module that holds this one: walks of a cycle would have no end."""
        # Only what is part of a module can be below one, so building bottom-up walks nothing.
        if module is self or (self._is_part and any(one is self for one in module.modules())):
            raise _C.ValueError(
                f"{op}: needs a module that does not hold this {type(self).__name__}, got one for "
                f"{name!r} that does\nhint: keep a module further out as [module], which is no part"
            )
        object.__setattr__(module, "_is_part", True)

    # Listing.

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield all parameters, a shared one once."""
        return (tensor for _, tensor in self.named_parameters(recurse=recurse))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield all parameters with their dotted names."""
        return traversal.named_tensors(self, "_parameters", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[_C.Tensor]:
        """Yield all buffers, a shared one once."""
        return (tensor for _, tensor in self.named_buffers(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, _C.Tensor]]:
        """Yield all buffers with their dotted names."""
        return traversal.named_tensors(self, "_buffers", prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Yield the direct submodules, a shared one once."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct submodules with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all below, a shared one once."""
        return (module for _, module in traversal.walk(self, "", remove_duplicate))

    def named_modules(
        self,
        memo: set[Module] | None = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and all below with their dotted names.

        Args:
            memo: Modules that are passed over; those met are added.
            prefix: In front of each name.
            remove_duplicate: Whether a shared module is met once.
        """
        return traversal.walk(self, prefix, remove_duplicate, memo)

    def get_submodule(self, target: str) -> Module:
        """Return the module with the dotted name ``target``; "" is this module."""
        return self._part_at("get_submodule", target)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module in the place with the dotted name ``target``.

        Args:
            strict: Refuse a name that the module above does not have yet.
        """
        path, _, name = target.rpartition(".")
        if not name or not isinstance(module, Module):
            raise _C.ValueError(
                f"set_submodule: needs a name and a Module, got {target!r} and "
                f"{type(module).__name__}"
            )
        parent = self._part_at("set_submodule", path)
        is_other = hasattr(parent, name) and not isinstance(getattr(parent, name), Module)
        if is_other or (strict and not hasattr(parent, name)):
            raise AttributeError(f"set_submodule: needs a submodule's name, got {target!r}")
        setattr(parent, name, module)

    def _part_at(self, op: str, target: str) -> Module:
        module = self
        for name in target.split(".") if target else []:
            module = module._modules.get(name) if isinstance(module, Module) else None
            if module is None:
                raise AttributeError(f"{op}: needs a submodule's name, got {target!r}")
        return module

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with the dotted name ``target``."""
        return self._tensor_at("get_parameter", "_parameters", target)

    def get_buffer(self, target: str) -> _C.Tensor:
        """Return the buffer with the dotted name ``target``."""
        return self._tensor_at("get_buffer", "_buffers", target)

    def _tensor_at(self, op: str, registry: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        found = getattr(self._part_at(op, path), registry).get(name)
        if found is None:
            kind = op.removeprefix("get_")
            raise AttributeError(f"{op}: needs a {kind}'s name, got {target!r}")
        return found

    # State.

    def state_dict(
        self,
        destination: dict[str, Any] | None = None,
        *,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Return parameters and persistent buffers by dotted name.

        The tensors share the module's memory, so copy what must not change.

        Args:
            destination: A dict to add to.
            prefix: Put before each name.
            keep_vars: Return the parameters themselves instead of detached tensors.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = {}  # the version of each module
        return state.collect(self, destination, prefix, keep_vars, Module.state_dict)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> state.LoadReport:
        """Copy values into parameters and buffers of the same names.

        Args:
            strict: Refuse names that only one side has.
            assign: Put the given tensors in place of the module's, instead of copying values:
                their dtypes win, and an optimizer made before holds the old ones.
        Returns:
            ``missing_keys`` and ``unexpected_keys``.
        Raises:
            ValueError: If names (with ``strict``) or shapes differ; then nothing was copied.
        """
        return state.load(self, state_dict, strict, assign)

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all below to training, or with False to evaluation."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Self:
        """Switch this module and all below to evaluation."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Mark all parameters as wanting a gradient, or not."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else _C.zeros_like(parameter.grad)

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call ``fn`` with every module, children first."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert all floating parameters and buffers, and move all of them, in place.

        Args:
            args: A dtype, a device, a device and a dtype, or a tensor that has what is wanted.
            kwargs: The same by name: ``device``, ``dtype``, ``tensor``; ``memory_format`` lays
                tensors of four or five dims out in another order, such as ``ebb.channels_last``;
                with ``non_blocking=True`` pinned memory is copied later, as ``Tensor.to`` does.
        """
        dtype, device, is_late = conversion.wanted(args, kwargs)
        if dtype is not None or device is not None:
            self._apply(conversion.conversion(dtype, device, is_late))
        if kwargs.get("memory_format") is not None:
            self._apply(conversion.arrangement(kwargs["memory_format"]))
        return self

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Give all parameters and buffers new memory on a device, in place, without their values.

        Args:
            recurse: Do so in the modules below too.
        """
        place = conversion.checked_device(device)
        return self._apply(lambda tensor: _C.empty_like(tensor, device=place), recurse)

    def share_memory(self) -> Self:
        """Move all parameters and buffers, in place, into memory that processes share."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    def _apply(self, fn: Callable[[_C.Tensor], _C.Tensor], recurse: bool = True) -> Self:
        conversion.apply(self, fn, recurse, Module._apply)
        return self

    def type(self, dst_type: _C.dtype) -> Self:
        """Convert all floating parameters and buffers, in place."""
        return self.to(dtype=dst_type)

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to CUDA's device, in place; a plug-in brings it.

        Args:
            device: Its index, or all of it; the first one if None.
        """
        return self.to(cuda_device(device))

    def xpu(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a device "xpu", in place, if a plug-in brings it.

        Args:
            device: Its index; the first one if None.
        Raises:
            ValueError: If there is none.
        """
        return self.to("xpu" if device is None else f"xpu:{device}")

    def ipu(self, device: Any = None) -> Self:
        """Do what ``xpu`` does with a device "ipu"."""
        return self.to("ipu" if device is None else f"ipu:{device}")

    def mtia(self, device: Any = None) -> Self:
        """Do what ``xpu`` does with a device "mtia"."""
        return self.to("mtia" if device is None else f"mtia:{device}")

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing but tell so once, as ``ebb.compile`` does, whose options it takes."""
        ebb.compile(self, *args, **kwargs)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU, in place."""
        return self.to("cpu")

    def float(self) -> Self:
        """Convert to float32."""
        return self.to(_C.float32)

    def double(self) -> Self:
        """Convert to float64."""
        return self.to(_C.float64)

    def half(self) -> Self:
        """Convert to float16."""
        return self.to(_C.float16)

    def bfloat16(self) -> Self:
        """Convert to bfloat16."""
        return self.to(_C.bfloat16)

    # Hooks and text.

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; its result replaces the arguments.

        Args:
            prepend: Run it before those that are there.
            with_kwargs: Call ``hook(module, args, kwargs)``, which may return a pair.
        """
        return add_hook(self, "_forward_pre_hooks", hook, with_kwargs, prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; its result replaces the output.

        Args:
            prepend: Run it before those that are there.
            with_kwargs: Call ``hook(module, args, kwargs, output)``.
            always_call: Call it, with None as output, where ``forward`` raises an error too.
        """
        return add_hook(self, "_forward_hooks", hook, with_kwargs, prepend, always_call)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when a run has passed the module.

        Both are tuples with None for what is no tensor or needs no gradient: what this module
        sends to its positional arguments (other uses of the same tensors are not counted), and
        the whole gradients of its outputs. A tuple that the hook returns replaces ``grad_input``;
        that needs a module with one tensor argument, or one that uses all of them in one op.
        """
        return add_hook(self, "_backward_hooks", hook, False, prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are complete.

        A tuple that the hook returns replaces the gradient of a module's only output.
        """
        return add_hook(self, "_backward_pre_hooks", hook, False, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Do what ``register_full_backward_hook`` does; an older spelling."""
        return add_hook(self, "_backward_hooks", hook)

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return traversal.represent(self)


_C._set_module_functions(
    traversal.steps_to, call_with_hooks, traversal.note_paths, tuple(of_all.values())
)


_MAY_BE_PARTS = (Module, _C.Tensor)


def _kind_of(value: Any) -> str | None:
    """Return the dict that holds a module or tensor; None for a tensor that is no part."""
    if isinstance(value, Module):
        return MODULES
    if isinstance(value, Parameter):
        return PARAMETERS
    return BUFFERS if isinstance(value, Buffer) else None


def _check_reassigned(known: str, name: str, value: Any) -> None:
    allowed = _C.Tensor if known == BUFFERS else ()
    if value is not None and not isinstance(value, allowed):
        raise _C.DTypeError(
            f"__setattr__: needs a {_WORDS[known]} or None for {name!r}, got {type(value).__name__}"
        )
