# python/ebb/nn/backward_hooks.py -- full backward hooks of modules.
#
# The graph stays as it is: gradients pass two gates of a run (ebb/autograd/hooks/gradient_gate.h),
# one where they enter at the module's outputs and one where they leave for its inputs, and wait
# there until all have come. So the share of this module is told and replaced even where a tensor
# has other uses, and outputs may be written in place afterwards.
"""What a module's backward hooks see and replace: gradients of its outputs and of its inputs."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb.nn.module_base import ModuleBase
from ebb.nn.traversal import named_tensors


def _requires_grad(value: Any) -> bool:
    return isinstance(value, _C.Tensor) and value.requires_grad


def _as_gradients(name: str, result: Any, count: int) -> tuple[Any, ...]:
    """Check what a hook returned: one gradient or None for each of ``count`` tensors."""
    values = (result,) if isinstance(result, _C.Tensor) else tuple(result)
    if len(values) != count:
        raise _C.ValueError(f"{name}: needs to return {count} gradients, got {len(values)}")
    for value in values:
        if value is not None and not isinstance(value, _C.Tensor):
            raise _C.DTypeError(
                f"{name}: needs to return Tensors or None, got {type(value).__name__}"
            )
    return values


def _like(result: Any, outputs: list[Any]) -> Any:
    """``outputs`` in the form that ``forward`` returned."""
    if not isinstance(result, (tuple, list)):
        return outputs[0]
    return type(result)(*outputs) if hasattr(result, "_fields") else type(result)(outputs)


class _Places:
    """Which of several values require a gradient; the others are None to hooks."""

    def __init__(self, values: Any):
        self.count: int = len(values)
        self.positions: list[int] = [
            index for index, value in enumerate(values) if _requires_grad(value)
        ]

    def spread(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        values: list[Any] = [None] * self.count
        for index, grad in zip(self.positions, grads, strict=True):
            values[index] = grad
        return tuple(values)

    def pick(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[index] for index in self.positions)


class _RecordedCalls(weakref.WeakKeyDictionary[Any, Any]):
    """What a module keeps for calls whose graph its gradients own: no copy of it has any."""

    NAME = "_recorded_calls"  # among a module's attributes

    def __reduce__(self) -> tuple[Any, ...]:
        return (_RecordedCalls, ())

    def __deepcopy__(self, memo: dict[Any, Any]) -> _RecordedCalls:
        return _RecordedCalls()


class _Call:
    """A module, and its backward hooks at the time of a call.

    The graph owns it, and keeps the module alive for hooks. But once a recorded run has put its
    results into ``grad`` of the module's parameters, those own the graph: a cycle that no collector
    sees. From then on the module owns its hooks, and the graph only knows where they are.
    """

    def __init__(
        self, module: ModuleBase, before: list[Callable[..., Any]], after: list[Callable[..., Any]]
    ):
        self.name: str = type(module).__name__
        self.place = weakref.ref(module)
        self.kept: tuple[Any, ...] | None = (module, before, after)

    def take(self) -> tuple[ModuleBase, list[Callable[..., Any]], list[Callable[..., Any]]]:
        if self.kept is not None:
            return self.kept
        module = self.place()
        if module is None:
            raise _C.AutogradError(
                f"{self.name}: a recorded run of its backward hooks needs the module afterwards, "
                "got it gone\nhint: keep the module as long as its graph"
            )
        return (module, *vars(module)[_RecordedCalls.NAME][self])

    def let_go_if_owned(self) -> None:
        if self.kept is None:
            return
        module, before, after = self.kept
        found = named_tensors(module, "_parameters", "", True, True)
        grads = [parameter.grad for _, parameter in found]
        if not any(grad is not None and grad.requires_grad for grad in grads):
            return
        calls = vars(module).setdefault(_RecordedCalls.NAME, _RecordedCalls())
        calls[self] = (before, after)
        self.kept = None


class BackwardHooks:
    """The backward hooks of one call of a module; made before ``forward`` runs."""

    def __init__(
        self,
        module: ModuleBase,
        before: list[Callable[..., Any]],
        after: list[Callable[..., Any]],
        args: tuple[Any, ...],
    ):
        self.call: _Call = _Call(module, before, after)
        self.has_after: bool = bool(after)
        self.inputs: _Places = _Places(args)
        # Taken now: forward() may write its inputs in place.
        self.edges: tuple[Any, ...] = tuple(
            _C._gradient_edge(arg) for arg in self.inputs.pick(args)
        )
        self.since: int = _C._next_sequence()
        self.sends_to_inputs: bool = True

    def attach(self, result: Any) -> Any:
        """Hook into the graph that ends in ``result``, and return that."""
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        self.outputs: _Places = _Places(outputs)
        if not self.outputs.positions:
            return result
        if self._separate(outputs):
            result = _like(result, outputs)
        tensors = self.outputs.pick(tuple(outputs))
        leave = self._leave if self.has_after else None
        senders = _C._register_gates(
            tensors, self.edges, self.since, self._enter, leave, self.call.name
        )
        self.sends_to_inputs = senders > 0
        self.edges = ()  # the graph owns this object: it must not own the graph
        return result

    def _separate(self, outputs: list[Any]) -> bool:
        """Give each output a place of its own in the graph, made by this call.

        A tensor that was there before, an argument say, or that is returned twice, becomes a view:
        what else it is used for is no business of this module.
        """
        taken = set()
        has_changed = False
        for index in self.outputs.positions:
            edge = _C._gradient_edge(outputs[index])
            if edge in taken or edge[0]._sequence_nr() < self.since:
                outputs[index] = outputs[index].view_as(outputs[index])
                edge = _C._gradient_edge(outputs[index])
                has_changed = True
            taken.add(edge)
        return has_changed

    def _enter(self, grads: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, ...]:
        values = self.outputs.spread(grads)
        if _C.is_grad_enabled():
            _C.queue_callback(self.call.let_go_if_owned)
        module, before, _ = self.call.take()
        for hook in before:
            result = hook(module, values)
            if result is not None:
                values = _as_gradients("full backward pre-hook", result, self.outputs.count)
        if not self.sends_to_inputs:  # the outputs' gradients are all there is to tell
            self._call_after((None,) * self.inputs.count, values)
        return self.outputs.pick(values)

    def _leave(self, sums: tuple[Any, ...], entered: tuple[Any, ...]) -> tuple[Any, ...]:
        entered = entered or (None,) * len(self.outputs.positions)
        values = self._call_after(self.inputs.spread(sums), self.outputs.spread(entered))
        return self.inputs.pick(values)

    def _call_after(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        module, _, after = self.call.take()
        for hook in after:
            result = hook(module, inputs, outputs)
            if result is not None:
                inputs = _as_gradients("full backward hook", result, self.inputs.count)
        return inputs
