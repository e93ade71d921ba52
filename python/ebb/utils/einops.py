# python/ebb/utils/einops.py -- lets the package einops take tensors.
#
# einops looks for a backend among the subclasses of its AbstractBackend; importing this module
# makes one. The layers are those of einops.layers, as modules.
"""``import ebb.utils.einops``, and ``einops.rearrange(tensor, ...)`` works; needs the package."""

from __future__ import annotations

import importlib
from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb._functions import arrange as _arrange
from ebb.nn.module import Module

__all__ = ["EbbBackend", "Rearrange", "Reduce"]


class _Missing:
    def __init__(self, *args: Any, **kwargs: Any):
        raise _C.NotImplementedError(
            f"{type(self).__name__}: needs the package einops, got none\nhint: pip install einops"
        )


def _base(module: str, name: str) -> Any:
    """Return a class of einops, or what says that it is not installed."""
    try:
        return getattr(importlib.import_module(f"einops.{module}"), name)
    except ImportError:
        return _Missing


class EbbBackend(_base("_backends", "AbstractBackend")):
    """What einops does with tensors of ebb.

    Example:
        >>> from importlib.util import find_spec
        >>> import ebb.utils.einops
        >>> if find_spec("einops") is not None:
        ...     import einops
        ...     assert einops.rearrange(ebb.ones(2, 3), "a b -> b a").shape == (3, 2)
    """

    framework_name = "ebb"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Return whether it is a tensor of ebb."""
        return isinstance(tensor, _C.Tensor)

    def from_numpy(self, x: Any) -> _C.Tensor:
        """Return an array as a tensor, which requires a gradient if it can."""
        made = _C.from_numpy(x)
        return made.requires_grad_() if self.is_float_type(made) else made

    def to_numpy(self, x: _C.Tensor) -> Any:
        """Return a tensor as an array."""
        return x.detach().cpu().numpy()

    def arange(self, start: int, stop: int) -> _C.Tensor:
        """Return whole numbers."""
        return _C.arange(start, stop, dtype=_C.int64)

    def shape(self, x: _C.Tensor) -> tuple[int, ...]:
        """Return the sizes."""
        return tuple(x.shape)

    def transpose(self, x: _C.Tensor, axes: Any) -> _C.Tensor:
        """Return the dims in another order."""
        return x.permute(tuple(axes))

    def reduce(self, x: _C.Tensor, operation: str, axes: Any) -> _C.Tensor:
        """Return a reduction over some dims."""
        if operation in ("min", "max"):
            return getattr(x, f"a{operation}")(dim=tuple(axes))
        if operation in ("sum", "mean"):
            return getattr(x, operation)(dim=tuple(axes))
        if operation not in ("any", "all", "prod"):
            raise _C.NotImplementedError(
                f"reduce: needs min, max, sum, mean, prod, any or all, got {operation!r}"
            )
        for axis in sorted(axes, reverse=True):
            x = getattr(x, operation)(dim=axis)
        return x

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> _C.Tensor:
        """Return tensors as one with a new first dim."""
        return _C.stack(tensors)

    def add_axis(self, x: _C.Tensor, new_position: int) -> _C.Tensor:
        """Return a tensor with a dim of size 1 more."""
        return x.unsqueeze(new_position)

    def add_axes(self, x: _C.Tensor, n_axes: int, pos2len: dict[int, int]) -> _C.Tensor:
        """Return a tensor repeated along new dims, as a view."""
        for position in pos2len:
            x = x.unsqueeze(position)
        return x.expand([pos2len.get(axis, -1) for axis in range(n_axes)])

    def tile(self, x: _C.Tensor, repeats: Any) -> _C.Tensor:
        """Return a tensor repeated along its dims."""
        return x.repeat(tuple(repeats))

    def concat(self, tensors: list[Any], axis: int) -> _C.Tensor:
        """Return tensors one after another."""
        return _C.cat(list(tensors), axis)

    def is_float_type(self, x: _C.Tensor) -> bool:
        """Return whether a mean can be taken."""
        return x.dtype.is_floating_point

    def einsum(self, pattern: str, *x: _C.Tensor) -> _C.Tensor:
        """Return a sum of products."""
        return _arrange.einsum(pattern, *x)


class Rearrange(_base("layers", "RearrangeMixin"), Module):
    """``einops.rearrange`` as a module; made with the pattern and the sizes of axes.

    Example:
        >>> from importlib.util import find_spec
        >>> import ebb.utils.einops
        >>> if find_spec("einops") is not None:
        ...     layer = ebb.utils.einops.Rearrange("a b -> b a")
        ...     assert layer(ebb.ones(2, 3)).shape == (3, 2)
    """

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        """Return the tensor rearranged."""
        return self._apply_recipe(input)


class Reduce(_base("layers", "ReduceMixin"), Module):
    """``einops.reduce`` as a module; made with the pattern, the reduction and sizes of axes.

    Example:
        >>> from importlib.util import find_spec
        >>> import ebb.utils.einops
        >>> if find_spec("einops") is not None:
        ...     layer = ebb.utils.einops.Reduce("a b -> b", "sum")
        ...     assert layer(ebb.ones(2, 3)).tolist() == [2.0, 2.0, 2.0]
    """

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        """Return the tensor reduced."""
        return self._apply_recipe(input)


_naming.name_module(__name__)
