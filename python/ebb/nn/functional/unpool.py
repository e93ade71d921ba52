# python/ebb/nn/functional/unpool.py -- max_unpool, lp_pool, fractional_max_pool of nn.functional.
"""Norms of windows, maxima put back where they were, and maxima of windows at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C
from ebb._base.signature import takes
from ebb._C import Tensor, _ops

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Ints = int | Sequence[int]
Ratios = float | Sequence[float]
Maxima = Tensor | tuple[Tensor, Tensor]

lp_pool1d = _ops.lp_pool1d
lp_pool2d = _ops.lp_pool2d
lp_pool3d = _ops.lp_pool3d


def _unpool(dims: int):  # its type is that of what it returns
    """Return max_unpool of so many dims, which takes whole shapes as output_size, too."""
    op = getattr(_ops, f"max_unpool{dims}d")

    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        sizes = None if output_size is None else list(output_size)
        if sizes is not None and len(sizes) == dims + 2:
            sizes = sizes[2:]
        return op(input, indices, kernel_size, stride, padding, sizes)

    unpool.__name__ = unpool.__qualname__ = op.__name__
    unpool.__doc__ = f"""Return zeros with each element of ``input`` where max_pool{dims}d found it.

    Args:
        indices: What max_pool{dims}d returned with ``return_indices=True``.
        kernel_size, stride, padding: Those of the pool.
        output_size: The size before it, where the options do not tell.

    Example:
        >>> from ebb.nn import functional as F
        >>> x = ebb.rand(1, 1{", 4" * dims})
        >>> values, indices = F.max_pool{dims}d(x, 2, return_indices=True)
        >>> F.max_unpool{dims}d(values, indices, 2).shape
        ebb.Size([1, 1{", 4" * dims}])
    """
    return unpool


max_unpool1d = _unpool(1)
max_unpool2d = _unpool(2)
max_unpool3d = _unpool(3)


def _listed(op: str, name: str, value: Ints | Ratios, dims: int) -> list[Any]:
    values = [value] * dims if hasattr(value, "__float__") else list(value)
    if len(values) == dims:
        return values
    raise _C.ValueError(f"{op}: {name} needs one number or {dims}, got {value!r}")


def _fractional(dims: int, doc: str):  # its type is that of what it returns
    """Return fractional_max_pool of so many dims with indices."""
    op = f"fractional_max_pool{dims}d"

    def pool(
        input: Tensor,
        kernel_size: Ints,
        output_size: Ints | None = None,
        output_ratio: Ratios | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        if not dims + 1 <= input.ndim <= dims + 2:
            raise _C.ShapeError(
                f"{op}: input needs {dims + 1} to {dims + 2} dims, got shape {list(input.shape)}"
            )
        if (output_size is None) == (output_ratio is None):
            raise _C.ValueError(
                f"{op}: needs either output_size or output_ratio, got {output_size} and "
                f"{output_ratio}"
            )
        if output_size is not None:
            sizes = _listed(op, "output_size", output_size, dims)
        else:
            ratios = _listed(op, "output_ratio", output_ratio, dims)
            if not all(0 < one < 1 for one in ratios):
                raise _C.ValueError(
                    f"{op}: output_ratio must be above 0 and below 1, got {output_ratio}"
                )
            own = input.shape[-dims:]
            sizes = [int(n * ratio) for n, ratio in zip(own, ratios, strict=True)]
        kernel = _listed(op, "kernel_size", kernel_size, dims)
        images = input if input.ndim == dims + 2 else input.unsqueeze(0)
        samples = _random_samples
        if samples is None:
            samples = _C.rand((*images.shape[:2], dims), dtype=input.dtype, device=input.device)
        elif dims == 2:
            samples = samples.flip(-1)  # PyTorch's are of width and height, in this order
        values, indices = _ops.fractional_max_pool(images, samples, kernel, sizes)
        if input.ndim == dims + 1:
            values, indices = values.squeeze(0), indices.squeeze(0)
        return values, indices

    pool.__name__ = pool.__qualname__ = op + "_with_indices"
    pool.__doc__ = f"""Return the largest elements, with places, of windows at random over {doc}.

    Args:
        kernel_size: Size of the windows.
        output_size: How many windows there are.
        output_ratio: Or how many, as a part of the input's size.

    Example:
        >>> from ebb.nn import functional as F
        >>> x = ebb.rand(1, 1{", 5" * dims})
        >>> values, indices = F.{op}_with_indices(x, 2, output_size=2)
        >>> values.shape
        ebb.Size([1, 1{", 2" * dims}])
    """
    return pool


fractional_max_pool2d_with_indices = _fractional(2, "the last two dims")
fractional_max_pool3d_with_indices = _fractional(3, "the last three dims")


def _random_windows(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Any, ...]:
    def maxima_of(pool: Any) -> Maxima:
        maxima = pool(input, kernel_size, output_size, output_ratio, True, _random_samples)
        return maxima if return_indices else maxima[0]

    return (maxima_of,)


@takes(_random_windows)
def fractional_max_pool2d(maxima_of: Callable[[Any], Maxima]) -> Maxima:
    """Return the largest elements of windows at random over the last two dims.

    Args:
        kernel_size: Size of the windows.
        output_size: How many windows there are.
        output_ratio: Or how many, as a part of the input's size.
        return_indices: Whether their places, flattened, are returned as well.

    Example:
        >>> ebb.nn.functional.fractional_max_pool2d(ebb.ones(1, 3, 5, 5), 2, output_size=2).shape
        ebb.Size([1, 3, 2, 2])
    """
    return maxima_of(fractional_max_pool2d_with_indices)


@takes(_random_windows)
def fractional_max_pool3d(maxima_of: Callable[[Any], Maxima]) -> Maxima:
    """Return the largest elements of windows at random over the last three dims.

    Args:
        kernel_size: Size of the windows.
        output_size: How many windows there are.
        output_ratio: Or how many, as a part of the input's size.
        return_indices: Whether their places, flattened, are returned as well.

    Example:
        >>> ebb.nn.functional.fractional_max_pool3d(ebb.ones(1, 3, 5, 5, 5), 2, output_size=2).shape
        ebb.Size([1, 3, 2, 2, 2])
    """
    return maxima_of(fractional_max_pool3d_with_indices)
