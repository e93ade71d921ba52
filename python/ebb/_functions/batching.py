# python/ebb/_functions/batching.py -- vmap: a function of one sample, over a dim of samples.
#
# The function runs once per sample, on views of the batched arguments, and what it returns is
# stacked. So every op, custom function and derivative works as it does alone, gradients go back
# through the views, and the time is that of the loop. Start reading at vmap().
"""``vmap``, which ``ebb.func`` shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable, map_leaves
from ebb._C import Tensor

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

    It calls ``func`` for one sample after the other and stacks what comes back: results and
    gradients are those of a loop, and so is the time. Each call sees views of the arguments.

    Args:
        func: Takes tensors without the dim of samples; returns tensors, or nested containers of
            them.
        in_dims: Along which dim the samples of the arguments lie: one number for all, or a tuple
            with one per argument, itself a number, a container of numbers for a container of
            tensors, or None for what all samples share. Keyword arguments lie along dim 0.
        out_dims: Along which dim results are stacked; one for all, or one per result. None for a
            result that is the same for all samples.
        randomness: Whether ``func`` may draw: "error" (no), "different" (each sample its own), or
            "same" (all samples the same numbers).
        chunk_size: Taken for PyTorch's sake: there is one sample at a time anyway.
    Returns:
        A function of the batched arguments.
    Raises:
        ValueError: If no argument has samples, their numbers differ or are 0, a dim does not exist,
            or random numbers are drawn that ``randomness`` does not allow.
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
        results = []
        draws = _Draws(randomness)
        for sample in range(count):
            given, named = _taken((args, kwargs), dims, sample)
            draws.before()
            results.append(func(*given, **named))
            draws.after()
        return _stacked(results, out_dims)

    return run


class _Draws:
    """Holds the sequence of random numbers to what was allowed."""

    def __init__(self, randomness: str):
        self._randomness = randomness
        self._start = None if randomness == "different" else _C.get_rng_state()

    def before(self) -> None:
        if self._randomness == "same":
            _C.set_rng_state(self._start)

    def after(self) -> None:
        if self._randomness == "error" and not _C.get_rng_state().equal(self._start):
            raise _C.ValueError(
                "vmap: needs a 'func' that draws no random numbers, got one that does\n"
                "hint: say randomness='different' or randomness='same'"
            )


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


def _taken(values: Any, dims: Any, sample: int) -> Any:
    """Return the arguments of one sample."""
    rest = iter(_leaves(dims))

    def take(leaf: Any) -> Any:
        dim = next(rest)
        return leaf if dim is None else leaf.select(dim, sample)

    return map_leaves("vmap", values, take)


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
    if not -first.ndim - 1 <= dim <= first.ndim:
        raise _C.ValueError(
            f"vmap: needs 'out_dims' from {-first.ndim - 1} to {first.ndim}, got {dim}"
        )
    return _C.stack(parts, dim)
