# python/ebb/utils/einops.py -- lets the package einops take tensors.
#
# einops looks for a backend among the subclasses of its AbstractBackend; importing this module
# makes one, which `import einops` beside `import ebb` does (_imports.py). The layers are
# those of einops.layers, as modules.
"""``einops.rearrange(tensor, ...)`` works where einops is installed; and einops' layers.

Programs find those as ``einops.layers.ebb`` too, and as ``einops.layers.torch`` where there is no
PyTorch.
"""

from __future__ import annotations

import importlib
from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb._functions import arrange as _arrange
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter

__all__ = ["EbbBackend", "EinMix", "Rearrange", "Reduce"]


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


class EinMix(_base("layers._einmix", "_EinmixMixin"), Module):
    """``einops``' product with a weight as a module; made with a pattern and sizes of axes.

    Example:
        >>> from importlib.util import find_spec
        >>> import ebb.utils.einops
        >>> if find_spec("einops") is not None:
        ...     layer = ebb.utils.einops.EinMix("b i -> b o", weight_shape="i o", i=2, o=3)
        ...     assert layer(ebb.ones(4, 2)).shape == (4, 3)
    """

    def _create_parameters(
        self, weight_shape: Any, weight_bound: float, bias_shape: Any, bias_bound: float
    ) -> None:
        def drawn(shape: Any, bound: float) -> Parameter:
            return Parameter(_C.zeros(shape).uniform_(-bound, bound))

        self.weight = drawn(weight_shape, weight_bound)
        self.bias = None if bias_shape is None else drawn(bias_shape, bias_bound)

    def _create_rearrange_layers(
        self, before: str | None, before_sizes: Any, behind: str | None, behind_sizes: Any
    ) -> None:
        self.pre_rearrange = None if before is None else Rearrange(before, **before_sizes)
        self.post_rearrange = None if behind is None else Rearrange(behind, **behind_sizes)

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        """Return the product, rearranged, with the bias."""
        x = input if self.pre_rearrange is None else self.pre_rearrange(input)
        x = _arrange.einsum(self.einsum_pattern, x, self.weight)
        x = x if self.bias is None else x + self.bias
        return x if self.post_rearrange is None else self.post_rearrange(x)


_naming.name_module(__name__)
