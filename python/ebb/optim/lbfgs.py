# python/ebb/optim/lbfgs.py -- L-BFGS: Newton's steps with curvature from the last few steps.
"""Nocedal and Wright, Numerical Optimization (2006), algorithms 7.4 and 7.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.optim.line_search import Point, WolfeSearch
from ebb.optim.optimizer import Optimizer, Params

SMALLEST_CURVATURE = 1e-10  # of a step that the history takes


class LBFGS(Optimizer):
    """Newton's steps over all parameters as one vector, from the last few changes of the gradient.

    ``step`` needs a closure, which it calls several times.

    Args:
        params: Parameters; one group only.
        lr: Step size; with a line search, the first one that it tries.
        max_iter: Iterations per call of ``step``.
        max_eval: Calls of the closure per call of ``step``; 1.25 ``max_iter`` if None.
        tolerance_grad: Stop when no element of the gradient is larger.
        tolerance_change: Stop when no parameter, or the loss, changes more.
        history_size: How many changes are kept, two vectors each.
        line_search_fn: "strong_wolfe", or None for steps of ``lr``.
        maximize: Look for the largest loss.

    Example:
        >>> x = ebb.tensor([-1.5, 2.0], requires_grad=True)
        >>> optimizer = ebb.optim.LBFGS([x], max_iter=50, line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        ...     loss.backward()
        ...     return loss
        >>> _ = optimizer.step(closure)
        >>> bool(((x - 1).abs() < 1e-3).all())
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ):
        if not lr >= 0:
            raise _C.ValueError(f"LBFGS: needs lr >= 0, got {lr}")
        if line_search_fn not in (None, "strong_wolfe"):
            raise _C.ValueError(
                f"LBFGS: line_search_fn needs strong_wolfe or None, got {line_search_fn!r}"
            )
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise _C.ValueError(f"LBFGS: needs one group, got {len(self.param_groups)}")
        for number, one in enumerate(self._params):
            if one.is_complex():
                raise _C.DTypeError(
                    f"LBFGS: needs real parameters, got {one.dtype} as parameter {number}"
                )

    @property
    def _params(self) -> tuple[Tensor, ...]:
        return self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make up to ``max_iter`` iterations.

        Args:
            closure: Clears the gradients, computes the loss and its gradients, and returns it.

        Returns:
            The first loss.
        """
        if closure is None:
            raise _C.DTypeError("step: LBFGS needs a closure that computes the loss, got None")
        with _C.no_grad():
            first = self._evaluate(closure)
            state = self.state[self._params[0]]
            state.setdefault("func_evals", 0)
            state.setdefault("n_iter", 0)
            self._iterate(closure, state, self._sign * float(first), self._flat_grad())
        return first

    def _evaluate(self, closure: Callable[[], Any]) -> Any:
        with _C.enable_grad():
            return closure()

    def _iterate(
        self, closure: Callable[[], Any], state: dict[str, Any], loss: float, grad: Tensor
    ) -> None:
        group = self.param_groups[0]
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            if iteration == 1 and _largest(grad) <= group["tolerance_grad"]:
                break
            state["n_iter"] += 1
            _update_direction(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad, loss
            slope = float(grad.dot(state["d"]))
            is_first = state["n_iter"] == 1
            state["t"] = group["lr"] * (min(1.0, 1 / float(grad.abs().sum())) if is_first else 1)
            if slope > -group["tolerance_change"]:
                break
            start = Point(0.0, loss, slope, grad)
            is_last = iteration == group["max_iter"]
            now = self._move(closure, state, start, group["max_eval"] - evaluations, is_last)
            evaluations += state.pop("ls_evals")
            before, loss, grad = loss, now.loss, now.grad
            moved = _largest(state["d"]) * abs(state["t"])
            if (
                evaluations >= group["max_eval"]
                or _largest(grad) <= group["tolerance_grad"]
                or moved <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        state["func_evals"] += evaluations

    def _move(
        self,
        closure: Callable[[], Any],
        state: dict[str, Any],
        start: Point,
        left: int,
        is_last: bool,
    ) -> Point:
        """Make one step along the direction; return where it led."""
        group, direction = self.param_groups[0], state["d"]
        if group["line_search_fn"] is None:
            self._add(direction, state["t"])
            state["ls_evals"] = 0 if is_last else 1
            if is_last:  # nobody looks at the loss again
                return start
            loss = self._sign * float(self._evaluate(closure))
            return Point(state["t"], loss, 0.0, self._flat_grad())
        origin = [parameter.clone() for parameter in self._params]

        def look(t: float) -> Point:
            self._put(origin)
            self._add(direction, t)
            loss = self._sign * float(self._evaluate(closure))
            grad = self._flat_grad()
            return Point(t, loss, float(grad.dot(direction)), grad)

        try:
            size, tolerance = _largest(direction), group["tolerance_change"]
            search = WolfeSearch(look, start, size, tolerance, left)
            found = search.run(state["t"])
        finally:
            self._put(origin)
        self._add(direction, found.t)
        state["t"], state["ls_evals"] = found.t, search.evaluations
        return found

    @property
    def _sign(self) -> int:
        """What the loss is multiplied with, so that less of it is better."""
        return -1 if self.param_groups[0].get("maximize") else 1

    def _flat_grad(self) -> Tensor:
        return self._sign * _C.cat(
            [
                (_C.zeros_like(one) if one.grad is None else one.grad.to_dense()).reshape(-1)
                for one in self._params
            ]
        )

    def _put(self, values: list[Tensor]) -> None:
        for parameter, value in zip(self._params, values, strict=True):
            parameter.copy_(value)

    def _add(self, direction: Tensor, t: float) -> None:
        start = 0
        for parameter in self._params:
            end = start + parameter.numel()
            parameter.add_(direction[start:end].reshape(parameter.shape), alpha=t)
            start = end


def _largest(vector: Tensor) -> float:
    return float(vector.abs().max()) if vector.numel() else 0.0


def _update_direction(state: dict[str, Any], grad: Tensor, history_size: int) -> None:
    """Set ``state["d"]``, after taking the last step into the history."""
    if state["n_iter"] == 1:
        state.update(d=-grad, old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
        return
    change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = float(change.dot(step))
    if curvature > SMALLEST_CURVATURE:
        if len(state["old_dirs"]) == history_size:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(step)
        state["ro"].append(1 / curvature)
        state["H_diag"] = curvature / float(change.dot(change))
    history = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
    direction, shares = -grad, []
    for change, step, inverse in reversed(history):
        shares.append(float(step.dot(direction)) * inverse)
        direction = direction.add(change, alpha=-shares[-1])
    direction = direction * state["H_diag"]
    for (change, step, inverse), share in zip(history, reversed(shares), strict=True):
        direction = direction.add(step, alpha=share - float(change.dot(direction)) * inverse)
    state["d"] = direction
