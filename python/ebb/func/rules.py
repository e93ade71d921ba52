# python/ebb/func/rules.py -- how functions are called once for all samples of vmap.
#
# rows.py, generated from the op table, says which rule a function goes by. A rule gets the function
# and its arguments, some of them Batched; it calls the function with plain tensors and wraps what
# comes back. Where it does not know how, it raises NoRuleError, and the function is called sample
# by sample (by_samples). Dims are counted from the back, so those of levels in front do not matter.
# Start reading at call_batched().
"""Batching rules, by the names that rows of the op table have them by."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import ebb
from ebb import _C
from ebb._C import Tensor
from ebb.func import samples
from ebb.func.batched import Batched, asking, calls, is_tensor, levels_of, name_of, plain_of, wrap
from ebb.func.rows import DIMS, ROWS

Function = Callable[..., Any]


class NoRuleError(Exception):
    """The rule does not know these arguments."""


def call_batched(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``func(*args, **kwargs)`` for every sample."""
    name = name_of(func)
    if name.endswith(".__get__"):
        return samples.attribute(name.removesuffix(".__get__"), args[0])
    rule, writes = ROWS.get(name, (name, samples.is_write(name)))
    levels = levels_of(samples.arguments(args, kwargs))
    if kwargs.get("out") is not None:
        raise _C.NotImplementedError(f"{name}: out= is not served under vmap; use the result")
    if writes:
        _check_written(name, args[0], levels)
    state = ebb.get_rng_state()
    try:
        found = RULES.get(rule, no_rule)(func, args, kwargs)
    except NoRuleError:
        found = samples.by_samples(name, func, args, kwargs, levels)
    if ebb.get_rng_state().tolist() == state.tolist():
        return found
    samples.check_draws(name, levels, state)
    return samples.by_samples(name, func, args, kwargs, levels, lambda: ebb.set_rng_state(state))


def _check_written(name: str, written: Any, levels: Any) -> None:
    own = written._levels if isinstance(written, Batched) else ()
    if own != levels:
        raise _C.AutogradError(
            f"{name}: a tensor of all samples must not be written with one of each, under vmap"
            "\nhint: use the out-of-place form, or make the tensor by zeros_like() of a sample's"
        )


def _wrapped(found: Any, levels: Any) -> Any:
    if is_tensor(found):
        return wrap(found, levels)
    if isinstance(found, tuple | list):
        parts = [_wrapped(one, levels) for one in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found


def _written(func: Function, args: tuple[Any, ...], found: Any, levels: Any) -> Any:
    """What a call returns: its first argument if that was written, else what was found, wrapped."""
    first = args[0] if args else None
    if isinstance(first, Batched) and found is first._plain:
        return first
    return _wrapped(found, levels)


def _mapped(args: Any, kwargs: Any, change: Callable[[Any], Any]) -> tuple[Any, Any]:
    return samples.mapped(args, change), samples.mapped(kwargs, change)


def _ranks(value: Any) -> int:
    return value.ndim if is_tensor(value) else 0


def no_rule(func: Function, args: Any, kwargs: Any) -> Any:
    """A sample at a time."""
    raise NoRuleError


def pointwise(func: Function, args: Any, kwargs: Any) -> Any:
    """Dims of samples are aligned from the back, as broadcasting does."""
    flat = [one for one in samples.arguments(args, kwargs) if is_tensor(one)]
    levels = levels_of(flat)
    rank = max(one.ndim for one in flat)
    dtype = _common_dtype(flat)

    def aligned(value: Any) -> Any:
        if not isinstance(value, Batched):
            return value
        plain = plain_of(value, levels, expands=False)
        if value.ndim == 0 and rank > 0 and dtype is not None and plain.dtype != ebb.bool:
            plain = plain.to(dtype)
        sizes = plain.shape
        count = len(levels)
        ones = (1,) * (rank - value.ndim)
        return plain.reshape(*sizes[:count], *ones, *sizes[count:]) if ones else plain

    given, named = _mapped(args, kwargs, aligned)
    return _written(func, args, func(*given, **named), levels)


def _common_dtype(tensors: list[Any]) -> Any:
    """The dtype that numbers (0-d tensors) beside tensors take; None where it makes no odds."""
    if len({one.dtype for one in tensors}) == 1 or all(one.ndim == 0 for one in tensors):
        return None
    found = None
    for one in tensors:
        like = _C.zeros((1,) * one.ndim, dtype=one.dtype)
        found = (
            like
            if found is None
            else _C.zeros((1,) * max(found.ndim, one.ndim), dtype=ebb.result_type(found, like))
        )
    return found.dtype  # type: ignore[union-attr]


@functools.cache
def _signature(func: Function) -> inspect.Signature:
    return inspect.signature(func)


def _bound(func: Function, args: Any, kwargs: Any) -> inspect.BoundArguments:
    try:
        bound = _signature(func).bind(*args, **kwargs)
    except (TypeError, ValueError) as error:
        raise NoRuleError from error
    if not isinstance(bound.arguments.get("unbiased", True), bool | None):
        raise NoRuleError  # std(x, 0): the place of a flag, where a dim was meant
    if bound.arguments.get("memory_format") is not None:
        raise NoRuleError  # it is one of four dims, or of five
    return bound


def _first(bound: inspect.BoundArguments) -> Batched:
    """The first argument, if no other one varies over samples."""
    values = list(bound.arguments.values())
    flat = samples.arguments(tuple(values[1:]), {})
    if not isinstance(values[0], Batched) or any(isinstance(one, Batched) for one in flat):
        raise NoRuleError
    return values[0]


def _from_back(value: Any, rank: int) -> Any:
    """Dims counted from the back: of an int, or of all ints in a sequence."""
    if isinstance(value, tuple | list):
        return tuple(_from_back(one, rank) for one in value)
    if isinstance(value, bool) or not isinstance(value, int) or not -rank <= value < rank:
        raise NoRuleError
    return value - rank if value >= 0 else value


def _call(func: Function, bound: inspect.BoundArguments, first: Batched) -> Any:
    _, *names = bound.arguments
    if "unbiased" in names:  # overloads have it in other places than the signature shows
        named = {name: bound.arguments[name] for name in names}
        return _wrapped(func(first._plain, **named), first._levels)
    bound.arguments[next(iter(bound.arguments))] = first._plain
    return _wrapped(func(*bound.args, **bound.kwargs), first._levels)


def _with_dims(func: Function, bound: inspect.BoundArguments, rank: int) -> None:
    """Let all arguments that are dims count from the back, those left out as well."""
    if rank == 0:
        raise NoRuleError
    parameters = _signature(func).parameters
    for name in DIMS & parameters.keys():
        value = bound.arguments.get(name, parameters[name].default)
        if value is None or value == () or value is inspect.Parameter.empty:
            raise NoRuleError
        bound.arguments[name] = _from_back(value, rank)
    given = dict(bound.arguments)
    bound.arguments.clear()  # and in their order, since args and kwargs go by it
    bound.arguments.update({name: given[name] for name in parameters if name in given})


def dims(func: Function, args: Any, kwargs: Any) -> Any:
    """One tensor and dims of it."""
    bound = _bound(func, args, kwargs)
    first = _first(bound)
    if bound.arguments.get("s") is not None:
        raise NoRuleError  # sizes without dims belong to the last ones
    dim = bound.signature.parameters.get("dim")
    means_all = dim is not None and dim.default is None and bound.arguments.get("dim") is None
    if means_all and first.ndim > 0 and _takes_all(func):
        bound.arguments["dim"] = tuple(range(first.ndim))
    _with_dims(func, bound, first.ndim)
    return _call(func, bound, first)


@functools.cache
def _takes_all(func: Function) -> bool:
    """Whether dims may be several: then none stands for all."""
    try:
        func(_C.ones((1, 1)), dim=(0, 1))
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def new_dim(func: Function, args: Any, kwargs: Any) -> Any:
    """One tensor and a dim of the result, which has one more."""
    bound = _bound(func, args, kwargs)
    first = _first(bound)
    bound.arguments["dim"] = _from_back(bound.arguments.get("dim", 0), first.ndim + 1)
    return _call(func, bound, first)


def permute(func: Function, args: Any, kwargs: Any) -> Any:
    """All dims in another order."""
    bound = _bound(func, args, kwargs)
    first = _first(bound)
    order = _spread(bound.arguments["dims"])
    count = len(first._levels)
    if len(order) != first.ndim:
        raise NoRuleError
    turned = tuple(one % first.ndim + count for one in order)
    return wrap(first._plain.permute(*range(count), *turned), first._levels)


def as_strided(func: Function, args: Any, kwargs: Any) -> Any:
    """A part of the memory of each sample, by sizes, strides and the offset of the first sample's.

    Samples lie in one storage: the part of another one is where its own memory begins.
    """
    bound = _bound(func, args, kwargs)
    named = bound.arguments
    target = next(iter(named))
    value = named[target]
    levels = levels_of(samples.arguments(tuple(named.values()), {}))
    if not isinstance(value, Batched):
        raise NoRuleError
    if value._levels != levels:
        raise _C.NotImplementedError(
            f"{name_of(func)}: needs an input that varies over all that other operands vary over "
            "under vmap, got one that does not"
        )
    plain, count = value._plain, len(levels)
    offset, size, stride = named.get("storage_offset"), named["size"], named["stride"]
    offset = plain.storage_offset() if offset is None else offset
    reach = _reach(size, stride)
    most = _reach(value.shape, plain.stride()[count:]) + plain.storage_offset()
    if reach >= 0 and not plain.storage_offset() <= offset <= most - reach:
        raise _C.ValueError(
            f"{name_of(func)}: needs a part of the memory of one sample under vmap, elements "
            f"{plain.storage_offset()} to {most}, got {offset} to {offset + reach}"
        )
    named[target], named["storage_offset"] = plain, offset
    if "src" in named:
        named["src"] = plain_of(named["src"], levels)
    named["size"] = (*plain.shape[:count], *size)
    named["stride"] = (*plain.stride()[:count], *stride)
    return wrap(func(named.pop(target), **named), levels)


def _reach(sizes: Any, strides: Any) -> int:
    """How far behind the first element the last one lies; -1 if there is none."""
    if 0 in tuple(sizes):
        return -1
    return sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))


def _spread(sizes: Any) -> tuple[Any, ...]:
    """Sizes given one by one, or as one sequence."""
    if isinstance(sizes, int):
        return (sizes,)
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        return tuple(sizes[0])
    return tuple(sizes)


def shape(func: Function, args: Any, kwargs: Any) -> Any:
    """One tensor and the sizes of the result, or how often each dim is repeated."""
    bound = _bound(func, args, kwargs)
    first = _first(bound)
    names = [
        name for name in ("shape", "size", "sizes", "repeats", "dims") if name in bound.arguments
    ]
    if len(bound.arguments) != 2 or not names:
        raise NoRuleError
    sizes = _spread(bound.arguments[names[0]])
    count = len(first._levels)
    plain, own = first._plain, first._plain.shape[:count]
    if names[0] in ("repeats", "dims"):
        own = (1,) * count
        sizes = (1,) * (first.ndim - len(sizes)) + sizes
    if names[0] != "shape" and len(sizes) > first.ndim:
        ones = (1,) * (len(sizes) - first.ndim)
        plain = plain.reshape(*plain.shape[:count], *ones, *first.shape)
    if plain.numel() == 0 and -1 in sizes:
        raise NoRuleError
    bound.arguments[next(iter(bound.arguments))] = plain
    whole = (*own, *sizes)
    is_spread = _signature(func).parameters[names[0]].kind is inspect.Parameter.VAR_POSITIONAL
    bound.arguments[names[0]] = (whole,) if is_spread else whole
    return wrap(func(*bound.args, **bound.kwargs), first._levels)


def first(func: Function, args: Any, kwargs: Any) -> Any:
    """The function takes any dims in front of those it works on; only the first operand varies."""
    bound = _bound(func, args, kwargs)
    return _call(func, bound, _first(bound))


def aligned(func: Function, args: Any, kwargs: Any) -> Any:
    """So do all its operands, which have equally many dims; a dim is counted from the back."""
    bound = _bound(func, args, kwargs)
    flat = [one for one in samples.arguments(args, kwargs) if is_tensor(one)]
    levels, rank = levels_of(flat), flat[0].ndim
    if any(one.ndim != rank for one in flat):
        raise NoRuleError
    if DIMS & _signature(func).parameters.keys():
        _with_dims(func, bound, rank)
    given, named = _mapped(
        bound.args, bound.kwargs, lambda one: plain_of(one, levels) if is_tensor(one) else one
    )
    return _written(func, args, func(*given, **named), levels)


def last(func: Function, args: Any, kwargs: Any) -> Any:
    """The last tensor may have any dims, and only it varies."""
    *others, varies = [one for one in samples.arguments(args, kwargs) if is_tensor(one)]
    if not isinstance(varies, Batched) or any(isinstance(one, Batched) for one in others):
        raise NoRuleError
    given, named = _mapped(args, kwargs, lambda one: one._plain if one is varies else one)
    return wrap(func(*given, **named), varies._levels)


def fill(func: Function, args: Any, kwargs: Any) -> Any:
    """Elements under a mask become a number, or a tensor without dims."""
    bound = _bound(func, args, kwargs)
    value, mask, filler = bound.arguments.values()
    if not isinstance(filler, Batched):
        return pointwise(func, args, kwargs)
    if samples.is_write(name_of(func)) or filler.ndim != 0:
        raise NoRuleError
    with asking():
        return _C.where(mask, filler.to(value.dtype), value)


def get_item(func: Function, args: Any, kwargs: Any) -> Any:
    """A part of each sample, as a view; dims of several index tensors must lie side by side."""
    value, key = args
    parts = key if isinstance(key, tuple) else (key,)
    advanced = [at for at, one in enumerate(parts) if is_tensor(one) or isinstance(one, list)]
    is_scattered = bool(advanced) and advanced[-1] - advanced[0] >= len(advanced)
    varies = any(isinstance(one, Batched) for one in samples.arguments(parts, {}))
    is_flag = any(isinstance(one, bool) for one in parts)
    if not isinstance(value, Batched) or varies or is_scattered or is_flag:
        raise NoRuleError
    count = len(value._levels)
    return wrap(value._plain[(*(slice(None),) * count, *parts)], value._levels)


def lists(func: Function, args: Any, kwargs: Any) -> Any:
    """A list of tensors and the dim that they are joined along; of stack, a dim of the result."""
    bound = _bound(func, args, kwargs)
    name = next(iter(bound.arguments))
    tensors = list(bound.arguments[name])
    levels, rank = levels_of(tensors), tensors[0].ndim
    is_new = func(tensors=[_C.ones(1)]).ndim == 2
    if any(one.ndim != rank for one in tensors) or (rank == 0 and not is_new):
        raise NoRuleError
    bound.arguments["dim"] = _from_back(bound.arguments.get("dim", 0), rank + is_new)
    bound.arguments[name] = [plain_of(one, levels) for one in tensors]
    return wrap(func(*bound.args, **bound.kwargs), levels)


def matmul(func: Function, args: Any, kwargs: Any) -> Any:
    """Matrices and vectors: batches of them go by matmul, whose dims in front broadcast."""
    bound = _bound(func, args, kwargs)
    if len(bound.arguments) != 2:
        raise NoRuleError
    lhs, rhs = bound.arguments.values()
    name = name_of(func)
    if name.startswith("__r"):
        lhs, rhs = rhs, lhs
    if not (is_tensor(lhs) and is_tensor(rhs)) or not (lhs.ndim and rhs.ndim):
        raise NoRuleError
    if lhs.shape[-1] != rhs.shape[max(rhs.ndim - 2, 0)]:
        raise _C.ShapeError(
            f"{name}: inner sizes must agree, got {list(lhs.shape)} and {list(rhs.shape)}"
        )
    levels = levels_of([lhs, rhs])
    rank = max(lhs.ndim, rhs.ndim, 2)
    with asking():
        rows = lhs.unsqueeze(0) if lhs.ndim == 1 else lhs
        columns = rhs.unsqueeze(1) if rhs.ndim == 1 else rhs
    found = _C.matmul(_of_rank(rows, rank, levels), _of_rank(columns, rank, levels))
    if rhs.ndim == 1:
        found = found.squeeze(-1)
    if lhs.ndim == 1:
        found = found.squeeze(-1 if rhs.ndim == 1 else -2)
    return wrap(found, levels)


def _of_rank(value: Any, rank: int, levels: Any) -> Tensor:
    """A plain tensor with the levels in front, as 1 where it does not vary, and dims for rank."""
    if not isinstance(value, Batched):
        return value
    plain = plain_of(value, levels, expands=False)
    count = len(levels)
    ones = (1,) * (rank - value.ndim)
    return plain.reshape(*plain.shape[:count], *ones, *plain.shape[count:])


def linear(func: Function, args: Any, kwargs: Any) -> Any:
    """input @ weight.T + bias, whichever of them vary."""
    bound = _bound(func, args, kwargs)
    values = [*bound.arguments.values(), None][:3]
    given, weight, bias = values
    if not (isinstance(weight, Batched) or isinstance(bias, Batched)):
        return first(func, args, kwargs)
    if weight.ndim != 2 or given.ndim == 0:
        raise NoRuleError
    with asking():
        found = given @ weight.transpose(0, 1)
        return found if bias is None else found + bias


def loss(func: Function, args: Any, kwargs: Any) -> Any:
    """Element by element, and then the mean or sum of each sample."""
    bound = _bound(func, args, kwargs)
    reduction = bound.arguments.pop("reduction", "mean")
    if (
        reduction not in ("none", "mean", "sum")
        or {"size_average", "reduce"} & bound.arguments.keys()
        or (reduction == "mean" and bound.arguments.get("weight") is not None)  # may divide by it
    ):
        raise NoRuleError
    tensors = [one for one in bound.arguments.values() if is_tensor(one)]
    if len({tuple(one.shape) for one in tensors}) != 1:
        raise NoRuleError
    levels = levels_of(tensors)
    plain = {n: plain_of(v, levels) if is_tensor(v) else v for n, v in bound.arguments.items()}
    each = wrap(func(**plain, reduction="none"), levels)
    with asking():
        return each if reduction == "none" else each.mean() if reduction == "mean" else each.sum()


def class_loss(func: Function, args: Any, kwargs: Any) -> Any:
    """Losses of classes, whose numbers are the targets: the lines of all samples are one batch."""
    bound = _bound(func, args, kwargs)
    named = bound.arguments
    reduction = named.pop("reduction", "mean")
    given, target = named["input"], named["target"]
    is_plain = named.pop("weight", None) is None and not {"size_average", "reduce"} & named.keys()
    if not is_plain or target.dtype != ebb.int64 or target.ndim != max(given.ndim - 1, 0):
        raise NoRuleError
    levels = levels_of([given, target])
    lines = (*(one.size for one in levels), *given.shape[:1] * (given.ndim > 1))
    count = len(lines)
    for name in ("input", "target"):
        plain = plain_of(named[name], levels)
        named[name] = plain.reshape(math.prod(lines), *plain.shape[count:])
    each = func(*bound.args, **bound.kwargs, reduction="none")
    each = wrap(each.reshape(*lines, *each.shape[1:]), levels)
    with asking():
        if reduction == "none":
            return each
        counted = (target != named.get("ignore_index", -100)).sum()
        return each.sum() if reduction == "sum" else each.sum() / counted.to(each.dtype)


def _folded(value: Batched, rank: int) -> tuple[Tensor, tuple[int, ...]]:
    """Memory with levels and the samples' own batch in one dim, and the sizes in that dim."""
    plain = value._plain
    sizes = tuple(plain.shape[: plain.ndim - rank])
    return plain.reshape(math.prod(sizes), *plain.shape[plain.ndim - rank :]), sizes


def _unfolded(found: Any, sizes: tuple[int, ...], levels: Any) -> Any:
    if is_tensor(found):
        return wrap(found.reshape(*sizes, *found.shape[1:]), levels)
    return type(found)(_unfolded(one, sizes, levels) for one in found)


def images(func: Function, args: Any, kwargs: Any) -> Any:
    """A batch of images with channels: those of all samples are one batch."""
    bound = _bound(func, args, kwargs)
    value = _first(bound)
    rank = _image_rank(name_of(func), value.ndim)
    folded, sizes = _folded(value, rank)
    bound.arguments[next(iter(bound.arguments))] = folded
    return _unfolded(func(*bound.args, **bound.kwargs), sizes, value._levels)


def _image_rank(name: str, ndim: int) -> int:
    """Dims of an image with its channels: by the digit of a name as conv2d, or all but one."""
    digits = [int(one) for one in name if one in "123"]
    rank = digits[0] + 1 if digits else ndim - 1
    if ndim not in (rank, rank + 1) or rank < 1:
        raise NoRuleError
    return rank


def conv(func: Function, args: Any, kwargs: Any) -> Any:
    """Images that vary are one batch; weights that vary are groups of one convolution."""
    bound = _bound(func, args, kwargs)
    parameters = _signature(func).parameters
    value, weight = bound.arguments.get("input"), bound.arguments.get("weight")
    bias = bound.arguments.get("bias")
    if value is None or "groups" not in parameters:
        raise NoRuleError
    rank = _image_rank(name_of(func), value.ndim)
    if not isinstance(weight, Batched) and not isinstance(bias, Batched):
        return images(func, args, kwargs)
    if "output_padding" in parameters or value.ndim != rank + 1:
        raise NoRuleError
    levels = levels_of([value, weight, bias])
    count, batch = len(levels), math.prod(one.size for one in levels)
    x = plain_of(value, levels)
    x = x.reshape(batch, *x.shape[count:]).transpose(0, 1)
    w = plain_of(weight, levels)
    w = w.reshape(batch * w.shape[count], *w.shape[count + 1 :])
    bound.arguments.update(
        input=x.reshape(x.shape[0], batch * x.shape[2], *x.shape[3:]), weight=w, bias=None
    )
    bound.arguments["groups"] = batch * bound.arguments.get("groups", 1)
    ordered = {name: bound.arguments[name] for name in parameters if name in bound.arguments}
    found = func(**ordered)
    found = found.reshape(found.shape[0], batch, -1, *found.shape[2:]).transpose(0, 1)
    found = wrap(found.reshape(*(one.size for one in levels), *found.shape[1:]), levels)
    with asking():
        return found if bias is None else found + bias.reshape(-1, *(1,) * (rank - 1))


def affine(func: Function, args: Any, kwargs: Any) -> Any:
    """A norm over last dims, then weight and bias, which may vary."""
    bound = _bound(func, args, kwargs)
    weight, bias = (bound.arguments.pop(name, None) for name in ("weight", "bias"))
    value = _first(bound)
    found = _call(func, bound, value)
    with asking():
        found = found if weight is None else found * weight
        return found if bias is None else found + bias


RULES: dict[str, Function] = {
    "__getitem__": get_item,
    "pointwise": pointwise,
    "dims": dims,
    "new_dim": new_dim,
    "aligned": aligned,
    "first": first,
    "images": images,
    "shape": shape,
    "permute": permute,
    "as_strided": as_strided,
    "lists": lists,
    "matmul": matmul,
    "linear": linear,
    "conv": conv,
    "affine": affine,
    "loss": loss,
    "class_loss": class_loss,
    "last": last,
    "fill": fill,
}

calls["function"] = call_batched
