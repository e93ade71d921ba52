# python/ebb/func/mapping.py -- vmap: a function of one sample, over a dim of samples.
#
# The function runs once, with Batched tensors (batched.py) in the place of samples. Where each
# sample is to draw its own random numbers it runs once for each, and what it returns is stacked.
# Start reading at vmap().
"""``vmap``: which arguments have samples where, and where results have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable, map_leaves
from ebb._base.transforms import active_levels
from ebb._C import Tensor
from ebb.func.batched import Batched, Level, enter, leave

__all__ = ["vmap"]

Function = Callable[..., Any]
_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """Return a function that computes ``func`` for each sample along a dim of its arguments.

    ``func`` runs once, and tensors in it have the shape of one sample. Ops with a batching rule
    (most) run once for all samples; others run sample by sample, which gives the same and takes
    longer. Tensors that ``func`` finds elsewhere are the same for all samples. Decisions by values
    (``if x > 0``, ``x.item()``) are refused. With ``ebb.func.grad`` within, it gives the gradients
    of each sample.

    Args:
        func: Takes tensors without the dim of samples; returns tensors, or nested containers of
            them.
        in_dims: Along which dim the samples of the arguments lie: one number for all, or a tuple
            with one per argument, itself a number, a container of numbers for a container of
            tensors, or None for what all samples share. Keyword arguments lie along dim 0.
        out_dims: Along which dim results are stacked; one for all, or one per result. None for a
            result that is the same for all samples.
        randomness: Whether ``func`` may draw: "error" (no), "different" (each sample its own: then
            it runs once for each sample), or "same" (all samples the same numbers).
        chunk_size: At most so many samples at once, which takes less memory; None: all.
    Returns:
        A function of the batched arguments.
    Raises:
        ValueError: If no argument has samples, their numbers differ or are 0, a dim does not exist,
            or random numbers are drawn that ``randomness`` does not allow.
        AutogradError: If ``func`` asks for the value of a sample, or writes one to what all share.
        DTypeError: If ``func`` returns something else than tensors.
    Example:
        >>> ebb.func.vmap(ebb.dot)(ebb.ones(3, 2), ebb.ones(3, 2))
        tensor([2., 2., 2.])
        >>> loss = lambda w, x: (w * x).sum() ** 2
        >>> ebb.func.vmap(ebb.func.grad(loss), in_dims=(None, 0))(ebb.ones(2), ebb.eye(2))
        tensor([[2., 0.],
                [0., 2.]])
    """
    check_callable(func)
    if randomness not in _RANDOMNESS:
        raise _C.ValueError(
            f"vmap: needs a 'randomness' of error, different or same, got {randomness!r}"
        )
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise _C.ValueError(f"vmap: needs a 'chunk_size' of at least 1, got {chunk_size!r}")

    def run(*args: Any, **kwargs: Any) -> Any:
        dims = _dims_like(in_dims, args), {name: _spread(0, one) for name, one in kwargs.items()}
        count = _count((args, kwargs), dims)
        if randomness == "different":
            each = [_taken((args, kwargs), dims, sample) for sample in range(count)]
            return _stacked([func(*given, **named) for given, named in each], out_dims)
        most = min(chunk_size or count, count)
        parts = [
            _run(func, _chunk((args, kwargs), dims, start, most), dims, out_dims, randomness)
            for start in range(0, count, most)
        ]
        return parts[0] if len(parts) == 1 else _concatenated(parts, out_dims)

    return run


def _run(func: Function, values: Any, dims: Any, out_dims: Any, randomness: str) -> Any:
    """What the function gives for all these samples at once."""
    level = Level(_count(values, dims), randomness)
    args, kwargs = _with_dims(values, dims, lambda one, dim: enter(one, dim, level))
    state = _C.get_rng_state()
    levels = active_levels()
    levels.append(level)
    try:
        found = func(*args, **kwargs)
    finally:
        levels.remove(level)
    if randomness == "error" and not _C.get_rng_state().equal(state):
        raise _C.ValueError(
            "vmap: needs a 'func' that draws no random numbers, got one that does\n"
            "hint: say randomness='different' or randomness='same'"
        )
    where = iter(_leaves(_out_dims_like(out_dims, found)))
    return map_leaves("vmap", found, lambda one: _left(one, next(where), level))


def _left(one: Any, dim: int | None, level: Level) -> Any:
    """A result with its samples along a dim."""
    if not isinstance(one, Tensor):
        raise _C.DTypeError(f"vmap: needs a 'func' that returns tensors, got {type(one).__name__}")
    if dim is None:
        if isinstance(one, Batched) and level in one._levels:
            raise _C.ValueError(
                "vmap: needs a result that is the same for all samples where 'out_dims' is None, "
                "got others"
            )
        return one
    _check_out_dim(dim, one.ndim)
    return leave(one, dim, level)


def _check_out_dim(dim: int, rank: int) -> None:
    if not -rank - 1 <= dim <= rank:
        raise _C.ValueError(f"vmap: needs 'out_dims' from {-rank - 1} to {rank}, got {dim}")


def _with_dims(values: Any, dims: Any, change: Callable[[Any, int], Any]) -> Any:
    """The arguments, those changed that have samples."""
    rest = iter(_leaves(dims))

    def changed(leaf: Any) -> Any:
        dim = next(rest)
        return leaf if dim is None else change(leaf, dim)

    return map_leaves("vmap", values, changed)


def _chunk(values: Any, dims: Any, start: int, most: int) -> Any:
    """The arguments of at most so many samples."""

    def some(leaf: Tensor, dim: int) -> Tensor:
        return leaf.narrow(dim, start, min(most, leaf.shape[dim] - start))

    return _with_dims(values, dims, some)


def _taken(values: Any, dims: Any, sample: int) -> Any:
    """The arguments of one sample."""
    return _with_dims(values, dims, lambda leaf, dim: leaf.select(dim, sample))


def _concatenated(parts: list[Any], out_dims: Any) -> Any:
    columns = zip(*(_leaves(one) for one in parts), strict=True)
    dims = _leaves(_out_dims_like(out_dims, parts[0]))
    made = (
        each[0] if dim is None else _C.cat(list(each), dim)
        for each, dim in zip(columns, dims, strict=True)
    )
    return map_leaves("vmap", parts[0], lambda _: next(made))


def _dims_like(in_dims: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return containers like the arguments with a dim, or None, in place of each leaf."""
    if not isinstance(in_dims, (tuple, list)):
        return tuple(_spread(in_dims, one) for one in args)
    if len(in_dims) != len(args):
        raise _C.ValueError(
            f"vmap: needs 'in_dims' with one entry per argument, got {len(in_dims)} for {len(args)}"
        )
    return tuple(_spread(dims, one) for dims, one in zip(in_dims, args, strict=True))


def _spread(dims: Any, value: Any) -> Any:
    """Return ``dims`` for each leaf of a value: one number for all, or a container like it."""
    if isinstance(value, dict) and isinstance(dims, dict):
        if dims.keys() != value.keys():
            raise _C.ValueError("vmap: needs 'in_dims' with the keys of its argument, got others")
        return {key: _spread(dims[key], one) for key, one in value.items()}
    if isinstance(value, (tuple, list)) and isinstance(dims, (tuple, list)):
        if len(dims) != len(value):
            raise _C.ValueError(
                f"vmap: needs 'in_dims' with {len(value)} entries for a container, got {len(dims)}"
            )
        return [_spread(one, part) for one, part in zip(dims, value, strict=True)]
    if dims is not None and not isinstance(dims, int):
        raise _C.DTypeError(f"vmap: needs 'in_dims' of numbers and None, got {dims!r}")
    return map_leaves("vmap", value, lambda leaf: _checked(dims, leaf))


def _checked(dim: int | None, leaf: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(leaf, Tensor):
        raise _C.ValueError(
            f"vmap: needs a Tensor for in_dim {dim}, got {type(leaf).__name__}\n"
            "hint: give None in 'in_dims' for what all samples share"
        )
    if not -leaf.ndim <= dim < leaf.ndim:
        raise _C.ValueError(
            f"vmap: needs an argument with dim {dim} for 'in_dims', got {list(leaf.shape)}"
        )
    return dim


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    map_leaves("vmap", value, found.append)
    return found


def _count(values: Any, dims: Any) -> int:
    pairs = zip(_leaves(values), _leaves(dims), strict=True)
    counts = {leaf.shape[dim] for leaf, dim in pairs if dim is not None}
    if len(counts) != 1:
        got = f"numbers {sorted(counts)}" if counts else "none with samples"
        raise _C.ValueError(f"vmap: needs arguments with one number of samples, got {got}")
    count = counts.pop()
    if count == 0:
        raise _C.ValueError("vmap: needs at least one sample, got none")
    return count


def _stacked(results: list[Any], out_dims: Any) -> Any:
    """Return the results of all samples as those of one call, with a dim more."""
    columns = [_leaves(one) for one in results]
    for leaf in columns[0]:
        if not isinstance(leaf, Tensor):
            raise _C.DTypeError(
                f"vmap: needs a 'func' that returns tensors, got {type(leaf).__name__}"
            )
    dims = _leaves(_out_dims_like(out_dims, results[0]))
    made = (
        _joined(parts, dim) for parts, dim in zip(zip(*columns, strict=True), dims, strict=True)
    )
    return map_leaves("vmap", results[0], lambda _: next(made))


def _out_dims_like(out_dims: Any, result: Any) -> Any:
    if isinstance(out_dims, (tuple, list)) and isinstance(result, (tuple, list)):
        if len(out_dims) != len(result):
            raise _C.ValueError(
                f"vmap: needs 'out_dims' with one entry per result, got {len(out_dims)} for "
                f"{len(result)}"
            )
        return [_out_dims_like(dim, one) for dim, one in zip(out_dims, result, strict=True)]
    if isinstance(out_dims, dict) and isinstance(result, dict) and out_dims.keys() == result.keys():
        return {key: _out_dims_like(out_dims[key], one) for key, one in result.items()}
    one = out_dims[0] if isinstance(out_dims, (tuple, list)) and len(out_dims) == 1 else out_dims
    if one is not None and not isinstance(one, int):
        raise _C.DTypeError(f"vmap: needs 'out_dims' of numbers and None, got {out_dims!r}")
    return map_leaves("vmap", result, lambda _: one)


def _joined(parts: tuple[Tensor, ...], dim: int | None) -> Tensor:
    first = parts[0]
    if dim is None:
        if not all(part is first or part.equal(first) for part in parts[1:]):
            raise _C.ValueError(
                "vmap: needs a result that is the same for all samples where 'out_dims' is None, "
                "got others"
            )
        return first
    if any(part.shape != first.shape for part in parts):
        raise _C.ShapeError(
            "vmap: needs results of one shape for all samples, got "
            f"{sorted({tuple(part.shape) for part in parts})}"
        )
    _check_out_dim(dim, first.ndim)
    return _C.stack(parts, dim)
