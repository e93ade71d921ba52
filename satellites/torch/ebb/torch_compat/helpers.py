# satellites/torch/ebb/torch_compat/helpers.py -- names that PyTorch keeps to itself and programs
# use anyway.
#
# They begin with an underscore or stand in files that its pages do not list. finder.py says under
# which of PyTorch's names each is found; what ebb has itself under another name stands there too.
"""Small functions and base classes of torch.nn, torch.nn.init, torch.optim and torch._utils."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urlparse as urlparse

import ebb
from ebb import _C
from ebb._C import Tensor


class _RequiredParameter:
    """Stands in an optimizer's defaults for what a group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: _RequiredParameter = _RequiredParameter()


def assert_true(condition: bool, message: str) -> None:
    """Raise an AssertionError unless the condition holds: ``assert`` for tracers.

    Raises:
        AssertionError: If it does not.
    """
    if not condition:
        raise AssertionError(message)


def use_grad_as_asked(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer's step that records only if its option ``differentiable`` is set."""

    @functools.wraps(step)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with ebb.set_grad_enabled(bool(self.defaults.get("differentiable"))):
            return step(self, *args, **kwargs)

    return run


def fused_or_foreach(
    params: Sequence[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return that neither a fused step nor one over lists is quicker here."""
    del params, differentiable, use_fused
    return False, False


def value_of(number: Any) -> Any:
    """Return the number of a tensor of one element, or a number as it is."""
    return number.item() if isinstance(number, Tensor) else number


class ZeroRedundancyOptimizer:
    """Refuses: there are no other processes to share an optimizer's state with.

    Raises:
        NotImplementedError: Always.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        raise _C.NotImplementedError(
            "ZeroRedundancyOptimizer: ebb runs in one process\n"
            "hint: run without a launcher, and make the optimizer itself"
        )


def flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """Return all elements of several tensors in one of one dim."""
    parts = [one.reshape(-1) for one in tensors]
    return ebb.cat(parts) if parts else ebb.empty(0)


def unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return views of the elements of ``flat`` in the shapes of several tensors.

    Raises:
        ShapeError: If their elements are not as many.
    """
    like = list(tensors)
    counts = [one.numel() for one in like]
    if sum(counts) != flat.numel():
        raise _C.ShapeError(
            f"unflatten_dense_tensors: needs {sum(counts)} elements, got {flat.numel()}"
        )
    parts = flat.split(counts) if counts else ()
    return tuple(part.view(one.shape) for part, one in zip(parts, like, strict=True))


def standard_normal(shape: Sequence[int], dtype: _C.dtype, device: Any) -> Tensor:
    """Return draws from the bell curve of mean 0 and deviation 1."""
    return ebb.randn(list(shape), dtype=dtype, device=device)


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, **more: Any
) -> None:
    """Do as ``testing.assert_close``, which replaced it, without looking at dtypes."""
    more.pop("equal_nan", None)
    more.pop("msg", None)
    ebb.testing.assert_close(
        ebb.as_tensor(actual), ebb.as_tensor(expected), rtol=rtol, atol=atol,
        check_dtype=False, equal_nan=True,
    )  # fmt: skip


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the random states of the accelerators that tensors lie on: of none."""
    del args
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], **more: Any) -> None:
    """Set the random states of accelerators, of which there are none.

    Raises:
        ValueError: If there are states to set.
    """
    del more
    if len(devices) or len(states):
        raise _C.ValueError(f"set_device_states: needs no states, got {len(states)}")
