# python/ebb/overrides.py -- __ebb_function__: classes that take part in ebb's functions.
#
# PyTorch's __torch_function__ under ebb's name; a class that has only that takes part too
# (note_class(), _ask()), and is asked as what fills "spell_call" of _base/seam.py puts the call.
# Functions of the op table, and methods that get such an object as an argument, come here from
# where arguments are parsed (python/src/calls/overrides.h). Methods, operators and properties of a
# subclass of Tensor come here through wrappers that prepare_class() puts into the class when it is
# made. So neither costs a plain tensor anything. Start reading at _dispatch().
"""The override protocol for subclasses of ``Tensor`` and objects that act like tensors."""

from __future__ import annotations

import functools
import sys
import threading
import types as _types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ebb import _C
from ebb._base import naming as _naming, seam as _seam
from ebb._base.arguments import check_callable
from ebb._base.makers import MAKERS
from ebb._C import Tensor

__all__ = [
    "DisableEbbFunction",
    "DisableEbbFunctionSubclass",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_ebb_function",
    "has_ebb_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_ebb_function",
]


class DisableEbbFunctionSubclass:
    """Context manager: on this thread, no class is asked; objects are what they are.

    Example:
        >>> class Named(ebb.Tensor):
        ...     @classmethod
        ...     def __ebb_function__(cls, function, types, args=(), kwargs=None):
        ...         return super().__ebb_function__(function, types, args, kwargs)
        >>> x = ebb.ones(2).as_subclass(Named)
        >>> with ebb.overrides.DisableEbbFunctionSubclass():
        ...     type(x + 1).__name__
        'Tensor'
        >>> type(x + 1).__name__
        'Named'
    """

    def __enter__(self) -> None:
        self._before = _C._switch_overrides_off(True)

    def __exit__(self, *exc: object) -> None:
        _C._switch_overrides_off(self._before)


# The same: ebb has no modes that it would also switch off.
DisableEbbFunction = DisableEbbFunctionSubclass


def has_ebb_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether one of these arguments has a class that takes part.

    Example:
        >>> class Logged:
        ...     def __ebb_function__(self, function, types, args=(), kwargs=None):
        ...         return f"asked for {function.__name__}"
        >>> ebb.overrides.has_ebb_function([Logged(), 1])
        True
    """
    return _C._has_override(*relevant_args)


def handle_ebb_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Make the call ``public_api(*args, **kwargs)`` by the protocol.

    Each class among ``relevant_args`` is asked once, from left to right, a subclass before its
    bases, by ``__ebb_function__(public_api, types, args, kwargs)``; the first answer that is not
    ``NotImplemented`` is the result.

    Raises:
        TypeError: If all classes answer ``NotImplemented``.

    Example:
        >>> class Logged:
        ...     def __ebb_function__(self, function, types, args=(), kwargs=None):
        ...         return f"asked for {function.__name__}"
        >>> x = Logged()
        >>> ebb.overrides.handle_ebb_function(ebb.add, [x], x, 1)
        'asked for add'
    """
    asked = _one_of_each_class(relevant_args)
    types = tuple(type(one) for one in asked)
    for one in asked:
        answer = _ask(one, public_api, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    raise _C.DTypeError(
        f"{resolve_name(public_api)}: no implementation found for types that implement "
        f"__ebb_function__, got {', '.join(kind.__qualname__ for kind in types)}"
    )


def _ask(one: Any, function: Any, types: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """What the class of an object answers, under whichever name it has the protocol."""
    if getattr(type(one), "__ebb_function__", None) is not None:
        return one.__ebb_function__(function, types, args, kwargs)
    function, args = _as_expected(function, args)
    return one.__torch_function__(function, types, args, kwargs)


def _as_expected(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """A call as classes expect it that have the protocol by its second name."""
    spell = _seam.filled("spell_call")
    return (function, args) if spell is None else spell(function, args)


def _one_of_each_class(objects: Iterable[Any]) -> list[Any]:
    """The first object of each class that takes part, in the order of asking."""
    found: list[Any] = []
    for one in objects:
        kind = type(one)
        if not _C._has_override(one) or any(type(other) is kind for other in found):
            continue
        later = (i for i, other in enumerate(found) if issubclass(kind, type(other)))
        found.insert(next(later, len(found)), one)
    return found


def _arguments(args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Iterator[Any]:
    """All arguments, and the elements of those that are lists or tuples."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _dispatch(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """Where calls arrive that have an argument whose class takes part."""
    return handle_ebb_function(function, _arguments(args, kwargs), *args, **kwargs)


def wrap_ebb_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Decorator: let a function of yours take part; ``dispatcher`` picks the arguments to ask.

    Example:
        >>> class Logged:
        ...     def __ebb_function__(self, function, types, args=(), kwargs=None):
        ...         return f"asked for {function.__name__}"
        >>> @ebb.overrides.wrap_ebb_function(lambda x: (x,))
        ... def double(x):
        ...     return 2 * x
        >>> double(Logged()), double(1)
        ('asked for double', 2)
    """
    check_callable(dispatcher)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_ebb_function(relevant):
                return handle_ebb_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


# --- what a subclass of Tensor gets ---

_running = threading.local()  # its `functions`: those that this thread makes by Tensor's own


def default_function(
    cls: type,
    function: Callable[..., Any],
    types: Any,
    args: tuple[Any, ...],
    kwargs: dict[Any, Any] | None,
) -> Any:
    """``Tensor.__ebb_function__``: the call itself, with tensors among its results made ``cls``."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    running = _running.__dict__.setdefault("functions", [])
    # PyTorch's own functions ask tensors of ebb too, and know nothing of what is switched off.
    if any(one is function for one in running):
        return NotImplemented
    running.append(function)
    try:
        with DisableEbbFunctionSubclass():
            result = function(*args, **(kwargs or {}))
    finally:
        running.pop()
    if function in _default_nowrap_functions():
        return result
    given = {id(one) for one in _arguments(args, kwargs or {})}
    return _converted(result, cls, given)


def _converted(result: Any, cls: type, given: set[int]) -> Any:
    """``result`` with plain tensors made ``cls``; those given to the call keep their class."""
    if type(result) is Tensor and cls is not Tensor:
        if id(result) in given:
            return result.as_subclass(cls)
        result.__class__ = cls  # fresh: nobody else has the object
        return result
    if isinstance(result, (tuple, list)):
        parts = [_converted(one, cls, given) for one in result]
        kind = type(result)
        return parts if kind is list else kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    return result


@classmethod
def _ask_torch_function(
    cls: Any, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
) -> Any:
    """``__ebb_function__`` of a class that has ``__torch_function__``."""
    function, args = _as_expected(function, args)
    return cls.__torch_function__(function, types, args, kwargs)


_OWN_SLOTS = {
    *("__class__", "__delattr__", "__dict__", "__dir__", "__doc__", "__ebb_function__"),
    *("__torch_function__",),
    *("__getattribute__", "__getstate__", "__hash__", "__init__", "__init_subclass__"),
    *("__module__", "__new__", "__reduce__", "__reduce_ex__", "__setattr__", "__sizeof__"),
    *("__subclasshook__", "__weakref__", "__deepcopy__", "__array_priority__", "as_subclass"),
}


@functools.cache
def _members() -> dict[str, Any]:
    """Methods, operators and properties of Tensor that ask the class."""
    kinds = (
        _types.MethodDescriptorType,
        _types.WrapperDescriptorType,
        _types.FunctionType,
        _types.GetSetDescriptorType,
        property,
    )
    return {
        name: member
        for name, member in vars(Tensor).items()
        if isinstance(member, kinds)
        and name not in _OWN_SLOTS
        and (name.startswith("__") or not name.startswith("_"))
    }


_keeps_subclasses = False


def keep_subclasses(is_on: bool) -> None:
    """Let subclasses of Tensor without the protocol take part by Tensor's own, as in PyTorch."""
    global _keeps_subclasses
    _keeps_subclasses = is_on
    _C._keep_subclasses(is_on)
    waiting = Tensor.__subclasses__() if is_on else []
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        note_class(cls)


def note_class(cls: type) -> None:
    """Prepare a subclass of Tensor that has the protocol, under either name."""
    names = ("__ebb_function__", "__torch_function__")
    first = next(base for base in cls.__mro__ if any(name in vars(base) for name in names))
    if "__ebb_function__" not in vars(first):
        own = vars(first)["__torch_function__"]
        takes_no_part = own is None or own is _C._disabled_override
        cls.__ebb_function__ = own if takes_no_part else _ask_torch_function  # type: ignore
        first = cls
    wish = vars(first)["__ebb_function__"]
    if wish is None or wish is _C._disabled_override or (first is Tensor and not _keeps_subclasses):
        return
    prepare_class(cls)


def prepare_class(cls: type) -> None:
    """Let methods, operators and properties that ``cls`` has from Tensor ask ``cls``."""
    _C._note_overriding_class()
    for name, member in _members().items():
        inherited = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
        if inherited is not member:
            continue  # its own
        is_property = isinstance(member, (_types.GetSetDescriptorType, property))
        setattr(cls, name, _asking_property(member) if is_property else _asking_method(member))


def _asking_method(member: Any) -> Callable[..., Any]:
    @functools.wraps(member)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _C._has_override(self, *args):
            return member(self, *args, **kwargs)
        return _dispatch(member, (self, *args), kwargs)

    return method


def _asking_property(member: Any) -> property:
    def ask(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            if _C._has_override(args[0]):
                return _dispatch(function, args, {})
            return function(*args)

        return call

    accessors = ask(member.__get__), ask(member.__set__), ask(member.__delete__)
    return property(*accessors, member.__doc__)


# --- what there is ---


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results ``Tensor.__ebb_function__`` leaves as they are.

    Example:
        >>> ebb.Tensor.grad.__get__ in ebb.overrides.get_default_nowrap_functions()
        True
    """
    return _default_nowrap_functions()


@functools.cache
def _default_nowrap_functions() -> set[Callable[..., Any]]:
    names = ("_base", "grad", "_grad", "grad_fn", "_version")
    return {vars(Tensor)[name].__get__ for name in names if name in vars(Tensor)}


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return all functions that ask classes, by where they are found: ``ebb``, ``Tensor``, and
    ``ebb.linalg`` and its like.

    ``ebb.nn.functional`` is computed by them and asks through them.

    Example:
        >>> ebb.add in ebb.overrides.get_overridable_functions()[ebb]
        True
    """
    return _overridable_functions()


@functools.cache
def _overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    import ebb

    functions = [getattr(ebb, name) for name in ebb.ops.__all__ if hasattr(ebb, name)]
    members = []
    for member in _members().values():
        is_property = isinstance(member, (_types.GetSetDescriptorType, property))
        members.append(member.__get__ if is_property else member)
    asking = [one for one in functions if one not in get_ignored_functions()]
    found = {ebb: asking, Tensor: members}
    for one in vars(_C._ops).values():
        owner = sys.modules.get(getattr(one, "__module__", None) or "")
        if owner is not None and owner is not _C and owner.__name__.startswith("ebb."):
            found.setdefault(owner, []).append(one)
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Functions that ask nobody: they take no tensor, or make plain ones.

    Example:
        >>> ebb.zeros in ebb.overrides.get_ignored_functions()
        True
    """
    return _ignored_functions()


@functools.cache
def _ignored_functions() -> set[Callable[..., Any]]:
    import ebb

    found = {getattr(ebb, name) for name in MAKERS}
    return found | {ebb.logspace, ebb.tensor, Tensor.as_subclass, Tensor.__new__}


def is_tensor_like(inp: Any) -> bool:
    """Return whether an object is a Tensor or has a class that takes part.

    Example:
        >>> ebb.overrides.is_tensor_like(ebb.ones(1)), ebb.overrides.is_tensor_like([1.0])
        (True, False)
    """
    return isinstance(inp, Tensor) or any(
        hasattr(inp, name) for name in ("__ebb_function__", "__torch_function__")
    )


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether ``func`` is a method of Tensor, or gets a property of it.

    Example:
        >>> check = ebb.overrides.is_tensor_method_or_property
        >>> check(ebb.Tensor.add), check(ebb.add)
        (True, False)
    """
    return func in get_overridable_functions()[Tensor] or getattr(func, "__name__", "") == "__set__"


def resolve_name(f: Callable[..., Any]) -> str:
    """Return how to write a function: ``ebb.matmul``, ``ebb.Tensor.add``.

    Example:
        >>> ebb.overrides.resolve_name(ebb.matmul), ebb.overrides.resolve_name(ebb.Tensor.add)
        ('ebb.matmul', 'ebb.Tensor.add')
    """
    owner = getattr(f, "__self__", None)
    if isinstance(owner, (_types.GetSetDescriptorType, property)):
        name = next(name for name, member in vars(Tensor).items() if member is owner)
        return f"ebb.Tensor.{name}.{f.__name__}"
    if isinstance(f, (_types.MethodDescriptorType, _types.WrapperDescriptorType)):
        return f"ebb.Tensor.{f.__name__}"
    if isinstance(f, _types.BuiltinFunctionType):
        return f"{(f.__module__ or 'ebb').partition('._C')[0]}.{f.__name__}"
    return _public_name(f) or f"{f.__module__}.{getattr(f, '__qualname__', repr(f))}"


def _public_name(f: Callable[..., Any]) -> str:
    """Where the package offers a function that is written in Python; "" if nowhere."""
    name = getattr(f, "__name__", "")
    rooms = {"ebb.Tensor": Tensor}
    rooms |= {room: sys.modules[room] for room in ("ebb", "ebb.nn.functional", "ebb.linalg")}
    found = (room for room, owner in rooms.items() if vars(owner).get(name) is f)
    return next((f"{room}.{name}" for room in found), "")


_naming.name_module(__name__)
