# python/ebb/amp/grad_scaler.py -- keeps small gradients of float16 above zero.
"""Loss scaling."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from ebb import _C
from ebb._base.arguments import map_leaves
from ebb.amp.state import is_autocast_available

_UNSCALED, _STEPPED = "unscaled", "stepped"
# Powers of two that float32 holds, with their inverses: the scale stays between them.
_SMALLEST, _LARGEST = 2.0**-126, 2.0**126
_OPTIONS = ("growth_factor", "backoff_factor", "growth_interval")
_PACKAGE = __file__.rpartition("amp")[0]


class _Stage(NamedTuple):
    """How far an optimizer is since the last update(), and the line that brought it there."""

    name: str
    line: str


class _Answer:
    """Whether gradients are finite; what a device has found is read when that is asked."""

    def __init__(self, is_finite: bool, found: tuple[_C.Tensor, ...]) -> None:
        self._is_finite, self._found = is_finite, found

    def __bool__(self) -> bool:
        found, self._found = self._found, ()
        self._is_finite = all(one.item() == 0 for one in found) and self._is_finite
        return self._is_finite


class GradScaler:
    """Scale the loss, so that float16 gradients do not vanish, and step only where they are finite.

    ``scale(loss).backward()``, then ``step(optimizer)``, which divides the gradients by the scale
    and leaves the parameters alone if one is infinite or NaN, then ``update()``. After
    ``growth_interval`` steps in a row that were made the scale grows, after one that was not it
    shrinks. bfloat16 has float32's range and needs none of this. Gradients on a device are divided
    and looked at there: ``unscale_()`` waits for nothing, ``step()`` for the answer.

    Args:
        device: Where the gradients are; a scaler for devices that are not here warns, and is off.
        init_scale: The scale at start.
        growth_factor: Above 1: what the scale is multiplied by when it grows.
        backoff_factor: Below 1: the same when it shrinks.
        growth_interval: So many steps in a row make it grow.
        enabled: With False, everything passes through as if there were no scaler.

    Raises:
        ValueError: For factors on the wrong side of 1.

    Example:
        >>> weight = ebb.ones(2, requires_grad=True)
        >>> optimizer = ebb.optim.SGD([weight], lr=0.5)
        >>> scaler = ebb.amp.GradScaler()
        >>> scaler.scale((weight * 2).sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> weight
        tensor([0., 0.], requires_grad=True)
    """

    def __init__(
        self,
        device: str | _C.device = "cpu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._enabled = bool(enabled)
        self._device = _C.device(device)
        if self._enabled and not is_autocast_available(self._device):
            warnings.warn(
                f"GradScaler: no device {self._device.type!r} here, so nothing is scaled",
                stacklevel=2 if type(self) is GradScaler else 3,
            )
            self._enabled = False
        if self._enabled and not 0.0 < init_scale <= _LARGEST:
            raise _C.ValueError(f"GradScaler: 'init_scale' needs 0 < x < inf, got {init_scale}")
        self._scale = float(init_scale)
        self._growth_tracker = 0
        self._stages: dict[int, _Stage] = {}  # of optimizers since the last update(), by id
        self._are_finite: dict[int, _Answer] = {}
        self.set_growth_factor(growth_factor)
        self.set_backoff_factor(backoff_factor)
        self.set_growth_interval(growth_interval)

    def scale(self, outputs: Any) -> Any:
        """Return ``outputs``, a tensor or a nest of lists, tuples and dicts, times the scale."""
        if not self._enabled:
            return outputs
        return map_leaves("scale", outputs, self._scaled)

    def _scaled(self, output: Any) -> _C.Tensor:
        if isinstance(output, _C.Tensor):
            return output * self._scale
        raise _C.DTypeError(
            f"scale: needs a tensor or a nest of tensors, got {type(output).__name__}"
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the scale, to clip them before ``step()``.

        Raises:
            RuntimeError: If it was done already, or ``step()`` was called, since ``update()``.
            DTypeError: For float16 gradients.
        """
        if not self._enabled:
            return
        if stage := self._stages.get(id(optimizer)):
            wanted = "one call between two of update()" if stage.name == _UNSCALED else (
                "to be called before step()")  # fmt: skip
            raise _C.AutogradError(
                f"unscale_: needs {wanted}, got this optimizer {stage.name} at {stage.line}"
            )
        self._unscale(optimizer)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``optimizer.step(...)`` if all gradients are finite; its result, or None.

        Raises:
            RuntimeError: If it was called already since ``update()``, or no parameter of the
                optimizer has a gradient.
            ValueError: For a closure, which would compute gradients that nobody unscales.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or any(callable(one) for one in args):
            raise _C.ValueError("step: needs an optimizer.step() without closure, got a closure")
        stage = self._stages.get(id(optimizer))
        if stage is not None and stage.name == _STEPPED:
            raise _C.AutogradError(
                "step: needs one call between two of update(), "
                f"got this optimizer {stage.name} at {stage.line}"
            )
        if stage is None:
            self._unscale(optimizer)
        self._stages[id(optimizer)] = _Stage(_STEPPED, _line_of_user())
        return optimizer.step(*args, **kwargs) if self._are_finite[id(optimizer)] else None

    def update(self, new_scale: float | _C.Tensor | None = None) -> None:
        """Adapt the scale to what ``step()`` found, or set it.

        Raises:
            RuntimeError: If no optimizer made a step, or unscaled, since the last call.
            ValueError: For a scale that has no inverse.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            if not _SMALLEST <= float(new_scale) <= _LARGEST:
                raise _C.ValueError(f"update: 'new_scale' needs 0 < x < inf, got {new_scale}")
            self._scale = float(new_scale)
        elif not self._are_finite:
            raise _C.AutogradError("update: needs a step() or unscale_() before it, got none")
        else:
            options = [getattr(self, f"_{name}") for name in _OPTIONS]
            are_finite = all(self._are_finite.values())
            self._scale, self._growth_tracker = _C._next_scale(
                self._scale, self._growth_tracker, are_finite, *options
            )
        self._stages.clear()
        self._are_finite.clear()

    def _unscale(self, optimizer: Any) -> None:
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        if all(parameter.grad is None for parameter in parameters):
            raise _C.AutogradError(
                "step: needs gradients to look at, got none on this optimizer's parameters\n"
                "hint: call scaler.scale(loss).backward() first"
            )
        self._are_finite[id(optimizer)] = _Answer(*_C._unscale_grads(parameters, 1.0 / self._scale))
        self._stages[id(optimizer)] = _Stage(_UNSCALED, _line_of_user())

    def is_enabled(self) -> bool:
        """Return whether the scaler does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """Return the scale; 1.0 if the scaler is off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return what the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows: above 1."""
        if self._enabled and not new_factor > 1.0:
            raise _C.ValueError(f"GradScaler: 'growth_factor' needs > 1, got {new_factor}")
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return what the scale is multiplied by when it shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it shrinks: below 1."""
        if self._enabled and not 0.0 < new_factor < 1.0:
            raise _C.ValueError(f"GradScaler: 'backoff_factor' needs 0 < x < 1, got {new_factor}")
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return how many steps in a row make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many steps in a row make the scale grow: at least 1."""
        if self._enabled and not (new_interval >= 1 and new_interval == int(new_interval)):
            raise _C.ValueError(
                f"GradScaler: 'growth_interval' needs a whole number >= 1, got {new_interval}"
            )
        self._growth_interval = int(new_interval)

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles carry: optimizers are told apart by their address."""
        if self._stages:
            raise _C.AutogradError(
                "GradScaler: needs to be copied before step() or after update(), got it between"
            )
        return self.__dict__

    def state_dict(self) -> dict[str, Any]:
        """Return the state to save; empty if the scaler is off."""
        if not self._enabled:
            return {}
        options = {name: getattr(self, f"_{name}") for name in _OPTIONS}
        return {"scale": self._scale, **options, "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a state that ``state_dict()`` gave.

        Raises:
            ValueError: For an empty state, that of a scaler that was off, or one that lacks a part;
                nothing is taken over then.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise _C.ValueError(
                "load_state_dict: needs a state, got an empty one, as of a scaler that was off"
            )
        missing = self.state_dict().keys() - state_dict.keys()
        if missing:
            raise _C.ValueError(f"load_state_dict: needs {', '.join(sorted(missing))}, got none")
        options = {name: state_dict[name] for name in _OPTIONS}
        loaded = GradScaler(init_scale=state_dict["scale"], **options)
        loaded._growth_tracker = int(state_dict["_growth_tracker"])
        self._scale, self._growth_tracker = loaded._scale, loaded._growth_tracker
        for name in _OPTIONS:
            setattr(self, f"_{name}", getattr(loaded, f"_{name}"))


def _line_of_user() -> str:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    code = frame.f_code
    return f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno} in {code.co_name}"
