# satellites/torch/ebb/torch_compat/library.py -- torch.library: ops of a program's own, by name.
#
# An op is its function: no dispatcher chooses among devices. Where an input requires a gradient the
# call is one node, so that the function sees tensors without history, as PyTorch's does; its
# backward is what register_autograd() was given. `torch.ops.room.name` finds ops by name.
"""``custom_op``, ``Library``, ``define``, ``impl`` and the functions that add to an op."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

from ebb import _C, autograd
from ebb._C import Tensor

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "impl_abstract",
    "register_autograd",
    "register_fake",
    "register_kernel",
]

_ops: dict[str, CustomOpDef] = {}  # by "room::name"


class CustomOpDef:
    """An op of a program's own.

    Args:
        name: With its room, as ``mine::sin``.
        fn: What it computes; None if ``impl`` will say.

    Example:
        >>> from ebb.torch_compat import library
        >>> double = library.custom_op("docs::double", lambda x: x * 2, mutates_args=())
        >>> double(ebb.ones(2)), double
        (tensor([2., 2.]), <CustomOpDef(docs::double)>)
    """

    def __init__(self, name: str, fn: Callable[..., Any] | None = None):
        self._qualname = name
        self._fn = fn
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._node: Any = None
        self.default = self  # torch.ops.room.name.default: its only overload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the op's function returns."""
        if self._fn is None:
            raise _C.NotImplementedError(
                f"{self._qualname}: needs a function, got a definition alone\n"
                "hint: torch.library.impl gives it one"
            )
        fn = self._fn
        if kwargs:  # a node takes arguments by position alone
            bound = inspect.signature(fn).bind(*args, **kwargs)
            bound.apply_defaults()
            args, named = bound.args, bound.kwargs
            if named:
                return fn(*args, **named) if self._backward is None else self._refuse(named)
        is_recorded = _C.is_grad_enabled() and any(
            isinstance(one, Tensor) and one.requires_grad for one in args
        )
        if not is_recorded:
            return fn(*args)
        if self._node is None:
            self._node = _node_of(self)
        return self._node.apply(*args)

    def _refuse(self, named: dict[str, Any]) -> Any:
        raise _C.NotImplementedError(
            f"{self._qualname}: needs arguments that may stand in their places, got the names "
            f"{list(named)} alone"
        )

    def register_fake(self, fn: Any = None, /) -> Any:
        """Return the function: shapes come from calls."""
        return fn if fn is not None else self.register_fake

    def register_kernel(self, device_types: Any, func: Any = None, /) -> Any:
        """Take the function for the op, if it is for the CPU and the op has none."""
        if func is None:
            return functools.partial(self.register_kernel, device_types)
        kinds = [device_types] if isinstance(device_types, str | None) else list(device_types)
        if self._fn is None and any(one in (None, "cpu", "default") for one in kinds):
            self._fn = func
        return func

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Say how gradients are computed.

        Args:
            backward: Called as ``backward(ctx, *grads)``; returns one for each argument.
            setup_context: Called as ``setup_context(ctx, inputs, output)``; keeps what that needs.
        """
        self._backward, self._setup, self._node = backward, setup_context, None

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def _node_of(op: CustomOpDef) -> Any:
    def forward(ctx: Any, *args: Any) -> Any:
        assert op._fn is not None
        plain = [one.detach() if isinstance(one, Tensor) else one for one in args]
        output = op._fn(*plain)
        if op._setup is not None:
            op._setup(ctx, args, output)
        return output

    def backward(ctx: Any, *grads: Any) -> Any:
        if op._backward is None:
            raise _C.NotImplementedError(
                f"{op._qualname}: needs register_autograd for its backward, got none"
            )
        return op._backward(ctx, *grads)

    name = re.sub(r"\W+", "_", op._qualname)
    parts = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (autograd.Function,), parts)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an op of a function, or return what does.

    Args:
        name: With its room, as ``mine::sin``.
        fn: The function.
        mutates_args: Taken for PyTorch's sake, as the others are: writes are seen anyway.

    Example:
        >>> from ebb.torch_compat import library
        >>> @library.custom_op("docs::triple", mutates_args=())
        ... def triple(x: ebb.Tensor) -> ebb.Tensor:
        ...     return x * 3
        >>> triple(ebb.ones(1))
        tensor([3.])
    """
    del mutates_args, device_types, schema, tags
    if fn is None:
        return functools.partial(_made, name)
    return _made(name, fn)


def _made(name: str, fn: Callable[..., Any] | None) -> CustomOpDef:
    if name.count("::") != 1:
        raise _C.ValueError(f"custom_op: needs a name such as mine::sin, got {name!r}")
    made = CustomOpDef(name, fn)
    if fn is not None:
        functools.update_wrapper(made, fn)
    _ops[name] = made
    return made


def _found(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    name = str(op).partition(".")[0]  # an overload's name is behind it
    if name not in _ops:
        raise _C.ValueError(f"torch.library: needs an op that was defined, got {op!r}")
    return _ops[name]


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = None) -> None:
    """Name an op, which ``impl`` gives a function.

    Example:
        >>> from ebb.torch_compat import library
        >>> library.define("docs::inc", "(Tensor x) -> Tensor")
        >>> _ = library.impl("docs::inc", "cpu", lambda x: x + 1)
        >>> library.room("docs").inc(ebb.ones(1))
        tensor([2.])
    """
    del schema, lib, tags
    _made(qualname, None)


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Give an op its function; the last one for the CPU, or for any device, counts.

    Args:
        qualname: The op's name; or a ``Library``, and the op's name in it.
        types: The kinds of devices; then, after a library, the key that means as much.
        func: The function; a decorator is returned if it is None.

    Example:
        >>> from ebb.torch_compat import library
        >>> library.define("docs::dec", "(Tensor x) -> Tensor")
        >>> _ = library.impl("docs::dec", "default")(lambda x: x - 1)
        >>> library.room("docs").dec(ebb.ones(1))
        tensor([0.])
    """
    if isinstance(qualname, Library):
        return functools.partial(_implemented, f"{qualname.ns}::{types}", func or "")
    del lib
    if func is None:
        return functools.partial(_implemented, qualname, types)
    return _implemented(qualname, types, func)


def _implemented(name: str, types: Any, func: Any) -> Any:
    kinds = [types] if isinstance(types, str) else list(types)
    plain = {"", "cpu", "default", "compositeexplicitautograd", "compositeimplicitautograd"}
    if any(str(one).lower() in plain for one in kinds):
        _found(name)._fn = func
    return func


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None, _stacklevel: int = 1) -> Any:
    """Return the function: shapes come from calls.

    Example:
        >>> from ebb.torch_compat import library
        >>> library.register_fake("docs::any", len) is len
        True
    """
    del op, lib, _stacklevel
    return func if func is not None else _as_it_is


impl_abstract = register_fake


def _as_it_is(func: Any) -> Any:
    return func


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Do as the op's ``register_kernel`` does.

    Example:
        >>> from ebb.torch_compat import library
        >>> library.define("docs::neg", "(Tensor x) -> Tensor")
        >>> _ = library.register_kernel("docs::neg", "cpu", lambda x: -x)
        >>> library.room("docs").neg(ebb.ones(1))
        tensor([-1.])
    """
    del lib
    found = _found(op)
    return (
        found.register_kernel(device_types, func) if func else found.register_kernel(device_types)
    )


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None
) -> None:
    """Do as the op's ``register_autograd`` does.

    Example:
        >>> from ebb.torch_compat import library
        >>> op = library.custom_op("docs::twice", lambda x: x * 2, mutates_args=())
        >>> library.register_autograd("docs::twice", lambda ctx, grad: grad * 2)
    """
    del lib
    _found(op).register_autograd(backward, setup_context=setup_context)


class Library:
    """A room of ops.

    Args:
        ns: Its name.
        kind: "DEF", "IMPL" or "FRAGMENT"; all are alike here.
        dispatch_key: Taken for PyTorch's sake.

    Example:
        >>> from ebb.torch_compat import library
        >>> lib = library.Library("docs", "FRAGMENT")
        >>> lib.define("square(Tensor x) -> Tensor")
        'square'
        >>> lib.impl("square", lambda x: x * x, "CPU")
        >>> library.room("docs").square(ebb.tensor(3.0))
        tensor(9.)
    """

    def __init__(self, ns: str, kind: str = "DEF", dispatch_key: str = ""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise _C.ValueError(f"Library: needs DEF, IMPL or FRAGMENT, got {kind!r}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Name an op by its schema; return its name."""
        del alias_analysis, tags
        name = schema.partition("(")[0].strip().partition(".")[0]
        _made(f"{self.ns}::{name}", None)
        return name

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> None:
        """Give an op its function."""
        del options
        name = op_name if isinstance(op_name, str) else op_name._qualname.partition("::")[2]
        _implemented(f"{self.ns}::{name}", dispatch_key or self.dispatch_key, fn)


class Room:
    """``torch.ops.name``: the ops of a room as attributes.

    Example:
        >>> from ebb.torch_compat import library
        >>> try:
        ...     library.Room("nothing").sin
        ... except AttributeError as error:
        ...     print(error)
        torch.ops.nothing.sin: no such op was defined
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> CustomOpDef:
        found = _ops.get(f"{self._name}::{name}")
        if found is None:
            raise AttributeError(f"torch.ops.{self._name}.{name}: no such op was defined")
        return found

    def __dir__(self) -> list[str]:
        return [one.partition("::")[2] for one in _ops if one.startswith(f"{self._name}::")]


def room(name: str) -> Room:
    """Return the ops of a room.

    Example:
        >>> from ebb.torch_compat import library
        >>> library.room("docs")._name
        'docs'
    """
    return Room(name)


def has_room(name: str) -> bool:
    """Return whether a program has named an op in a room.

    Example:
        >>> from ebb.torch_compat import library
        >>> library.has_room("nothing")
        False
    """
    return any(one.startswith(f"{name}::") for one in _ops)
