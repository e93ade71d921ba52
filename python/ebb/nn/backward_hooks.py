# python/ebb/nn/backward_hooks.py -- full backward hooks of modules.
#
# The graph stays as it is: the gradients of the outputs come from tensor hooks, and what the module
# sends to its inputs is added up by hooks of the nodes that its forward() recorded
# (ebb/autograd/edge_hook.h). So the share of this module is told even where a tensor has other
# uses, and outputs may be written in place afterwards.
"""What a module's backward hooks see: gradients of its outputs and of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ebb import _C

if TYPE_CHECKING:
    from ebb.nn.module import Module


def _requires_grad(value: Any) -> bool:
    return isinstance(value, _C.Tensor) and value.requires_grad


def _as_gradients(name: str, result: Any, count: int) -> tuple:
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


class BackwardHooks:
    """The backward hooks of one call of a module; made before ``forward`` runs."""

    def __init__(self, module: Module, before: list[Callable], after: list[Callable], args: tuple):
        self.module = module
        self.before = before
        self.after = after
        self.input_count = len(args)
        self.positions = [index for index, arg in enumerate(args) if _requires_grad(arg)]
        # Taken now: forward() may write its inputs in place.
        self.edges = tuple(_C._gradient_edge(args[index]) for index in self.positions)
        self.since = _C._next_sequence()
        self.seen: dict[int, list] = {}  # run -> gradients of the outputs so far

    def attach(self, result: Any) -> None:
        """Hook into the graph that ends in ``result``."""
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        self.output_count = len(outputs)
        wanted = [index for index, output in enumerate(outputs) if _requires_grad(output)]
        if not wanted:
            return
        tensors = tuple(outputs[index] for index in wanted)
        if self.before:
            self._attach_before(tensors, wanted)
        if not self.after:
            return
        senders = _C._register_edge_hook(tensors, self.edges, self.since, self._call_after)
        # A module that returns its argument sends the gradient of its output.
        ends = [_C._gradient_edge(tensor) for tensor in tensors]
        self.passed = {
            index: wanted[ends.index(edge)]
            for index, edge in zip(self.positions, self.edges, strict=True)
            if edge in ends
        }
        self.edges = ()  # the graph owns this object: it must not own the graph
        if senders == 0:  # no input needs a gradient: the outputs' are all there is to tell
            _C._register_multi_grad_hook(tensors, self._call_without_inputs(wanted), False)
            return
        for index, tensor in zip(wanted, tensors, strict=True):
            tensor.register_hook(self._noting(index))

    def _outputs(self) -> list:
        run = _C._current_graph_task_id()
        return self.seen.setdefault(run, [None] * self.output_count)

    def _noting(self, index: int) -> Callable:
        def note(grad: Any) -> None:
            self._outputs()[index] = grad

        return note

    def _attach_before(self, tensors: tuple, wanted: list[int]) -> None:
        if len(tensors) == 1:
            tensors[0].register_hook(lambda grad: self._call_before([grad], wanted)[0])
            return

        def call(grads: list) -> None:
            changed = self._call_before(grads, wanted)
            if any(new is not old for new, old in zip(changed, grads, strict=True)):
                raise _C.NotImplementedError(
                    "full backward pre-hook: needs to return None for a module with several "
                    "outputs, got gradients\nhint: replace them with hooks of the outputs"
                )

        _C._register_multi_grad_hook(tensors, call, False)

    def _call_before(self, grads: list, wanted: list[int]) -> list:
        outputs: list = [None] * self.output_count
        for index, grad in zip(wanted, grads, strict=True):
            outputs[index] = grad
        for hook in self.before:
            result = hook(self.module, tuple(outputs))
            if result is not None:
                outputs = list(_as_gradients("full backward pre-hook", result, self.output_count))
        return [outputs[index] for index in wanted]

    def _call_after(self, sums: tuple) -> tuple | None:
        outputs = tuple(self.seen.pop(_C._current_graph_task_id(), [None] * self.output_count))
        inputs: list = [None] * self.input_count
        for index, grad in zip(self.positions, sums, strict=True):
            inputs[index] = grad
        is_replaced = False
        for hook in self.after:
            result = hook(self.module, tuple(inputs), outputs)
            if result is not None:
                inputs = list(_as_gradients("full backward hook", result, self.input_count))
                is_replaced = True
        return tuple(inputs[index] for index in self.positions) if is_replaced else None

    def _call_without_inputs(self, wanted: list[int]) -> Callable:
        def call(grads: list) -> None:
            outputs: list = [None] * self.output_count
            for index, grad in zip(wanted, grads, strict=True):
                outputs[index] = grad
            inputs: list = [None] * self.input_count
            for index, output in self.passed.items():
                inputs[index] = outputs[output]
            for hook in self.after:
                result = hook(self.module, tuple(inputs), tuple(outputs))
                if result is not None:
                    _as_gradients("full backward hook", result, self.input_count)

        return call
