# python/ebb/_functions/creation.py -- tensors made out of nothing, in terms of other factories:
# logspace, range, tril_indices, empty_strided, rand_like and others.
"""Functions that make tensors by others that do."""

from __future__ import annotations

import builtins
from typing import Any

import ebb
from ebb._base.signature import takes
from ebb._C import Size, Tensor, _copied_out
from ebb._functions.checks import check_tensor
from ebb._tensor.formats import check_leaf_options, pins_if_asked


@pins_if_asked
def logspace(
    start: Any,
    end: Any,
    steps: Any,
    base: Any = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:
    """Return ``base`` to the power of ``steps`` numbers evenly spaced from ``start`` to ``end``.

    Example:
        >>> ebb.logspace(0, 2, 3).tolist()
        [1.0, 10.0, 100.0]
    """
    check_leaf_options("logspace", layout, pin_memory)
    given = [one.item() if isinstance(one, Tensor) else one for one in (start, end, base)]
    has_complex = any(isinstance(one, complex) for one in given)
    dtype = dtype or (ebb.result_type(ebb.ones(1), 1j) if has_complex else ebb.get_default_dtype())
    exact = ebb.complex128 if dtype.is_complex else ebb.float64
    powers = base ** ebb.linspace(start, end, steps, dtype=exact, device=device)
    return _given("logspace", powers.to(dtype), out, requires_grad)


@pins_if_asked
def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:
    """Return the numbers ``start``, ``start + step``, ... up to ``end``, which is included.

    Unlike arange() it ends with ``end``, and gives the default dtype for integers too.

    Example:
        >>> ebb.range(1, 3).tolist()
        [1.0, 2.0, 3.0]
    """
    check_leaf_options("range", layout, pin_memory)
    start, end = (0, start) if end is None else (start, end)
    if step == 0 or (end - start) / step < 0:
        raise ebb.errors.ValueError(
            f"range: needs a step that leads to end, got start {start}, end {end}, step {step}"
        )
    count = int((end - start) / step) + 1
    whole = all(isinstance(one, int) for one in (start, end, step))
    kind = ebb.int64 if whole else ebb.float64
    numbers = start + step * ebb.arange(count, dtype=kind, device=device)
    return _given("range", numbers.to(dtype or ebb.get_default_dtype()), out, requires_grad)


def _given(function, found, out, requires_grad):
    """Return ``found``, or ``out`` with its elements."""
    if out is None:
        return found.requires_grad_(requires_grad)
    return _copied_out(function, found, out)


def _triangle(
    row: Any,
    col: Any,
    offset: Any = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    pin_memory: Any = False,
) -> tuple[Any, ...]:
    return row, col, offset, dtype, device, requires_grad, layout, pin_memory


@pins_if_asked
@takes(_triangle)
def tril_indices(*of) -> Tensor:
    """Return the rows and columns of the places on and below a diagonal of a matrix.

    Example:
        >>> ebb.tril_indices(2, 2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _places("tril", *of)


@pins_if_asked
@takes(_triangle)
def triu_indices(*of) -> Tensor:
    """Return the rows and columns of the places on and above a diagonal of a matrix.

    Example:
        >>> ebb.triu_indices(2, 2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _places("triu", *of)


def _places(side, row, col, offset, dtype, device, requires_grad, layout, pin_memory):
    check_leaf_options(f"{side}_indices", layout, pin_memory)
    mask = getattr(ebb.ones(row, col, dtype=ebb.bool, device=device), side)(offset)
    places = mask.nonzero().t().contiguous().to(dtype or ebb.int64)
    return places.requires_grad_(requires_grad)


def vander(x: Any, N: Any = None, increasing: Any = False) -> Tensor:  # noqa: N803
    """Return the powers of each element of a vector as a row of ``N`` columns.

    They fall from ``N - 1`` to 0, or rise, if ``increasing``. ``N`` is the number of rows unless it
    is given.

    Example:
        >>> ebb.vander(ebb.tensor([2, 3])).tolist()
        [[2, 1], [3, 1]]
    """
    if x.ndim != 1:
        raise ebb.ShapeError(f"vander: x needs 1 dim, got shape {list(x.shape)}")
    powers = ebb.linalg.vander(x, N)
    return powers if increasing else powers.flip(1)


@pins_if_asked
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:
    """Return uninitialised memory with these sizes and strides.

    Example:
        >>> ebb.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    check_leaf_options("empty_strided", layout, pin_memory)
    size, stride = tuple(size), tuple(stride)
    last = sum((n - 1) * step for n, step in zip(size, stride, strict=False))
    count = 0 if 0 in size else last + 1
    memory = ebb.empty(max(count, 0), dtype=dtype, device=device)
    return memory.as_strided(size, stride, 0).detach().requires_grad_(requires_grad)


@pins_if_asked
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:
    """Return uninitialised memory whose dims lie in it in the order ``physical_layout``.

    Example:
        >>> ebb.empty_permuted((2, 3), (1, 0)).stride()
        (1, 2)
    """
    check_leaf_options("empty_permuted", layout, pin_memory)
    order = list(physical_layout)
    if sorted(order) != list(builtins.range(len(size))):
        raise ebb.errors.ValueError(
            f"empty_permuted: physical_layout must name each dim once, got {order}"
        )
    memory = ebb.empty([size[dim] for dim in order], dtype=dtype, device=device)
    back = [order.index(dim) for dim in builtins.range(len(order))]
    return memory.permute(back).detach().requires_grad_(requires_grad)


def broadcast_shapes(*shapes: Any) -> Any:
    """Return the shape that tensors of these shapes broadcast to.

    Example:
        >>> ebb.broadcast_shapes((3, 1), (4,))
        ebb.Size([3, 4])
    """
    listed = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    joined = [1] * max((len(shape) for shape in listed), default=0)
    for shape in listed:
        for place, size in enumerate(reversed(shape), 1):
            if size < 0 or (size != joined[-place] and 1 not in (size, joined[-place])):
                raise ebb.ShapeError(
                    "broadcast_shapes: shapes must broadcast together, got "
                    f"{' and '.join(str(list(one)) for one in listed)}"
                )
            joined[-place] = joined[-place] if size == 1 else size
    return Size(joined)


@pins_if_asked
def _new_empty_strided(
    self,
    size,
    stride,
    *,
    dtype=None,
    device=None,
    requires_grad=False,
    layout=None,
    pin_memory=False,
):
    """Like ebb.empty_strided(), in this tensor's dtype and device unless given.

    Example:
        >>> x = ebb.ones(1, dtype=ebb.float64)
        >>> y = x.new_empty_strided((2, 3), (1, 2))
        >>> y.shape, y.stride(), y.dtype
        (ebb.Size([2, 3]), (1, 2), ebb.float64)
    """
    check_leaf_options("new_empty_strided", layout, pin_memory)
    return empty_strided(
        size,
        stride,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
    )


def _like(
    input: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Any = None,
    requires_grad: Any = False,
    memory_format: Any = None,
    layout: Any = None,
    pin_memory: Any = False,
) -> tuple[Any, ...]:
    options = (dtype, device, generator, requires_grad, memory_format, layout, pin_memory)
    return input, *options


@pins_if_asked
@takes(_like)
def rand_like(input, *options) -> Tensor:
    """Return numbers evenly spread over [0, 1) in the shape and dtype of ``input``, beside it.

    Example:
        >>> ebb.rand_like(ebb.ones(2, 3)).shape
        ebb.Size([2, 3])
    """
    return _drawn_like("rand_like", ebb.rand, (), input, *options)


@pins_if_asked
@takes(_like)
def randn_like(input, *options) -> Tensor:
    """Return standard normal numbers in the shape and dtype of ``input``, beside it.

    Example:
        >>> ebb.randn_like(ebb.ones(2, 3)).shape
        ebb.Size([2, 3])
    """
    return _drawn_like("randn_like", ebb.randn, (), input, *options)


@pins_if_asked
def randint_like(
    input: Any,
    low: Any = 0,
    high: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Any = None,
    requires_grad: Any = False,
    memory_format: Any = None,
    layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:
    """Return integers from ``low`` to ``high - 1`` in the shape and dtype of ``input``, beside it.

    ``randint_like(input, high)`` starts at 0.

    Example:
        >>> bool((ebb.randint_like(ebb.ones(9), 0, 5) < 5).all())
        True
    """
    options = (dtype, device, generator, requires_grad, memory_format, layout, pin_memory)
    low, high = (0, low) if high is None else (low, high)
    return _drawn_like("randint_like", ebb.randint, (low, high), input, *options)


def _drawn_like(
    name,
    draw,
    bounds,
    input,
    dtype,
    device,
    generator,
    requires_grad,
    memory_format,
    layout,
    pin_memory,
):
    """Return what ``draw`` gives in the shape of ``input``, its dims in memory as a format says."""
    check_tensor(name, "input", input)
    check_leaf_options(name, layout, pin_memory)
    where = {"dtype": dtype or input.dtype, "device": device or input.device}
    found = draw(*bounds, input.shape, **where, generator=generator)
    if memory_format is not None:
        found = ebb.empty_like(input, memory_format=memory_format, **where).copy_(found)
    return found.requires_grad_(requires_grad)


Tensor.new_empty_strided = _new_empty_strided
