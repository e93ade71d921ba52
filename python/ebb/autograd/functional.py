# python/ebb/autograd/functional.py -- derivatives of a function as a whole.
#
# Inputs are given to the function under a view (if the result is to be differentiated) or a new
# leaf, so that gradients stop there. Structures are flat inside: a list of inputs, a list of
# outputs, and whether each was a tuple, which as_inputs() and as_outputs() put back at the end.
# Start reading at vjp().
"""Products with Jacobians and Hessians, and these themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ebb import _C
from ebb._base import naming as _naming
from ebb._base.signature import takes
from ebb._base.transforms import refuse_samples
from ebb.autograd import forward_ad

if TYPE_CHECKING:
    from ebb import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Any  # a tensor or a tuple of tensors
_IN_FUNC = {"jacobian": "jacrev", "hvp": "jvp", "vhp": "vjp"}  # what does this under vmap
STRATEGIES = ("reverse-mode", "forward-mode")


def _product(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, ...]:
    return func, inputs, v, create_graph, strict


@takes(_product)
def vjp(func, inputs, v, create_graph, strict) -> tuple[Tensors, Tensors]:
    """Return ``func(*inputs)`` and the product of ``v`` with its Jacobian.

    Works under ``no_grad`` too. The results have no history unless ``create_graph``.

    Args:
        func: Takes the inputs as arguments; returns a tensor or a tuple of tensors.
        inputs: A tensor or a tuple of tensors.
        v: In the shape of the outputs; may be left out for one output of one element.
        create_graph: Record, so that the results can be differentiated.
        strict: Raise if an output does not depend on an input, rather than give zeros.

    Returns:
        The outputs, and the product, which has the structure of ``inputs``.

    Raises:
        ValueError: If ``v`` is missing or does not fit.
        RuntimeError: In ``strict`` mode.

    Example:
        >>> x = ebb.tensor([1.0, 2.0])
        >>> ebb.autograd.functional.vjp(lambda x: x * x, x, ebb.ones([2]))[1].tolist()
        [2.0, 4.0]
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    with recording():
        outputs = call.run()
        seeds = call.vectors("v", v, outputs, call.outputs_are_tuple, "output")
        grads = call.gradients(outputs, seeds)
    return call.as_outputs(outputs), call.as_inputs(grads)


def jvp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
    strategy: str = "forward-mode",
) -> tuple[Tensors, Tensors]:
    """Return ``func(*inputs)`` and the product of its Jacobian with ``v``.

    Args:
        func: Takes the inputs as arguments; returns a tensor or a tuple of tensors.
        inputs: A tensor or a tuple of tensors.
        v: In the shape of the inputs; may be left out for one input of one element.
        create_graph: Record, so that the results can be differentiated.
        strict: Raise if an output does not depend on an input, rather than give zeros.
        strategy: ``"forward-mode"`` runs the function once, on dual tensors. ``"reverse-mode"``
            differentiates a gradient with respect to its seed: for functions with parts that have
            no forward-mode rule.

    Returns:
        The outputs, and the product, which has the structure of the outputs.

    Raises:
        ValueError: If ``v`` is missing or does not fit.
        RuntimeError: In ``strict`` mode.

    Example:
        >>> x, v = ebb.tensor([1.0, 2.0]), ebb.tensor([1.0, 0.0])
        >>> ebb.autograd.functional.jvp(lambda x: x**2, x, v)
        (tensor([1., 4.]), tensor([2., 0.]))
    """
    _check_strategy("jvp", strategy)
    call, steps = _call_along_inputs("jvp", func, inputs, v, create_graph, strict)
    with recording():
        if strategy == "forward-mode" and not strict:
            outputs, tangents = call.push(steps)
        else:
            outputs = call.run()
            tangents = call.push_by_reverse(outputs, steps)
    return call.as_outputs(outputs), call.as_outputs(tangents)


def jacobian(
    func: Callable[..., Tensors],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of ``func`` at ``inputs``.

    Its entry for output i and input j has the shape of the output followed by that of the input.
    If both are tuples it is a tuple (by output) of tuples (by input), otherwise what is left.

    Args:
        func: Takes the inputs as arguments; returns a tensor or a tuple of tensors.
        inputs: A tensor or a tuple of tensors.
        create_graph: Record, so that the Jacobian can be differentiated.
        strict: Raise if an output does not depend on an input, rather than give zeros.
        vectorize: Accepted, and changes nothing: rows (or columns) are computed one after the
            other either way.
        strategy: ``"reverse-mode"`` (a backward pass per element of the outputs) or
            ``"forward-mode"`` (a run of ``func`` per element of the inputs; real inputs).

    Example:
        >>> ebb.autograd.functional.jacobian(lambda x: x * x, ebb.tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    del vectorize
    _check_strategy("jacobian", strategy)
    return _Call("jacobian", func, inputs, create_graph, strict).matrix(strategy)


def hessian(
    func: Callable[..., Tensor],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of a function of one output of one element.

    Its entry for inputs i and j has the shape of input i followed by that of input j; it is a tuple
    of tuples if ``inputs`` is a tuple.

    Args:
        func: Takes the inputs as arguments; returns a tensor of one element.
        inputs: A tensor or a tuple of tensors.
        create_graph: Record, so that the Hessian can be differentiated.
        strict: Raise if the gradient does not depend on an input, rather than give zeros.
        vectorize: Accepted, as in ``jacobian``.
        outer_jacobian_strategy: How the gradient is differentiated: ``"reverse-mode"`` or
            ``"forward-mode"`` (forward over reverse).

    Example:
        >>> ebb.autograd.functional.hessian(lambda x: (x**3).sum(), ebb.tensor([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    del vectorize
    _check_strategy("hessian", outer_jacobian_strategy)
    is_tuple = _as_list("hessian", "inputs", inputs)[1]

    def gradient(*given: Tensor) -> Tensors:
        inner = _Call("hessian", func, given if is_tuple else given[0], True, strict)
        outputs = inner.run_to_one_element()
        return inner.as_inputs(inner.gradients(outputs, [_C.ones_like(outputs[0])]))

    call = _Call("hessian", gradient, inputs, create_graph, strict)
    return call.matrix(outer_jacobian_strategy)


@takes(_product)
def vhp(func, inputs, v, create_graph, strict) -> tuple[Tensor, Tensors]:
    """Return ``func(*inputs)``, one element, and the product of ``v`` with its Hessian.

    Arguments and errors are those of ``vjp``; ``v`` has the shape of the inputs.

    Example:
        >>> x, v = ebb.tensor([1.0, 2.0]), ebb.tensor([1.0, 0.0])
        >>> ebb.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)
        (tensor(9.), tensor([6., 0.]))
    """
    call, vectors = _call_along_inputs("vhp", func, inputs, v, create_graph, strict)
    with recording():
        outputs = call.run_to_one_element()
        grads = call.gradients(outputs, [_C.ones_like(outputs[0])], create_graph=True)
        products = call.gradients(grads, vectors, what="gradient")
    return call.as_outputs(outputs), call.as_inputs(products)


@takes(_product)
def hvp(func, inputs, v, create_graph, strict) -> tuple[Tensor, Tensors]:
    """Return ``func(*inputs)``, one element, and the product of its Hessian with ``v``.

    Computed by forward over reverse: one backward pass on dual tensors. ``strict`` falls back on
    ``vhp``, which gives the same for a symmetric Hessian and knows what is independent of what.
    Arguments and errors are those of ``vjp``; ``v`` has the shape of the inputs.

    Example:
        >>> x, v = ebb.tensor([1.0, 2.0]), ebb.tensor([1.0, 0.0])
        >>> ebb.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
        (tensor(9.), tensor([6., 0.]))
    """
    if strict:
        return vhp(func, inputs, v, create_graph, strict)
    call, steps = _call_along_inputs("hvp", func, inputs, v, create_graph, strict)
    with recording(), forward_ad.dual_level():
        duals = list(map(forward_ad.make_dual, call.inputs, steps))
        outputs = call.run_to_one_element(duals)
        grads = call.gradients(outputs, [_C.ones_like(outputs[0])])
        products = [_tangent_or_zeros(grad) for grad in grads]
        outputs = [forward_ad.unpack_dual(out).primal for out in outputs]
    return call.as_outputs(outputs), call.as_inputs(products)


def _call_along_inputs(
    name: str,
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None,
    create_graph: bool,
    strict: bool,
) -> tuple[_Call, list[Tensor]]:
    """A call to be made, and the vectors in the shape of its inputs."""
    call = _Call(name, func, inputs, create_graph, strict)
    return call, call.vectors("v", v, call.inputs, call.inputs_are_tuple, "input")


def _check_strategy(name: str, strategy: str) -> None:
    if strategy not in STRATEGIES:
        raise _C.ValueError(
            f"{name}: the strategy must be 'reverse-mode' or 'forward-mode', got {strategy!r}"
        )


def _as_list(name: str, what: str, value: Any) -> tuple[list[Tensor], bool]:
    """Return the tensors of a tensor or a tuple, and which it was."""
    if isinstance(value, _C.Tensor):
        return [value], False
    if not isinstance(value, tuple):
        raise _C.DTypeError(
            f"{name}: {what} must be a Tensor or a tuple of Tensors, got {type(value).__name__}"
        )
    for position, one in enumerate(value):
        if not isinstance(one, _C.Tensor):
            raise _C.DTypeError(
                f"{name}: {what} must be a Tensor or a tuple of Tensors, got "
                f"{type(one).__name__} at position {position}"
            )
    return list(value), True


def _tangent_or_zeros(tensor: Tensor) -> Tensor:
    tangent = forward_ad.unpack_dual(tensor).tangent
    return _C.zeros_like(tensor) if tangent is None else tangent


def _is_differentiable(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


class _Call:
    """One call of a function whose derivatives are asked for."""

    def __init__(
        self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool
    ):
        self.name, self.func = name, func
        self.create_graph, self.strict = create_graph, strict
        given, self.inputs_are_tuple = _as_list(name, "inputs", inputs)
        refuse_samples(name, _IN_FUNC.get(name, name), *given)
        for position, one in enumerate(given):
            if not _is_differentiable(one):
                raise _C.DTypeError(
                    f"{name}: inputs need a floating or complex dtype, got "
                    f"{str(one.dtype).removeprefix('ebb.')} at position {position}"
                )
        self.outputs_are_tuple = False
        with recording():
            self.inputs = [as_variable(one, create_graph) for one in given]

    def run(self, given: Sequence[Tensor] | None = None) -> list[Tensor]:
        found = self.func(*(self.inputs if given is None else given))
        outputs, self.outputs_are_tuple = _as_list(self.name, "what the function returns", found)
        return outputs

    def run_to_one_element(self, given: Sequence[Tensor] | None = None) -> list[Tensor]:
        outputs = self.run(given)
        if self.outputs_are_tuple or outputs[0].numel() != 1:
            shapes = ", ".join(str(list(out.shape)) for out in outputs)
            raise _C.ValueError(
                f"{self.name}: the function must return one tensor of one element, got "
                f"{'a tuple of ' if self.outputs_are_tuple else ''}shape {shapes}"
            )
        return outputs

    def vectors(
        self, name: str, value: Any, like: list[Tensor], is_tuple: bool, what: str
    ) -> list[Tensor]:
        """The vectors of a product, one per tensor of ``like``; ones if they may be left out."""
        if value is None:
            if len(like) == 1 and like[0].numel() == 1:
                return [_C.ones_like(like[0].detach())]
            raise _C.ValueError(
                f"{self.name}: {name} may be left out for one {what} of one element, got "
                f"{len(like)} of shape {', '.join(str(list(one.shape)) for one in like)}"
            )
        vectors = _as_list(self.name, name, value)[0]
        if len(vectors) != len(like):
            raise _C.ValueError(
                f"{self.name}: {name} needs a tensor for each of the {len(like)} {what}s, "
                f"got {len(vectors)}"
            )
        for position, (vector, one) in enumerate(zip(vectors, like, strict=True)):
            if vector.shape != one.shape:
                raise _C.ValueError(
                    f"{self.name}: {name} needs shape {list(one.shape)} of {what} {position}, got "
                    f"{list(vector.shape)}"
                )
        return vectors if self.create_graph else [vector.detach() for vector in vectors]

    def gradients(
        self,
        outputs: Sequence[Tensor],
        seeds: Sequence[Tensor],
        create_graph: bool | None = None,
        what: str = "output",
        retain_graph: bool | None = None,
    ) -> list[Tensor]:
        """Gradients with respect to all inputs; zeros, or an error if strict, for none."""
        create_graph = self.create_graph if create_graph is None else create_graph
        pairs = []
        for position, (out, seed) in enumerate(zip(outputs, seeds, strict=True)):
            if out.requires_grad:
                pairs.append((out, seed))
            elif self.strict:
                raise _C.AutogradError(
                    f"{self.name}: {what} {position} must depend on the inputs, got one that "
                    "does not require a gradient"
                )
        if not pairs:
            return [_C.zeros_like(one) for one in self.inputs]
        found = _C.grad(
            [out for out, _ in pairs],
            self.inputs,
            [seed for _, seed in pairs],
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
        return [self._found(grad, index, what) for index, grad in enumerate(found)]

    def _found(self, grad: Tensor | None, index: int, what: str) -> Tensor:
        if grad is not None:
            return grad
        if self.strict:
            raise _C.AutogradError(
                f"{self.name}: each {what} must depend on every input, got one independent of "
                f"input {index}"
            )
        return _C.zeros_like(self.inputs[index])

    def push(self, steps: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Run on dual tensors; return outputs and their tangents."""
        with forward_ad.dual_level():
            outputs = self.run(list(map(forward_ad.make_dual, self.inputs, steps)))
            tangents = [_tangent_or_zeros(out) for out in outputs]
            return [forward_ad.unpack_dual(out).primal for out in outputs], tangents

    def push_by_reverse(self, outputs: Sequence[Tensor], steps: Sequence[Tensor]) -> list[Tensor]:
        """Tangents of outputs: the gradient is linear in its seeds, by the Jacobian transposed."""
        seeds = [_C.zeros_like(out).requires_grad_() for out in outputs]
        grads = self.gradients(outputs, seeds, create_graph=True)
        pairs = [(g, step) for g, step in zip(grads, steps, strict=True) if g.requires_grad]
        if not pairs:
            return [_C.zeros_like(out) for out in outputs]
        found = _C.grad(
            [grad for grad, _ in pairs],
            seeds,
            [step for _, step in pairs],
            create_graph=self.create_graph,
            allow_unused=True,
        )
        return [
            _C.zeros_like(out) if one is None else one
            for out, one in zip(outputs, found, strict=True)
        ]

    def rows(self) -> list[list[Tensor]]:
        """The Jacobian by output and input, a backward pass per element of the outputs."""
        outputs = self.run()
        matrix = []
        for position, out in enumerate(outputs):
            if self.strict and not out.requires_grad:
                raise _C.AutogradError(
                    f"{self.name}: output {position} must depend on the inputs, got one that "
                    "does not require a gradient"
                )
            rows = []
            for element in range(out.numel()):
                seed = _unit(out, element)
                rows.append(self.gradients([out], [seed], retain_graph=True))
            columns = [self._joined(out, one, rows, i) for i, one in enumerate(self.inputs)]
            matrix.append(columns)
        return matrix

    @staticmethod
    def _joined(out: Tensor, one: Tensor, rows: list[list[Tensor]], index: int) -> Tensor:
        shape = [*out.shape, *one.shape]
        if not rows:
            return _C.zeros(shape, dtype=one.dtype)
        return _C.stack([row[index] for row in rows]).reshape(shape)

    def columns(self) -> list[list[Tensor]]:
        """The Jacobian by output and input, a run of the function per element of the inputs."""
        if self.strict:
            raise _C.ValueError(
                f"{self.name}: strict needs the strategy 'reverse-mode', got 'forward-mode'"
            )
        found: list[list[list[Tensor]]] = []
        outputs: list[Tensor] = []
        for index, one in enumerate(self.inputs):
            if one.dtype.is_complex:
                raise _C.DTypeError(
                    f"{self.name}: 'forward-mode' needs real inputs, got complex at "
                    f"position {index}"
                )
            found.append([])
            for element in range(one.numel()):
                steps = [_C.zeros_like(other) for other in self.inputs]
                steps[index] = _unit(one, element)
                outputs, tangents = self.push(steps)
                found[-1].append(tangents)
        if not outputs:
            outputs = self.run()
        return [
            [self._turned(out, one, found[i], o) for i, one in enumerate(self.inputs)]
            for o, out in enumerate(outputs)
        ]

    @staticmethod
    def _turned(out: Tensor, one: Tensor, columns: list[list[Tensor]], index: int) -> Tensor:
        shape = [*out.shape, *one.shape]
        if not columns:
            return _C.zeros(shape, dtype=out.dtype)
        return _C.stack([column[index] for column in columns], -1).reshape(shape)

    def _results(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Tensors for the caller: without history unless that is wanted."""
        return tuple(tensors) if self.create_graph else tuple(map(without_history, tensors))

    def as_inputs(self, tensors: Sequence[Tensor]) -> Tensors:
        results = self._results(tensors)
        return results if self.inputs_are_tuple else results[0]

    def as_outputs(self, tensors: Sequence[Tensor]) -> Tensors:
        results = self._results(tensors)
        return results if self.outputs_are_tuple else results[0]

    def matrix(self, strategy: str) -> Any:
        """The Jacobian, in the structure that ``jacobian`` describes."""
        with recording():
            rows = self.columns() if strategy == "forward-mode" else self.rows()
        matrix = tuple(self.as_inputs(row) for row in rows)
        return matrix if self.outputs_are_tuple else matrix[0]


def without_history(tensor: Tensor) -> Tensor:
    """The tensor without history; tangents of levels around the call stay."""
    if not _C._tangent_levels(tensor):
        return tensor.detach()
    with _C.no_grad():
        return tensor.clone()


@contextlib.contextmanager
def recording() -> Iterator[None]:
    """Record, whatever mode the caller is in."""
    with _C.inference_mode(False), _C.enable_grad():
        yield


def as_variable(tensor: Tensor, is_connected: bool) -> Tensor:
    """A tensor that a gradient stops at, which keeps the tangents of the one given.

    Connected, it also keeps its history, and that of its tangents. Within ``recording()``.
    """
    if tensor.is_inference():
        tensor = tensor.clone()
    if is_connected and tensor.requires_grad:
        return tensor.view(tensor.shape)
    if not _C._tangent_levels(tensor):
        return tensor.detach().requires_grad_()
    with _C.set_grad_enabled(is_connected):
        return tensor.view(tensor.shape).requires_grad_()


def _unit(like: Tensor, element: int) -> Tensor:
    """Zeros with a one at an element, counted in row-major order."""
    unit = _C.zeros([like.numel()], dtype=like.dtype)
    unit[element] = 1
    return unit.reshape(like.shape)


_naming.name_module(__name__)
