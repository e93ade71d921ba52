# python/ebb/autograd/graph.py -- looking at the graph and at a run from inside: edges, hooks for
# several tensors, and which node is running.
"""Edges of the graph, multi-grad hooks, what is saved, and questions about the current run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ebb import _C
from ebb._C import Node, RemovableHandle, SavedTensor, Tensor, queue_callback
from ebb.autograd.saved_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    save_on_disk,
    saved_bytes,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "SavedTensor",
    "allow_mutation_on_saved_tensors",
    "current_autograd_node",
    "current_graph_task_execution_order",
    "current_graph_task_id",
    "current_graph_task_keep_graph",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "save_on_disk",
    "saved_bytes",
    "saved_tensors_hooks",
    "will_engine_execute_node",
]


class GradientEdge(NamedTuple):
    """A tensor's place in the graph: keeps the graph, not the tensor's values.

    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> y = x * x
        >>> edge = ebb.autograd.graph.get_gradient_edge(y)
        >>> edge.node is y.grad_fn, edge.output_nr
        (True, 0)
    """

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return where the gradient of ``tensor`` goes, for ``grad()`` and ``backward()``.

    The edge stays that of the tensor as it is now, whatever is written to it later.

    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> y = x * x
        >>> edge = ebb.autograd.graph.get_gradient_edge(x)
        >>> ebb.autograd.grad(y, edge)
        (tensor([6.]),)
    """
    return GradientEdge(*_C._gradient_edge(tensor))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write that ebb could not see, such as one through a NumPy alias.

    What a graph saved of the tensor before then counts as stale, as after an in-place op.

    Example:
        >>> x = ebb.ones(2)
        >>> x.numpy()[0] = 5.0
        >>> ebb.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C._increment_version(one)


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], object], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` once per run that computes gradients of ``tensors``.

    Args:
        mode: "all": call ``fn(grads)`` after the last gradient that the run computes, with one
            entry per tensor and None for those that it does not need or reach. "any": call
            ``fn(grad)`` with the first.
    Raises:
        AutogradError: If a tensor requires no gradient.
    Example:
        >>> a = ebb.tensor([3.0], requires_grad=True)
        >>> b = ebb.tensor([4.0], requires_grad=True)
        >>> handle = ebb.autograd.graph.register_multi_grad_hook([a, b], print)
        >>> (a * b).backward()
        [tensor([4.]), tensor([3.])]
        >>> handle.remove()
        True
    """
    if mode not in ("all", "any"):
        raise _C.ValueError(f"register_multi_grad_hook: needs mode 'all' or 'any', got {mode!r}")
    return _C._register_multi_grad_hook(tuple(tensors), fn, mode == "any")


def current_graph_task_id() -> int:
    """Return the number of the innermost run on this thread, or -1 outside of one.

    Example:
        >>> ebb.autograd.graph.current_graph_task_id()
        -1
    """
    return _C._current_graph_task_id()


def current_autograd_node() -> Node | None:
    """Return the node that is running, or whose hooks are being called.

    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> y = x * x
        >>> node = ebb.autograd.graph.current_autograd_node
        >>> handle = x.register_hook(lambda grad: print(node().name()))
        >>> y.backward()
        AccumulateGrad
    """
    return _C._current_autograd_node()


def current_graph_task_keep_graph() -> bool:
    """Return whether the run that is going on retains its graph.

    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> keeps = ebb.autograd.graph.current_graph_task_keep_graph
        >>> handle = x.register_hook(lambda grad: print(keeps()))
        >>> (x * x).backward(retain_graph=True)
        True
    """
    return _C._current_graph_task_keep_graph()


def current_graph_task_execution_order() -> list[Node]:
    """Return the nodes that the run that is going on executes, from first to last.

    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> def show(grad):
        ...     order = ebb.autograd.graph.current_graph_task_execution_order()
        ...     print([node.name() for node in order])
        >>> y = x.exp()
        >>> handle = y.register_hook(show)
        >>> y.backward()
        ['ExpBackward', 'AccumulateGrad']
    """
    return _C._current_graph_task_execution_order()


def will_engine_execute_node(node: Node) -> bool:
    """Return whether the run that is going on executes (or has executed) ``node``.

    Example:
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> runs = ebb.autograd.graph.will_engine_execute_node
        >>> y, unused = x.exp(), x.sin()
        >>> handle = y.register_hook(lambda grad: print(runs(y.grad_fn), runs(unused.grad_fn)))
        >>> y.backward()
        True False
    """
    return _C._will_engine_execute_node(node)


def _register_hook_dict(self: Node, tensor: Tensor) -> None:
    """Call the hooks in ``tensor._backward_hooks``, a dict, on the gradient of that output.

    What programs written for PyTorch call; ``tensor.register_hook()`` needs no such dict.
    """
    if not isinstance(tensor, Tensor):
        raise _C.DTypeError(f"_register_hook_dict: needs a Tensor, got {type(tensor).__name__}")
    hooks = getattr(tensor, "_backward_hooks", None)
    place = tensor.output_nr
    if hooks is None:
        return

    def run(grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        changed = list(grads)
        for hook in tuple(hooks.values()):
            made = hook(changed[place])
            changed[place] = changed[place] if made is None else made
        return tuple(changed)

    self.register_prehook(run)


Node._register_hook_dict = _register_hook_dict  # type: ignore[attr-defined]
