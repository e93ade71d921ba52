# python/ebb/autograd/_gradcheck_batched.py -- whether a batch gives what its entries give alone.
#
# There is no vmap. A batch of seeds is what is_grads_batched makes of it; a batch of directions
# goes through one call of the function, each on a forward-mode level of its own.
"""Batched checks of gradcheck: each returns what is wrong, or None."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ebb import _C
from ebb.autograd import forward_ad
from ebb.autograd._components import (
    component_count,
    components,
    from_components,
    random_direction,
)

if TYPE_CHECKING:
    import numpy as np

    from ebb import Tensor
    from ebb.autograd.gradcheck import _Check

BATCH = 3  # seeds or directions


def _rows(count: int) -> list[np.ndarray]:
    return [random_direction(count, 5 + number) for number in range(BATCH)]


def batched_seeds(check: _Check, output: int, out: Tensor) -> str | None:
    """Compare gradients of seeds given at once with those of each by itself."""
    if not out.requires_grad:
        return None
    seeds = _rows(component_count(out))
    stacked = _C.stack([from_components(out, seed) for seed in seeds])
    found = _C.grad(
        [check.outputs()[output]],
        [check.inputs[index] for index in check.checked],
        [stacked],
        allow_unused=True,
        is_grads_batched=True,
    )
    for number, seed in enumerate(seeds):
        alone = check.gradients_once(output, seed)
        for batch, one, index in zip(found, alone, check.checked, strict=True):
            got = one * 0 if batch is None else components(batch[number])
            what = f"gradient of output {output} with respect to input {index}"
            mistake = _compare(check, what, number, got, one)
            if mistake is not None:
                return mistake
    return None


def batched_steps(check: _Check, index: int) -> str | None:
    """Compare tangents of directions that go through one call with those of each by itself."""
    steps = _rows(component_count(check.inputs[index]))
    for number, (batch, step) in enumerate(zip(_at_once(check, index, steps), steps, strict=True)):
        alone = check.tangents(index, step)
        for output, (got, one) in enumerate(zip(batch, alone, strict=True)):
            what = f"tangent of output {output} with respect to input {index}"
            mistake = _compare(check, what, number, got, one)
            if mistake is not None:
                return mistake
    return None


def _at_once(check: _Check, index: int, steps: list[np.ndarray]) -> list[list[np.ndarray]]:
    """The tangents of all outputs along each step, from one call of the function."""
    value = check.inputs[index]
    with contextlib.ExitStack() as stack:
        dual, levels = value, []
        for step in steps:
            levels.append(stack.enter_context(forward_ad.dual_level()))
            dual = forward_ad.make_dual(dual, from_components(value, step))
        outputs = check.outputs(*(dual if one is value else one for one in check.inputs))
        return [[_tangent_row(out, level) for out in outputs] for level in levels]


def _tangent_row(out: Tensor, level: int) -> np.ndarray:
    tangent = forward_ad.unpack_dual(out, level=level).tangent
    return components(_C.zeros_like(out) if tangent is None else tangent)


def _compare(
    check: _Check, what: str, number: int, got: np.ndarray, alone: np.ndarray
) -> str | None:
    import numpy as np

    if np.allclose(got, alone, rtol=check.options.rtol, atol=check.options.atol):
        return None
    worst = int(abs(got - alone).argmax())
    return (
        f"{what} must be the same in a batch as alone, got {got[worst]:.9g} and "
        f"{alone[worst]:.9g} at component {worst} of entry {number} of the batch"
    )
