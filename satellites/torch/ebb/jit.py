# satellites/torch/ebb/jit.py -- script() and trace(), which leave programs as they are.
"""``ebb.jit``: ebb runs Python, so a scripted or traced function is the function itself.

>>> ebb.jit.script(lambda x: x + 1)(ebb.ones(1))
tensor([2.])
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from ebb import _C
from ebb._base import naming as _naming
from ebb._base.arguments import check_callable
from ebb._base.nothing import Unchanged, never, unchanged
from ebb._modes import tell_once
from ebb.nn.module import Module

__all__ = [
    "Error",
    "Final",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

Run = TypeVar("Run", bound=Callable[..., Any])


class ScriptModule(Module):
    """A base that programs derive from; no module is one otherwise, since nothing is compiled.

    Example:
        >>> isinstance(ebb.jit.script(ebb.nn.ReLU()), ebb.jit.ScriptModule)
        False
    """


class RecursiveScriptModule(ScriptModule):
    """What PyTorch makes of modules that it compiles; nothing here is one.

    Example:
        >>> isinstance(ebb.nn.ReLU(), ebb.jit.RecursiveScriptModule)
        False
    """


class TracedModule(ScriptModule):
    """What PyTorch makes of modules that it traces; nothing here is one.

    Example:
        >>> isinstance(ebb.nn.ReLU(), ebb.jit.TracedModule)
        False
    """


class TopLevelTracedModule(TracedModule):
    """The outermost of them; nothing here is one.

    Example:
        >>> isinstance(ebb.nn.ReLU(), ebb.jit.TopLevelTracedModule)
        False
    """


class ScriptFunction:
    """What PyTorch makes of functions that it compiles; nothing here is one.

    Example:
        >>> isinstance(ebb.jit.script(lambda x: x), ebb.jit.ScriptFunction)
        False
    """


class Error(Exception):
    """What compiled programs raise; never raised here.

    Example:
        >>> issubclass(ebb.jit.Error, Exception)
        True
    """


class TracerWarning(Warning):
    """What tracing warns of; never given here, but programs silence it.

    Example:
        >>> import warnings
        >>> warnings.filterwarnings("ignore", category=ebb.jit.TracerWarning)
    """


class ScriptWarning(Warning):
    """What compiling warns of; never given here.

    Example:
        >>> issubclass(ebb.jit.ScriptWarning, Warning)
        True
    """


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a function, class or module as it is.

    Example:
        >>> double = ebb.jit.script(lambda x: 2 * x)
        >>> double(ebb.ones(2))
        tensor([2., 2.])
    """
    del args, kwargs
    tell_once("jit.script")
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return a function or module as it is; it is not run.

    Example:
        >>> double = ebb.jit.trace(lambda x: 2 * x, ebb.ones(2))
        >>> double(ebb.ones(3))
        tensor([2., 2., 2.])
    """
    del example_inputs, args, kwargs
    tell_once("jit.trace")
    return func


def trace_module(mod: Module, inputs: Any = None, *args: Any, **kwargs: Any) -> Module:
    """Return a module as it is.

    Example:
        >>> layer = ebb.nn.Linear(2, 1)
        >>> ebb.jit.trace_module(layer, {"forward": ebb.ones(1, 2)}) is layer
        True
    """
    del inputs, args, kwargs
    tell_once("jit.trace_module")
    return mod


def freeze(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """Return a module as it is.

    Example:
        >>> layer = ebb.nn.Linear(2, 1).eval()
        >>> ebb.jit.freeze(layer) is layer
        True
    """
    del args, kwargs
    return mod


def optimize_for_inference(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """Return a module as it is.

    Example:
        >>> layer = ebb.nn.Linear(2, 1).eval()
        >>> ebb.jit.optimize_for_inference(layer) is layer
        True
    """
    del args, kwargs
    return mod


script_if_tracing: Unchanged = unchanged("jit.script_if_tracing")


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> None:
    """Change nothing: there is nothing to fuse.

    Example:
        >>> ebb.jit.set_fusion_strategy([("STATIC", 2)])
    """
    del strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Change nothing.

    Example:
        >>> ebb.jit.enable_onednn_fusion(True)
    """
    del enabled


onednn_fusion_enabled: Callable[[], bool] = never("jit.onednn_fusion_enabled")


@contextmanager
def strict_fusion() -> Iterator[None]:
    """Change nothing within a block.

    Example:
        >>> with ebb.jit.strict_fusion():
        ...     ebb.ones(1) + 1
        tensor([2.])
    """
    yield


export: Unchanged = unchanged("jit.export")
script_method: Unchanged = unchanged("jit.script_method")
interface: Unchanged = unchanged("jit.interface", "class")


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return a function as it is, or a decorator that does.

    Example:
        >>> @ebb.jit.ignore
        ... def shown(x):
        ...     return x.tolist()
        >>> shown(ebb.ones(2))
        [1.0, 1.0]
    """
    del kwargs
    return drop if callable(drop) else (lambda fn: fn)


unused: Unchanged = unchanged("jit.unused")


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value.

    Example:
        >>> ebb.jit.annotate(list[int], [1, 2])
        [1, 2]
    """
    del the_type
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Return what Python's isinstance() does.

    Example:
        >>> ebb.jit.isinstance([1, 2], list)
        True
    """
    return builtins.isinstance(obj, target_type)


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function at once; ``wait`` returns what it returned.

    Example:
        >>> ebb.jit.wait(ebb.jit.fork(ebb.add, ebb.ones(1), 1))
        tensor([2.])
    """
    check_callable(func)
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """Return what ``fork`` did.

    Example:
        >>> ebb.jit.wait(ebb.jit.fork(ebb.add, ebb.ones(1), 1))
        tensor([2.])
    """
    return future


def is_scripting() -> bool:
    """Return False.

    Example:
        >>> ebb.jit.is_scripting()
        False
    """
    return False


def is_tracing() -> bool:
    """Return False.

    Example:
        >>> ebb.jit.is_tracing()
        False
    """
    return False


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Change nothing within a block.

    Example:
        >>> with ebb.jit.optimized_execution(False):
        ...     ebb.ones(1) + 1
        tensor([2.])
    """
    del should_optimize
    yield


def save(m: Any, f: Any, *args: Any, **kwargs: Any) -> None:
    """Refuse: there is no program of TorchScript to be written.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> ebb.jit.save(ebb.nn.Linear(2, 1), "layer.pt")
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: jit.save: ebb runs Python and has no TorchScript
        hint: ebb.save(module.state_dict(), file) keeps the parameters
    """
    raise _C.NotImplementedError(
        "jit.save: ebb runs Python and has no TorchScript\n"
        "hint: ebb.save(module.state_dict(), file) keeps the parameters"
    )


def load(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Refuse: ebb does not run TorchScript.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> ebb.jit.load("layer.pt")
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: jit.load: ebb runs Python and has no TorchScript
        hint: save the module's state_dict() in PyTorch, and ebb.load() it
    """
    raise _C.NotImplementedError(
        "jit.load: ebb runs Python and has no TorchScript\n"
        "hint: save the module's state_dict() in PyTorch, and ebb.load() it"
    )


_naming.name_module(__name__)
