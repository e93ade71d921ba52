# python/ebb/autograd/gradcheck.py -- compares derivatives with finite differences.
#
# Inputs are perturbed in place, element by element through their own strides, so the function sees
# the very layouts that it was given. A complex element counts as two real components: for a seed v
# and a direction u the numbers compared are dot(v, df) and dot(grad, u) over components. Start
# reading at gradcheck(), then _Check.run(); the C++ twin is ebb/testing/gradcheck.cpp.
"""gradcheck and gradgradcheck: finite differences against what ebb computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ebb import _C
from ebb.autograd import forward_ad
from ebb.autograd._components import (
    addresses,
    component_count,
    components,
    from_components,
    random_direction,
)
from ebb.autograd._gradcheck_batched import batched_seeds, batched_steps
from ebb.autograd._gradcheck_report import Comparison, explain

if TYPE_CHECKING:
    import numpy as np

    from ebb import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative that does not agree with finite differences."""


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
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check derivatives of ``func`` with respect to ``inputs`` against central differences.

    Every output with a floating or complex dtype is checked with respect to every input that
    requires a gradient. These must be float64 or complex128, and ``func`` deterministic. Complex
    numbers count as pairs of real ones, so functions need not be holomorphic.

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
        check_batched_grad: Also check that several seeds given at once (``is_grads_batched``) give
            the gradients of each.
        check_batched_forward_grad: Also check that several directions that go through ``func`` at
            once, each on a level of its own, give the tangents of each.
        check_forward_ad: Also check tangents, computed on dual tensors.
        check_backward_ad: Check gradients.
        fast_mode: One random direction per pair of input and output instead of all elements; a
            disagreement is then looked for element by element.
        masked: Accepted. It tells how what a sparse tensor lacks counts, and there are none.

    Returns:
        True if all derivatives agree, False if not and ``raise_exception`` is False.

    Raises:
        GradcheckError: With output, input, first and worst element, both values and a map.
        ebb.DTypeError: If an input to check is neither float64 nor complex128.
        ValueError: If no input requires a gradient, elements of inputs overlap in memory, or a
            batched check is asked for without the plain one.
    """
    options = _Options.among(locals())
    del masked
    if not check_forward_ad and not check_backward_ad:
        raise _C.ValueError(
            "gradcheck: needs check_backward_ad or check_forward_ad, got neither of them"
        )
    if check_batched_grad and not check_backward_ad:
        raise _C.ValueError("gradcheck: check_batched_grad needs check_backward_ad, got False")
    if check_batched_forward_grad and not check_forward_ad:
        raise _C.ValueError(
            "gradcheck: check_batched_forward_grad needs check_forward_ad, got False"
        )
    check = _Check("gradcheck", func, _as_tuple(inputs), options)
    return _passes(
        raise_exception,
        *([check.run] if check_backward_ad else []),
        *([check.run_forward] if check_forward_ad else []),
    )


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
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    check_rev_over_fwd: bool = False,
    fast_mode: bool = False,
    masked: bool | None = None,
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
        check_batched_grad: As in ``gradcheck``, for the gradients of the gradients.
        check_fwd_over_rev: Also check tangents of the gradients.
        check_rev_over_rev: Check gradients of the gradients.
        check_rev_over_fwd: Also check gradients of the tangents, along random directions.
        fast_mode: One random direction per pair instead of all elements.
        masked: Accepted. It tells how what a sparse tensor lacks counts, and there are none.

    Returns:
        True if all second derivatives agree, False if not and ``raise_exception`` is False.

    Raises:
        GradcheckError: As ``gradcheck`` does.
    """
    options = _Options.among(locals())
    del masked
    if not (check_fwd_over_rev or check_rev_over_rev or check_rev_over_fwd):
        raise _C.ValueError(
            "gradgradcheck: needs check_rev_over_rev, check_fwd_over_rev or check_rev_over_fwd, "
            "got none of them"
        )
    inputs = _as_tuple(inputs)
    runs: list[Callable[[], None]] = []
    if check_rev_over_rev or check_fwd_over_rev:
        if grad_outputs is None:
            seeds = _random_seeds(_differentiable(func(*inputs)), gen_non_contig_grad_outputs)
        else:
            seeds = _as_tuple(grad_outputs)
        gradients = _gradient_function(func, len(inputs))
        check = _Check("gradgradcheck", gradients, (*inputs, *seeds), options)
        runs += [check.run] if check_rev_over_rev else []
        runs += [check.run_forward] if check_fwd_over_rev else []
    if check_rev_over_fwd:
        checked = [value for value in inputs if _is_checked(value)]
        steps = _random_seeds(checked, gen_non_contig_grad_outputs)
        tangents = _tangent_function(func, len(inputs))
        runs.append(_Check("gradgradcheck", tangents, (*inputs, *steps), options).run)
    return _passes(raise_exception, *runs)


class _Options(NamedTuple):
    """What ``gradcheck`` and ``gradgradcheck`` are told, under the names of their arguments."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    fast_mode: bool
    check_batched_forward_grad: bool = False  # only gradcheck has it

    @classmethod
    def among(cls, arguments: dict[str, Any]) -> _Options:
        """Return those among all arguments of a call."""
        return cls(**{name: arguments[name] for name in cls._fields if name in arguments})


def _passes(raise_exception: bool, *runs: Callable[[], None]) -> bool:
    try:
        for run in runs:
            run()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _gradient_function(func: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the gradients of ``func`` as a function of its ``count`` inputs and its seeds."""

    def gradients(*arguments: Any) -> tuple[Tensor, ...]:
        primals, given = arguments[:count], arguments[count:]
        outputs = [out for out in _differentiable(func(*primals)) if out.requires_grad]
        wanted = [primal for primal in primals if _is_checked(primal)]
        found = _C.grad(
            outputs, wanted, given[: len(outputs)], create_graph=True, allow_unused=True
        )
        return tuple(grad for grad in found if grad is not None)

    return gradients


def _tangent_function(func: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the tangents of ``func`` as a function of its ``count`` inputs and directions."""

    def tangents(*arguments: Any) -> tuple[Tensor, ...]:
        primals, steps = list(arguments[:count]), iter(arguments[count:])
        with forward_ad.dual_level():
            for index, primal in enumerate(primals):
                if _is_checked(primal):
                    primals[index] = forward_ad.make_dual(primal, next(steps))
            found = [forward_ad.unpack_dual(o).tangent for o in _differentiable(func(*primals))]
        return tuple(tangent for tangent in found if tangent is not None)

    return tangents


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


def _random_seeds(outputs: list[Tensor], strided: bool) -> tuple[Tensor, ...]:
    """Draw gradients of the outputs' shapes that require gradients themselves."""
    import numpy as np

    seeds = []
    for out in outputs:
        if not out.requires_grad:
            continue
        seed = from_components(out, random_direction(component_count(out), 3 + len(seeds)))
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
            raise _C.ValueError(
                f"{name}: needs an input that requires a gradient, got none in {len(inputs)}"
            )
        for index in self.checked:
            self._check_dtype(index)
        self._check_memory()
        self._columns: dict[int, list[np.ndarray]] = {}  # numerical Jacobians by input

    def _check_dtype(self, index: int) -> None:
        value = self.inputs[index]
        if not value.is_dense:
            raise _C.ValueError(
                f"{self.name}: needs strided inputs, got {value.layout} "
                f"at position {index}\nhint: make it sparse inside the function, of its values: "
                "lambda values: func(ebb.sparse_coo_tensor(indices, values, size))"
            )
        if value.dtype not in (_C.float64, _C.complex128):
            raise _C.DTypeError(
                f"{self.name}: needs float64 or complex128 inputs, got "
                f"{str(value.dtype).removeprefix('ebb.')} at position {index}"
            )

    def _check_memory(self) -> None:
        """Refuse inputs where moving one element moves another one too."""
        import numpy as np

        seen: dict[int, np.ndarray] = {}
        for index in self.checked:
            value = self.inputs[index]
            own = addresses(value)
            if len(np.unique(own)) < len(own):
                raise _C.ValueError(
                    f"{self.name}: needs inputs without overlapping elements, got strides "
                    f"{list(value.stride())} at position {index}\n"
                    "hint: make it contiguous(), or expand inside the function"
                )
            for other, taken in seen.items():
                if self.inputs[other] is not value and np.isin(own, taken).any():
                    raise _C.ValueError(
                        f"{self.name}: needs inputs that share no memory, got elements in common "
                        f"at positions {other} and {index}\nhint: clone() one of them"
                    )
            seen[index] = own

    def run(self) -> None:
        """Check the gradient of every output for every input. Raises GradcheckError."""
        outputs = self.outputs()
        for output, out in enumerate(outputs):
            if self.options.fast_mode:
                self._check_seed(output, out)
            else:
                self._check_rows(output, out)
            if self.options.check_batched_grad:
                self._raise_if(batched_seeds(self, output, out))
        if self.options.check_undefined_grad and len(outputs) > 1:
            self._check_undefined(outputs)

    def run_forward(self) -> None:
        """Check the tangent of every output along every input. Raises GradcheckError."""
        import numpy as np

        outputs = self.outputs()
        for index in self.checked:
            count = component_count(self.inputs[index])
            if self.options.fast_mode:
                steps = random_direction(count, 2)[None]
            else:
                steps = np.eye(count)
            found = [self.tangents(index, step) for step in steps]
            wanted = [self._slopes(index, step) for step in steps]
            for output, out in enumerate(outputs):
                sizes = (len(steps), component_count(out))
                got = np.array([one[output] for one in found]).reshape(sizes)
                slopes = np.array([one[output] for one in wanted]).reshape(sizes)
                self._compare("tangent", output, index, (got.T, slopes.T), out)
            if self.options.check_batched_forward_grad:
                self._raise_if(batched_steps(self, index))

    def outputs(self, *given: Any) -> list[Tensor]:
        """Call the function, with its own inputs if none are given."""
        return _differentiable(self.func(*(given or self.inputs)))

    def _slopes(self, index: int, direction: np.ndarray) -> list[np.ndarray]:
        """Return how fast each output moves as one input moves along ``direction``."""
        import numpy as np

        memory = self.inputs[index].detach().numpy()
        before = memory.copy()
        shapes = [tuple(out.shape) for out in self.outputs()]
        step = (direction * self.options.eps).view(memory.dtype).reshape(memory.shape)
        try:
            np.copyto(memory, before + step)
            ahead = self._moved_outputs(index, shapes)
            np.copyto(memory, before - step)
            behind = self._moved_outputs(index, shapes)
        finally:
            np.copyto(memory, before)
        return [(a - b) / (2 * self.options.eps) for a, b in zip(ahead, behind, strict=True)]

    def _moved_outputs(self, index: int, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
        """Return the outputs after input ``index`` moved, which must not have changed a shape."""
        outputs = self.outputs()
        found = [tuple(out.shape) for out in outputs]
        if found != shapes:
            raise GradcheckError(
                f"{self.name}: shapes of outputs must not depend on values, got "
                f"{', '.join(map(str, map(list, shapes)))} and, with input {index} moved by eps, "
                f"{', '.join(map(str, map(list, found))) or 'no output'}"
            )
        return [components(out) for out in outputs]

    def _numerical(self, output: int, index: int) -> np.ndarray:
        """Return a Jacobian by finite differences: rows of the output, columns of the input."""
        import numpy as np

        if index not in self._columns:
            count = component_count(self.inputs[index])
            slopes = [self._slopes(index, column) for column in np.eye(count)]
            by_output = zip(*slopes, strict=True)
            self._columns[index] = [np.stack(columns, axis=1) for columns in by_output]
        found = self._columns[index]
        rows = component_count(self.outputs()[output]) if not found else len(found[output])
        return found[output] if found else np.zeros((rows, 0))

    def tangents(self, index: int, direction: np.ndarray) -> list[np.ndarray]:
        """Return what forward mode makes of a direction of one input, for each output."""
        import numpy as np

        value = self.inputs[index]
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(value, from_components(value, direction))
            outputs = _differentiable(
                self.func(*(dual if one is value else one for one in self.inputs))
            )
            found = []
            for output, out in enumerate(outputs):
                tangent = forward_ad.unpack_dual(out).tangent
                if tangent is None:
                    found.append(np.zeros(component_count(out)))
                    continue
                if tangent.shape != out.shape or tangent.dtype != out.dtype:
                    raise GradcheckError(
                        f"{self.name}: the tangent of output {output} must have its shape and "
                        f"dtype, {out.dtype} {list(out.shape)}, got {tangent.dtype} "
                        f"{list(tangent.shape)}"
                    )
                found.append(components(tangent))
        return found

    def _gradients(self, output: int, seed: np.ndarray) -> list[np.ndarray]:
        """Return what backward makes of a seed, for each checked input."""
        first, second = (self.gradients_once(output, seed) for _ in range(2))
        for index, one, two in zip(self.checked, first, second, strict=True):
            difference = abs(one - two).max(initial=0.0)
            if difference > self.options.nondet_tol:
                raise GradcheckError(
                    f"{self.name}: backward must be repeatable, got a difference of {difference} "
                    f"between two runs for output {output} and input {index}\n"
                    "hint: nondet_tol allows for a difference"
                )
        return first

    def gradients_once(self, output: int, seed: np.ndarray) -> list[np.ndarray]:
        import numpy as np

        values = [self.inputs[index] for index in self.checked]
        out = self.outputs()[output]
        found: Sequence[Tensor | None] = [None] * len(values)
        if out.requires_grad:
            seeds = [from_components(out, seed)]
            found = _C.grad([out], values, seeds, allow_unused=True)
        for index, value, grad in zip(self.checked, values, found, strict=True):
            if grad is not None:
                self._check_kind(index, value, grad)
        return [
            np.zeros(component_count(value)) if grad is None else components(grad)
            for value, grad in zip(values, found, strict=True)
        ]

    def _check_kind(self, index: int, value: Tensor, grad: Tensor) -> None:
        if tuple(grad.shape) != tuple(value.shape):
            raise GradcheckError(
                f"{self.name}: gradient of input {index} must have its shape "
                f"{list(value.shape)}, got {list(grad.shape)}"
            )
        if self.options.check_grad_dtypes and grad.dtype != value.dtype:
            raise GradcheckError(
                f"{self.name}: gradient of input {index} must have its dtype {value.dtype}, "
                f"got {grad.dtype}"
            )

    def _compare(
        self,
        what: str,
        output: int,
        index: int,
        pair: tuple[np.ndarray, np.ndarray],
        out: Tensor,
    ) -> None:
        """Raise if two Jacobians (or slopes along a direction) disagree."""
        comparison = Comparison(*pair, self.options.atol, self.options.rtol)
        if not comparison.wrong().any():
            return
        text = (
            f"{self.name}: {what} of output {output} with respect to input {index} must match "
            "finite differences, got "
        )
        is_whole = comparison.analytical.shape[1] == component_count(self.inputs[index])
        if is_whole and not self.options.fast_mode:
            raise GradcheckError(text + explain(comparison, out, self.inputs[index]))
        row = int(comparison.wrong().any(axis=1).argmax())
        raise GradcheckError(
            text + f"analytical {comparison.analytical[row, 0]:.9g} and numerical "
            f"{comparison.numerical[row, 0]:.9g} along a random direction"
        )

    def _check_seed(self, output: int, out: Tensor) -> None:
        """Check one random seed and direction: as good as the whole for finding a mistake."""
        import numpy as np

        seed = random_direction(component_count(out), 1)
        for index, grad in zip(self.checked, self._gradients(output, seed), strict=True):
            direction = random_direction(component_count(self.inputs[index]), 2)
            numerical = float(seed @ self._slopes(index, direction)[output])
            pair = (np.array([[float(grad @ direction)]]), np.array([[numerical]]))
            try:
                self._compare("gradient", output, index, pair, out)
            except GradcheckError as error:
                raise GradcheckError(f"{error}{self._details(output)}") from None

    def _details(self, output: int) -> str:
        """What a check of all elements says about an output that fails along a direction."""
        slow = _Check(self.name, self.func, self.inputs, self.options._replace(fast_mode=False))
        try:
            slow._check_rows(output, self.outputs()[output])
        except GradcheckError as error:
            return f"\nelement by element: {error}"
        return "\nelement by element: all agree within the tolerances"

    def _check_rows(self, output: int, out: Tensor) -> None:
        """Check every component of the output against every component of each input."""
        import numpy as np

        rows = [self._gradients(output, seed) for seed in np.eye(component_count(out))]
        for position, index in enumerate(self.checked):
            count = component_count(self.inputs[index])
            analytical = np.array([row[position] for row in rows]).reshape(len(rows), count)
            pair = (analytical, self._numerical(output, index))
            self._compare("gradient", output, index, pair, out)

    def _check_undefined(self, outputs: list[Tensor]) -> None:
        """Check that an output without a gradient counts as one whose gradient is zero."""
        import numpy as np

        values = [self.inputs[index] for index in self.checked]
        for output in range(len(outputs)):
            outs = self.outputs()
            if not all(out.requires_grad for out in outs):
                return
            seeds = [_C.zeros_like(out) for out in outs]
            seeds[output] = _C.ones_like(outs[output])
            full = _C.grad(outs, values, seeds, retain_graph=True, allow_unused=True)
            alone = _C.grad([outs[output]], values, [seeds[output]], allow_unused=True)
            for index, pair in zip(self.checked, zip(full, alone, strict=True), strict=True):
                sizes = component_count(self.inputs[index])
                both = [np.zeros(sizes) if one is None else components(one) for one in pair]
                if not np.allclose(both[0], both[1], rtol=self.options.rtol, atol=1e-12):
                    raise GradcheckError(
                        f"{self.name}: outputs without a gradient must count as zero, got another "
                        f"gradient for input {index} with only output {output} given"
                    )

    def _raise_if(self, mistake: str | None) -> None:
        if mistake is not None:
            raise GradcheckError(f"{self.name}: {mistake}")
