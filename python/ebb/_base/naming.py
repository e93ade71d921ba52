# python/ebb/_base/naming.py -- errors of functions in Python name the function and the argument.
#
# name_errors() puts a PublicFunction (python/src/calls/public_function.h) in the place of each
# public function, constructor and method of the package. Calls pass through it; when one fails that
# came from outside the package, explain() makes of whatever was raised inside one of ebb's errors,
# and says which argument is not of the kind that the signature's annotations ask for. Nothing is
# checked before that. Errors that users' own code raised, called from here, stay as they are.
"""Explains errors at the edge of the package. Start reading at ``explain()``."""

from __future__ import annotations

import builtins
import os
import sys
import types
import typing
from collections import abc

from ebb import _C, errors

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_OWN_MODULES = frozenset(["ebb", "numpy"])

# What these offer and files of those have asks PyTorch's classes of tensors, but for _PLAIN.
_ROOMS = ("ebb", "ebb.linalg", "ebb.nn.functional", "ebb.nn.init")
_FILES = ("ebb._functions.", "ebb._tensor.views", *_ROOMS[1:])
_PLAIN = ("is_tensor",)

_OF_EARLIER_CALL = " found it after the call"  # as in ebb/core/device/stream_checks.cpp

_PublicFunction = _C._PublicFunction

# What Python's own errors become; the first that fits.
_CLASSES = (
    (TypeError, errors.DTypeError),
    (AttributeError, errors.DTypeError),
    (IndexError, errors.IndexError),
    (KeyError, errors.KeyError),
    ((ValueError, ArithmeticError, RecursionError), errors.ValueError),
    (MemoryError, errors.OutOfMemoryError),
    (NotImplementedError, errors.NotImplementedError),
)


# What is done to the package.

_known: dict[int, typing.Any] = {}  # by the id of a function or class: what stands for it


def name_errors() -> None:
    """Let all public functions that the package has so far explain their errors."""
    names = [name for name in sys.modules if name == "ebb" or name.startswith("ebb.")]
    for name in sorted(names, key=lambda one: (one.count("."), one)):
        name_module(name)
    _name_class(_C.Tensor)


def name_module(name: str) -> None:
    """Do so in one module; one that is not imported with the package calls this at its end."""
    module = sys.modules[name]
    if name == __name__ or not hasattr(module, "__file__"):
        return
    for label, value in list(vars(module).items()):
        # Most names are the extension's, so what they are is asked before where they are from.
        if type(value) is types.FunctionType:
            if not label.startswith("_") and _is_own(value):
                asks = name in _ROOMS and _asks(module, label, value)
                setattr(module, label, _named(value, label, asks))
        elif isinstance(value, type) and id(value) not in _known and _is_own(value):
            _name_class(value)  # private ones too: public classes have them as bases


def _is_own(value: object) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] == "ebb"


def _named(function: types.FunctionType, label: object, asks: builtins.bool = False) -> typing.Any:
    if id(function) not in _known:
        # Steps of a generator run behind the call; a Protocol's __init__ is Python's.
        is_ours = function.__code__.co_filename.startswith((_PACKAGE, "<string>"))
        made = _PublicFunction(function, label, False, asks) if is_ours else function
        _known[id(function)] = made
    return _known[id(function)]


def _asks(module: types.ModuleType, label: str, function: types.FunctionType) -> builtins.bool:
    """Return whether classes with __torch_function__ take part in a function that is offered."""
    is_public = label in getattr(module, "__all__", (label,))
    return is_public and function.__module__.startswith(_FILES) and label not in _PLAIN


def _name_class(cls: type) -> None:
    if id(cls) in _known or getattr(cls, "_is_protocol", False):
        return
    _known[id(cls)] = cls
    for name, value in list(vars(cls).items()):
        if name.startswith("_") and name not in ("__init__", "__new__", "__call__"):
            continue
        label = (cls.__name__, name)
        if type(value) is types.FunctionType:
            setattr(cls, name, _named(value, label))
        elif isinstance(value, (staticmethod, classmethod)):
            inner = value.__func__
            if type(inner) is types.FunctionType:
                setattr(cls, name, type(value)(_named(inner, label)))
        elif type(value) is property:
            _name_property(cls, name, value)


def _name_property(cls: type, name: str, value: property) -> None:
    get, assign = value.fget, value.fset
    if type(get) is types.FunctionType:
        get = _PublicFunction(get, (cls.__name__, name, "get"), True)
    if type(assign) is types.FunctionType:
        assign = _named(assign, (cls.__name__, name))
    setattr(cls, name, property(get, assign, value.fdel, value.__doc__))


# What is done to an error.


def explain(label, function, args, kwargs, error):
    """Return the error to raise for ``error``, which a call of a public function raised.

    Args:
        label: The name of a function; or names of a class and of its method, then "get" for what
            reads a property.
    """
    if not isinstance(error, Exception) or _is_from_user(error.__traceback__):
        return error
    if _OF_EARLIER_CALL in str(error):  # of a device: whoever waits for it has no part in it
        return error
    if isinstance(error, AssertionError):  # of testing, with the user's text, or a bug of ours
        return error
    if label[2:] == ("get",):
        return _C._attribute_error(error)
    if _is_called_from_within(sys._getframe(1)):
        return error
    names = _names_of(label, args)
    if _names_one(str(error), names):
        return error
    return _better(names, function, args, kwargs, error)


def _names_of(label, args) -> list[str]:
    """Return what messages may call a function; the first is what they should."""
    if isinstance(label, str):
        return [label]
    cls, name = label[:2]
    if name in ("__init__", "__new__", "__call__", "forward"):
        own = type(args[0]) if args else None
        own = args[0] if own is not None and issubclass(own, type) else own
        own_name = own.__name__ if own is not None and _is_own(own) else cls
        return [own_name, cls, name, f"{cls}.{name}"]
    return [name, f"{cls}.{name}"]


def _names_one(text: str, names: list[str]) -> bool:
    """Return whether an ebb error's text says which function it is about."""
    head = _head(text)
    if not head:
        return False
    if head in names or head.rpartition(".")[2] in names:
        return True
    # Layers are known by their functions: Conv2d by conv2d, CrossEntropyLoss by cross_entropy.
    plain = head.replace("_", "").lower()
    return names[0][:1].isupper() and names[0].lower().startswith(plain)


def _head(text: str) -> str:
    head, colon, _ = text.partition(": ")
    head = head.removesuffix("()")
    return head if colon and head.replace("_", "").replace(".", "").isalnum() else ""


def _better(names, function, args, kwargs, error):
    is_written = isinstance(error, errors.Error) or _head(str(error)) != ""
    culprit = "" if is_written else _culprit(function, args, kwargs)
    text = str(error)
    if isinstance(error, OSError) and not isinstance(error, errors.Error):
        error.strerror = f"{names[0]}: {error.strerror}"
        return error
    if culprit and isinstance(error, (TypeError, AttributeError, ValueError, LookupError)):
        made = errors.DTypeError(f"{names[0]}: {culprit}")
    elif is_written:  # by the package, and knows best
        inner = _head(text)
        is_hidden = hasattr(_C._ops, inner) and not hasattr(_C, inner)
        is_private = inner.startswith("_") or is_hidden
        rest = text.partition(": ")[2] if is_private else text
        error.args = (f"{names[0]}: {rest}", *error.args[1:])
        return error
    elif isinstance(error, TypeError) and error.__traceback__ is None:
        made = errors.DTypeError(f"{names[0]}(): {text.partition('() ')[2] or text}")
    elif (kind := next((own for plain, own in _CLASSES if isinstance(error, plain)), None)) is None:
        error.args = (f"{names[0]}: {text}",) if error.args == (text,) else error.args
        return error
    else:
        given = _given(function, args, kwargs)
        made = kind(f"{names[0]}: cannot be called with {given} ({type(error).__name__}: {text})")
    made.__cause__ = error
    return made.with_traceback(error.__traceback__)


def _is_called_from_within(frame) -> bool:
    """Return whether Python's library called, and the package called the library."""
    while frame is not None and _module_of(frame) in sys.stdlib_module_names:
        frame = frame.f_back
    return frame is not None and _module_of(frame) == "ebb"


def _module_of(frame) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _is_from_user(traceback) -> bool:
    """Return whether an error passed through code that is neither the package's nor Python's."""
    while traceback is not None:
        module = _module_of(traceback.tb_frame)
        if module not in _OWN_MODULES and module not in sys.stdlib_module_names:
            return True
        traceback = traceback.tb_next
    return False


def _given(function, args, kwargs) -> str:
    """Return the arguments of a call as a text."""
    values = list(_bound(function, args, kwargs).items())[:8]
    return ", ".join(f"{name}={_shown(value)}" for name, value in values) or "no arguments"


def _bound(function, args, kwargs) -> dict[str, typing.Any]:
    try:
        import inspect  # takes 4 ms, and nothing has failed yet

        bound = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except TypeError:
        return {}
    return {name: value for name, value in bound.items() if name not in ("self", "cls")}


def _shown(value) -> str:
    """Return a value as messages write it."""
    if isinstance(value, _C.Tensor):
        return f"{value.dtype.name} {list(value.shape)}"
    if value is None or isinstance(value, (builtins.bool, builtins.int, builtins.float, complex)):
        return f"{value!r}"[:40]
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, (list, tuple)) and len(value) < 7:
        left, right = "[]" if isinstance(value, list) else "()"
        return (
            left
            + ", ".join(
                type(one).__name__ if isinstance(one, (list, tuple)) else _shown(one)
                for one in value
            )
            + right
        )
    return type(value).__name__


# Which argument is to blame.


def _culprit(function, args, kwargs) -> str:
    """Return what is wrong with the first argument that is not what its annotation says."""
    import inspect

    hints = function.__annotations__
    for name, value in _bound(function, args, kwargs).items():
        if name not in hints:
            continue
        parameter = inspect.signature(function).parameters[name]
        several = {parameter.VAR_POSITIONAL: lambda v: v, parameter.VAR_KEYWORD: dict.values}
        for one in several.get(parameter.kind, lambda v: [v])(value):
            if not _fits_annotation(one, hints[name], function):
                return f"argument {name!r} must be {_kind_text(hints[name])}, got {_got(one)}"
    return ""


def _kind_text(hint) -> str:
    """Return an annotation as a reader wants it: without brackets that say nothing."""
    text = str(hint)
    for empty in ("[..., Any]", "[Any, ...]", "[Any, Any]", "[Any]"):
        text = text.replace(empty, "")
    return text.replace("PathLike[str]", "PathLike")


def _fits_annotation(value, hint, function) -> builtins.bool:
    try:
        room = vars(sys.modules[function.__module__])  # also of what a decorator made elsewhere
        return _fits(value, eval(hint, room) if isinstance(hint, str) else hint)
    except Exception:
        return True  # an annotation that cannot be read tells nothing


def _got(value) -> str:
    return _shown(value) if isinstance(value, (_C.Tensor, list, tuple)) else type(value).__name__


def _fits(value, hint) -> builtins.bool:
    """Return whether a value may be what an annotation says; in doubt it is."""
    if hint is None:
        return value is None
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is typing.Literal:
        return value in parts
    if hint is builtins.float:
        import numbers

        return isinstance(value, (numbers.Real, _C.Tensor)) or hasattr(value, "__float__")
    if hint in (builtins.int, builtins.bool):
        return hasattr(value, "__index__") or (hint is builtins.bool and hasattr(value, "__bool__"))
    kind = origin or hint
    if kind is abc.Sequence or kind in (list, tuple):
        fits = isinstance(value, abc.Sequence) or hasattr(value, "__getitem__")
        items = list(value)[:64] if fits and not isinstance(value, str) else []
        part = parts[0] if parts else typing.Any
        same = kind is not tuple or (len(parts) == 2 and parts[1] is Ellipsis)
        return (
            fits
            and not (isinstance(value, str) and part is not str)
            and (not same or all(_fits(one, part) for one in items))
        )
    if kind is abc.Callable:
        return callable(value)
    return not isinstance(kind, type) or isinstance(value, kind)


_C._set_explainer(explain)
