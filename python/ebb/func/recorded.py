# python/ebb/func/recorded.py -- one call of a function, recorded to be differentiated.
#
# The function gets a fresh view or leaf for each tensor that it is differentiated by, and the
# engine is asked for gradients of what it returns. What the caller gets is recorded in turn where
# it may be differentiated further: if the caller records, and the results lead to other leaves
# than those made here (an argument that requires a gradient, a parameter that the function uses, a
# variable of a call around this one). Else it has no history, so that `no_grad` around a call cuts
# what is outside of it, and only that. Tangents of levels around the call are kept either way.
#
# Within vmap a sample is differentiated by its own memory in the batch: as samples do not meet,
# one backward pass serves all of them. Seeds may vary over levels that the call knew nothing of
# (vmap of what vjp returned): then there is a pass for each of their samples.
"""``Recorded``: leaves, gradients and what becomes of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb._base.arguments import map_leaves
from ebb._base.transforms import active_levels
from ebb._C import Tensor
from ebb.autograd.functional import as_variable, without_history
from ebb.func.batched import Batched, Level, calls, expanded, levels_of, plain_of, wrap


def tensors_of(values: Any) -> list[Tensor]:
    """The tensors of a container, in order."""
    found: list[Tensor] = []
    map_leaves("func", values, lambda one: isinstance(one, Tensor) and found.append(one))
    return found


def filled(call: str, like: Any, values: Sequence[Any]) -> Any:
    """A container like another, whose tensors are those given, in order."""
    rest = iter(values)
    return map_leaves(call, like, lambda one: next(rest) if isinstance(one, Tensor) else one)


def records() -> bool:
    """Whether what is computed here and now is recorded."""
    return _C.is_grad_enabled() and not _C.is_inference_mode_enabled()


class Recorded:
    """The leaves of one call, and what the engine gives for them."""

    def __init__(self, levels: Sequence[Level] | None = None) -> None:
        self.levels = tuple(active_levels() if levels is None else levels)
        self.is_open = records()
        self._plain_leaves: list[Tensor] = []

    def leaf(self, value: Any) -> Any:
        """A tensor to differentiate by, that passes on to where it came from what is outside."""
        if not isinstance(value, Tensor):
            return value
        value = expanded(value)
        levels = value._levels if isinstance(value, Batched) else ()
        made = as_variable(plain_of(value, levels), self.is_open)
        self._plain_leaves.append(made)
        return wrap(made, levels)

    def leads_out(self, tensors: Sequence[Tensor]) -> bool:
        """Whether results may be differentiated by others than the leaves made here."""
        plain = [one._plain if isinstance(one, Batched) else one for one in tensors]
        return self.is_open and _C._reaches_others(plain, self._plain_leaves)

    def shown(self, values: Any) -> Any:
        """A container as the caller sees it: its tensors without history unless they lead out."""

        def cut(one: Any) -> Any:
            if not isinstance(one, Tensor) or self.leads_out([one]):
                return one
            levels = one._levels if isinstance(one, Batched) else ()
            return wrap(without_history(plain_of(one, levels)), levels)

        return map_leaves("func", values, cut)

    def gradients(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        seeds: Sequence[Tensor],
        **options: Any,
    ) -> list[Any]:
        """What the engine gives; of each sample within vmap. None where nothing arrives."""
        levels = self.levels
        later = tuple(one for one in levels_of(seeds) if one not in levels)
        all_levels = tuple(sorted((*levels, *later)))
        plain = [plain_of(one, all_levels) for one in seeds]
        if not later:
            return self._ask(outputs, inputs, plain, levels, options)
        sizes = [one.size for one in later]
        places = [all_levels.index(one) for one in later]
        front = list(range(len(later)))
        lines = [one.movedim(places, front).flatten(0, len(later) - 1) for one in plain]
        found = self._ask(outputs, inputs, lines, (), {**options, "is_grads_batched": True})
        return [
            None if one is None
            else wrap(one.reshape(*sizes, *one.shape[1:]).movedim(front, places), all_levels)
            for one in found
        ]  # fmt: skip

    def rows(self, out: Tensor, inputs: Sequence[Tensor], create_graph: bool) -> list[Any]:
        """The Jacobian of one result: a pass for each of its elements."""
        found: Sequence[Any] = [None] * len(inputs)
        count = out.numel()
        if count > 0 and inputs and out.requires_grad:
            sizes = [one.size for one in self.levels]
            unit = _C.eye(count, dtype=out.dtype, device=out.device)
            seeds = unit.reshape(count, *(1 for _ in sizes), *out.shape)
            seeds = seeds.expand(count, *sizes, *out.shape)
            options = {"is_grads_batched": True, "create_graph": create_graph, "retain_graph": True}
            found = self._ask([out], inputs, [seeds], (), options)
        return [self._block(out, one, got) for one, got in zip(inputs, found, strict=True)]

    def _block(self, out: Tensor, one: Tensor, found: Any) -> Any:
        shape = (*out.shape, *one.shape)
        if found is None:
            return _C.zeros(shape, dtype=one.dtype, device=one.device)
        first = found.movedim(0, len(self.levels))
        return wrap(first.reshape(*(one.size for one in self.levels), *shape), self.levels)

    def _ask(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Tensor],
        levels: tuple[Level, ...], options: dict[str, Any],
    ) -> list[Any]:  # fmt: skip
        plain = [[plain_of(one, self.levels) for one in part] for part in (outputs, inputs)]
        found = _C.grad(*plain, seeds, allow_unused=True, **options)
        return [None if one is None else wrap(one, levels) for one in found]


def with_zeros(inputs: Sequence[Tensor], found: Sequence[Any]) -> list[Tensor]:
    """Gradients, zeros of inputs that have none."""
    pairs = zip(inputs, found, strict=True)
    return [_C.zeros_like(one) if got is None else got for one, got in pairs]


def grad_of_samples(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False, no_grad_vars: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """``autograd.grad`` of which an argument is a sample of vmap: of each sample."""
    ends, starts = tensors_of([outputs]), tensors_of([inputs])
    levels = levels_of([*ends, *starts])
    if any(levels_of([one]) != levels for one in starts):
        raise _C.NotImplementedError(
            "grad: needs inputs of each sample for outputs of each sample under vmap, got inputs "
            "that all samples share\nhint: use ebb.func.grad() within vmap"
        )
    if is_grads_batched or not only_inputs or no_grad_vars is not None:
        raise _C.NotImplementedError(
            "grad: needs is_grads_batched, only_inputs and no_grad_vars as they are by default "
            "under vmap, got others"
        )
    given = grad_outputs if isinstance(grad_outputs, tuple | list) else [grad_outputs] * len(ends)
    seeds = [_C.ones_like(o) if s is None else s for o, s in zip(ends, given, strict=True)]
    for output, seed in zip(ends, seeds, strict=True):
        if seed.shape != output.shape or (grad_outputs is None and output.numel() != 1):
            raise _C.ShapeError(
                f"grad: needs a gradient of the shape {list(output.shape)} of its output, got "
                f"{'none' if grad_outputs is None else list(seed.shape)}"
            )
    options = {"retain_graph": retain_graph, "create_graph": create_graph}
    found = Recorded(levels).gradients(ends, starts, seeds, **options)
    if materialize_grads:
        return tuple(with_zeros(starts, found))
    unused = [place for place, one in enumerate(found) if one is None]
    if unused and not allow_unused:
        raise _C.ValueError(
            f"grad: input {unused[0]} must have been used to compute the outputs, got one "
            "that was not"
        )
    return tuple(found)


calls["grad"] = grad_of_samples
