# python/ebb/autograd/gradcheck.py -- compares gradients with finite differences.
#
# Inputs are perturbed in place, element by element through their own strides, so the function sees
# the very layouts that it was given. A complex element counts as two real components: for a seed v
# and a direction u the numbers compared are dot(v, df) and dot(grad, u) over components. Start
# reading at gradcheck(); the C++ twin is ebb/testing/gradcheck.cpp.
"""gradcheck and gradgradcheck: finite differences against what backward computes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ebb import _C

if TYPE_CHECKING:
    import numpy as np

    from ebb import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient that does not agree with finite differences."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    fast_mode: bool = False,
) -> bool:
    """Check gradients of ``func`` with respect to ``inputs`` against central differences.

    Every output with a floating or complex dtype is checked with respect to every input that
    requires a gradient. These must be float64 or complex128, and ``func`` deterministic.

    Args:
        func: Takes ``inputs`` as arguments and returns a tensor or several.
        inputs: One tensor, or a sequence of tensors and other arguments.
        eps: Step of the central difference.
        atol: Absolute tolerance.
        rtol: Relative tolerance: ``|a - n| <= atol + rtol * |n|``.
        raise_exception: Raise ``GradcheckError`` on disagreement; otherwise return False.
        nondet_tol: By how much a second backward may differ from the first.
        check_undefined_grad: Also check that outputs without a gradient count as zero.
        check_grad_dtypes: Also check that gradients have the dtype of their inputs.
        fast_mode: One random direction per pair of input and output instead of all elements.

    Returns:
        True if all gradients agree, False if not and ``raise_exception`` is False.

    Raises:
        GradcheckError: With output, input, indices and both values, if a gradient disagrees.
        ebb.DTypeError: If an input to check is neither float64 nor complex128.
        ValueError: If no input requires a gradient, or elements of one overlap in memory.
    """
    options = _Options(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode
    )
    check = _Check("gradcheck", func, _as_tuple(inputs), options)
    return _run(check, raise_exception)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    fast_mode: bool = False,
) -> bool:
    """Check second derivatives: ``gradcheck`` of the function that computes the gradients.

    Args:
        func: Takes ``inputs`` as arguments and returns a tensor or several.
        inputs: One tensor, or a sequence of tensors and other arguments.
        grad_outputs: Gradients of the outputs; drawn at random if not given.
        eps: Step of the central difference.
        atol: Absolute tolerance.
        rtol: Relative tolerance.
        gen_non_contig_grad_outputs: Draw gradients that are not contiguous.
        raise_exception: Raise ``GradcheckError`` on disagreement; otherwise return False.
        nondet_tol: By how much a second backward may differ from the first.
        check_undefined_grad: Also check that gradients not given count as zero.
        check_grad_dtypes: Also check that gradients have the dtype of their inputs.
        fast_mode: One random direction per pair instead of all elements.

    Returns:
        True if all second derivatives agree, False if not and ``raise_exception`` is False.

    Raises:
        GradcheckError: As ``gradcheck`` does.
    """
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        seeds = _random_seeds(_differentiable(func(*inputs)), gen_non_contig_grad_outputs)
    else:
        seeds = _as_tuple(grad_outputs)
    count = len(inputs)

    def gradients(*arguments: Any) -> tuple[Tensor, ...]:
        primals, given = arguments[:count], arguments[count:]
        outputs = [out for out in _differentiable(func(*primals)) if out.requires_grad]
        wanted = [primal for primal in primals if _is_checked(primal)]
        found = _C.grad(
            outputs, wanted, given[: len(outputs)], create_graph=True, allow_unused=True
        )
        return tuple(grad for grad in found if grad is not None)

    options = _Options(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode
    )
    return _run(_Check("gradgradcheck", gradients, (*inputs, *seeds), options), raise_exception)


class _Options(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    fast_mode: bool


def _run(check: _Check, raise_exception: bool) -> bool:
    try:
        check.run()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, _C.Tensor):
        return (value,)
    return tuple(value) if isinstance(value, Iterable) else (value,)


def _is_checked(value: Any) -> bool:
    return isinstance(value, _C.Tensor) and value.requires_grad


def _differentiable(outputs: Any) -> list[Tensor]:
    """Return the tensors among the outputs that can have a gradient."""
    tensors = [out for out in _as_tuple(outputs) if isinstance(out, _C.Tensor)]
    return [out for out in tensors if out.dtype.is_floating_point or out.dtype.is_complex]


def _wide(dtype: _C.dtype) -> _C.dtype:
    return _C.complex128 if dtype.is_complex else _C.float64


def _components(tensor: Tensor) -> np.ndarray:
    """Return all components in row-major order, as a copy."""
    import numpy as np

    values = np.array(tensor.detach().to(_wide(tensor.dtype)).numpy(), order="C")
    return values.reshape(-1).view(np.float64)


def _from_components(like: Tensor, components: np.ndarray) -> Tensor:
    """Return a tensor of the shape and dtype of ``like`` that holds these components."""
    import numpy as np

    kind = np.complex128 if like.dtype.is_complex else np.float64
    values = np.ascontiguousarray(components).view(kind).reshape(tuple(like.shape))
    return _C.tensor(values).to(like.dtype)


def _random_direction(count: int, seed: int) -> np.ndarray:
    """Return a repeatable random vector of length 1."""
    import numpy as np

    direction = np.random.default_rng(seed).uniform(-1, 1, count)
    return direction / max(float(np.linalg.norm(direction)), 1e-300)


def _random_seeds(outputs: list[Tensor], strided: bool) -> tuple[Tensor, ...]:
    """Draw gradients of the outputs' shapes that require gradients themselves."""
    import numpy as np

    seeds = []
    for out in outputs:
        if not out.requires_grad:
            continue
        count = _components(out).size
        seed = _from_components(out, _random_direction(count, 3 + len(seeds)))
        if strided and seed.ndim > 0:
            doubled = np.repeat(seed.numpy(), 2, axis=-1)
            seed = _C.tensor(doubled)[..., ::2].detach()
        seeds.append(seed.requires_grad_())
    return tuple(seeds)


class _Check:
    """One function, its inputs and what is asked of them."""

    def __init__(
        self, name: str, func: Callable[..., Any], inputs: tuple[Any, ...], options: _Options
    ):
        self.name = name
        self.func = func
        self.inputs = inputs
        self.options = options
        self.checked = [index for index, value in enumerate(inputs) if _is_checked(value)]
        if not self.checked:
            raise ValueError(
                f"{name}: needs an input that requires a gradient, got none in {len(inputs)}"
            )
        for index in self.checked:
            self._check_input(index)

    def _check_input(self, index: int) -> None:
        value = self.inputs[index]
        if value.dtype not in (_C.float64, _C.complex128):
            raise _C.DTypeError(
                f"{self.name}: needs float64 or complex128 inputs, got "
                f"{str(value.dtype).removeprefix('ebb.')} at position {index}"
            )
        pairs = zip(value.shape, value.stride(), strict=True)
        if value.numel() > 0 and any(size > 1 and stride == 0 for size, stride in pairs):
            raise _C.ValueError(
                f"{self.name}: needs inputs without overlapping elements, got strides "
                f"{list(value.stride())} at position {index}\n"
                "hint: make it contiguous(), or expand inside the function"
            )

    def run(self) -> None:
        """Check every pair of output and input. Raises GradcheckError."""
        outputs = self._outputs()
        for output, index in itertools.product(range(len(outputs)), self.checked):
            if self.options.fast_mode:
                self._check_along_direction(output, index)
            else:
                self._check_pair(output, index)
        if self.options.check_undefined_grad and len(outputs) > 1:
            self._check_undefined(outputs)

    def _outputs(self) -> list[Tensor]:
        return _differentiable(self.func(*self.inputs))

    def _slope(self, output: int, index: int, direction: np.ndarray) -> np.ndarray:
        """Return how fast an output moves as one input moves along ``direction``."""
        import numpy as np

        memory = self.inputs[index].detach().numpy()
        before = memory.copy()
        step = (direction * self.options.eps).view(memory.dtype).reshape(memory.shape)
        try:
            np.copyto(memory, before + step)
            ahead = _components(self._outputs()[output])
            np.copyto(memory, before - step)
            behind = _components(self._outputs()[output])
        finally:
            np.copyto(memory, before)
        return (ahead - behind) / (2 * self.options.eps)

    def _gradient(self, output: int, index: int, seed: np.ndarray) -> np.ndarray:
        """Return what backward makes of a seed."""
        first, second = (self._gradient_once(output, index, seed) for _ in range(2))
        difference = abs(first - second).max(initial=0.0)
        if difference > self.options.nondet_tol:
            raise GradcheckError(
                f"{self.name}: backward must be repeatable, got a difference of {difference} "
                f"between two runs for output {output} and input {index}"
            )
        return first

    def _gradient_once(self, output: int, index: int, seed: np.ndarray) -> np.ndarray:
        import numpy as np

        value = self.inputs[index]
        out = self._outputs()[output]
        found = None
        if out.requires_grad:
            seeds = [_from_components(out, seed)]
            found = _C.grad([out], [value], seeds, allow_unused=True)[0]
        if found is None:
            return np.zeros(_components(value).size)
        if tuple(found.shape) != tuple(value.shape):
            raise GradcheckError(
                f"{self.name}: gradient of input {index} must have its shape "
                f"{list(value.shape)}, got {list(found.shape)}"
            )
        if self.options.check_grad_dtypes and found.dtype != value.dtype:
            raise GradcheckError(
                f"{self.name}: gradient of input {index} must have its dtype {value.dtype}, "
                f"got {found.dtype}"
            )
        return _components(found)

    def _agree(self, analytical: float, numerical: float) -> bool:
        # Written so that NaN disagrees.
        tolerance = self.options.atol + self.options.rtol * abs(numerical)
        return abs(analytical - numerical) <= tolerance

    def _fail(self, output: int, index: int, where: str, values: tuple[float, float]) -> None:
        raise GradcheckError(
            f"{self.name}: gradient of output {output} with respect to input {index} must match "
            f"finite differences, got analytical {values[0]:.9g} and numerical {values[1]:.9g} "
            f"{where}"
        )

    def _check_along_direction(self, output: int, index: int) -> None:
        """Check one random direction: as good as the whole matrix for finding a mistake."""
        seed = _random_direction(_components(self._outputs()[output]).size, 1)
        direction = _random_direction(_components(self.inputs[index]).size, 2)
        numerical = float(seed @ self._slope(output, index, direction))
        analytical = float(self._gradient(output, index, seed) @ direction)
        if not self._agree(analytical, numerical):
            self._fail(output, index, "along a random direction", (analytical, numerical))

    def _check_pair(self, output: int, index: int) -> None:
        """Check every component of the output against every component of the input."""
        import numpy as np

        out, value = self._outputs()[output], self.inputs[index]
        columns = _components(value).size
        slopes = [self._slope(output, index, column) for column in np.eye(columns)]
        for row, seed in enumerate(np.eye(_components(out).size)):
            analytical = self._gradient(output, index, seed)
            for column in range(columns):
                pair = (float(analytical[column]), float(slopes[column][row]))
                if not self._agree(*pair):
                    where = f"at {_place(value, column)} of the input and {_place(out, row)} of"
                    self._fail(output, index, f"{where} the output", pair)

    def _check_undefined(self, outputs: list[Tensor]) -> None:
        """Check that an output without a gradient counts as one whose gradient is zero."""
        import numpy as np

        values = [self.inputs[index] for index in self.checked]
        for output in range(len(outputs)):
            outs = self._outputs()
            if not all(out.requires_grad for out in outs):
                return
            seeds = [_C.zeros_like(out) for out in outs]
            seeds[output] = _C.ones_like(outs[output])
            full = _C.grad(outs, values, seeds, retain_graph=True, allow_unused=True)
            alone = _C.grad([outs[output]], values, [seeds[output]], allow_unused=True)
            for index, pair in zip(self.checked, zip(full, alone, strict=True), strict=True):
                sizes = _components(self.inputs[index]).size
                both = [np.zeros(sizes) if one is None else _components(one) for one in pair]
                if not np.allclose(both[0], both[1], rtol=self.options.rtol, atol=1e-12):
                    raise GradcheckError(
                        f"{self.name}: outputs without a gradient must count as zero, got another "
                        f"gradient for input {index} with only output {output} given"
                    )


def _place(tensor: Tensor, component: int) -> str:
    """Return the index of a component, and which part of a complex number it is."""
    import numpy as np

    parts = 2 if tensor.dtype.is_complex else 1
    position = np.unravel_index(component // parts, tuple(tensor.shape) or (1,))
    text = str([int(one) for one in position[: tensor.ndim]])
    return text if parts == 1 else f"{text} ({'imaginary' if component % 2 else 'real'} part)"
