# satellites/torch/ebb/torch_compat/fx.py -- torch.fx: its decorator and its classes, for modules as
# they are.
#
# Libraries mark functions for tracing, derive from these classes, and ask whether a value is one
# of theirs; nothing is ever traced, so that no value is. Making one refuses.
"""``wrap``, and classes that may be derived from and asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ebb import _C, nn

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "symbolic_trace",
    "wrap",
]

Run = TypeVar("Run", bound=Callable[..., Any])


def wrap(fn_or_name: Run) -> Run:
    """Return a function as it is: there is no tracer that would look into it.

    >>> from ebb.torch_compat import fx
    >>> fx.wrap(len) is len
    True
    """
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """Refuse: modules are not traced.

    Raises:
        NotImplementedError: Always.
    Example:
        >>> from ebb.torch_compat import fx
        >>> try:
        ...     fx.symbolic_trace(ebb.nn.Linear(1, 1))
        ... except NotImplementedError as error:
        ...     print(str(error).splitlines()[0])
        fx.symbolic_trace: ebb traces no modules
    """
    del root, concrete_args
    _refuse("symbolic_trace")


class _Untraced:
    """What only a trace makes."""

    def __init__(self, *args: Any, **kwargs: Any):
        del args, kwargs
        _refuse(type(self).__name__)


class Proxy(_Untraced):
    """Stands for a value while a module is traced.

    >>> from ebb.torch_compat import fx
    >>> isinstance(ebb.nn.Linear(1, 1), fx.Proxy)
    False
    """


class Node(_Untraced):
    """A step of a graph.

    >>> from ebb.torch_compat import fx
    >>> isinstance(ebb.nn.Linear(1, 1), fx.Node)
    False
    """


class Graph(_Untraced):
    """The steps of a traced module.

    >>> from ebb.torch_compat import fx
    >>> isinstance(ebb.nn.Linear(1, 1), fx.Graph)
    False
    """


class Tracer(_Untraced):
    """Traces modules.

    >>> from ebb.torch_compat import fx
    >>> isinstance(ebb.nn.Linear(1, 1), fx.Tracer)
    False
    """


class Interpreter(_Untraced):
    """Runs the steps of a graph.

    >>> from ebb.torch_compat import fx
    >>> isinstance(ebb.nn.Linear(1, 1), fx.Interpreter)
    False
    """


class Transformer(Interpreter):
    """Makes another graph of one.

    >>> from ebb.torch_compat import fx
    >>> isinstance(ebb.nn.Linear(1, 1), fx.Transformer)
    False
    """


class GraphModule(nn.Module):
    """A module that runs a graph.

    >>> from ebb.torch_compat import fx
    >>> isinstance(ebb.nn.Linear(1, 1), fx.GraphModule)
    False
    """

    def __init__(self, *args: Any, **kwargs: Any):
        del args, kwargs
        _refuse(type(self).__name__)


def _refuse(name: str) -> NoReturn:
    raise _C.NotImplementedError(
        f"fx.{name}: ebb traces no modules\n"
        "hint: ebb.graph(loss) has the backward graph as data; hooks see what modules return"
    )
