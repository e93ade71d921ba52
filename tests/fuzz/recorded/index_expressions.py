# tests/fuzz/recorded/index_expressions.py -- random x[key] and x[key] = value, the same for ebb and
# PyTorch.
#
# A case is plain data, drawn by draw(); run(lib, case) does it with `lib`, either of the two
# modules, and returns what came out as plain data: how many places are selected, shapes, check sums
# of values and of gradients, whether the result is a view; or that it was refused. All numbers are
# whole, so that sums are exact. Start reading at draw().
"""Index expressions: drawn as data, run by any library with PyTorch's names."""

from __future__ import annotations

import itertools
import math
import random
import zlib
from typing import Any

import numpy as np

Case = dict[str, Any]
INT_DTYPES = ("int64", "int32", "int64", "int64")
DTYPES = ("float64",) * 6 + ("float32", "int64", "bool", "complex128")


# --- drawing ---


def draw(rng: random.Random) -> Case:
    """Return a tensor's shape, dtype and layout, what is taken of it before, a key, an action."""
    shape = [rng.choice((1, 2, 3, 3, 4, 5)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 3, 4)))]
    if shape and rng.random() < 0.06:
        shape[rng.randrange(len(shape))] = 0
    case: Case = {"shape": shape, "dtype": rng.choice(DTYPES)}
    case["order"] = rng.sample(range(len(shape)), len(shape)) if rng.random() < 0.3 else None
    case["step"] = 2 if shape and rng.random() < 0.15 else 1
    seen = shape
    case["before"] = None
    if rng.random() < 0.25:
        case["before"], seen = _draw_view(rng, shape)
    case["key"] = _draw_key(rng, seen)
    action = rng.choice(("get", "get", "set", "set", "number", "add", "put", "accumulate"))
    case["action"] = action
    # How the value's shape differs from that of what is written.
    case["value"] = {
        "drop": rng.choice((0, 0, 0, 1, 2)),
        "ones": [rng.random() < 0.2 for _ in range(9)],
        "lead": rng.choice((0, 0, 0, 1, 2)),
        "misfit": rng.random() < 0.03,
    }
    return case


def _draw_slice(rng: random.Random, size: int) -> list:
    ends = [None if rng.random() < 0.4 else rng.randint(-size - 2, size + 2) for _ in range(2)]
    step = rng.choice((None, None, 1, 2, 3)) if rng.random() > 0.01 else -1
    return ["slice", *ends, step]


def _draw_int(rng: random.Random, size: int) -> int:
    if size == 0 or rng.random() < 0.01:
        return rng.choice((size, -size - 1))
    return rng.randint(-size, size - 1)


def _draw_view(rng: random.Random, shape: list[int]) -> tuple[list, list[int]]:
    """A key of ints and slices that is not refused, and the shape of what it takes."""
    key, seen = [], []
    for size in shape:
        if size > 0 and rng.random() < 0.2:
            key.append(["int", rng.randrange(size)])
            continue
        start, step = rng.randint(0, min(size, 1)), rng.choice((1, 1, 2))
        key.append(["slice", start, None, step])
        seen.append(len(range(size)[start::step]))
    return key, seen


class _Drawn:
    """Draws the items of one key; its tensors broadcast, mostly."""

    def __init__(self, rng: random.Random, shape: list[int]):
        self.rng = rng
        self.shape = shape
        self.common = [rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
        if rng.random() < 0.04 and self.common:
            self.common[0] = 0
        # Keys without tensors, keys of few of them, keys of many.
        self.share = rng.choice((0.0, 0.35, 0.35, 0.7))

    def item(self, dim: int) -> tuple[list, int]:
        """An item for dim `dim`, and how many dims it uses up."""
        rng, size = self.rng, self.shape[dim]
        if rng.random() >= self.share:
            kind = rng.random()
            if kind < 0.5:
                return _draw_slice(rng, size), 1
            if kind < 0.85:
                return ["int", _draw_int(rng, size)], 1
            kinds = ("numpy_int", "tensor_int", "tensor_int", "index")
            return [rng.choice(kinds), _draw_int(rng, size)], 1
        if rng.random() < 0.3:
            return self.mask(dim)
        return self.indices(size), 1

    def indices(self, size: int) -> list:
        rng = self.rng
        shape = self.common
        if rng.random() < 0.3:
            shape = shape[rng.randint(0, len(shape)) :]
        shape = [1 if rng.random() < 0.1 else one for one in shape]
        if rng.random() < 0.02:
            shape = [*shape, 2]
        kind = rng.choice(("tensor", "tensor", "tensor", "array", "list", "tuple", "range"))
        if kind == "range" and size > 0:
            return ["range", 0, min(size, shape[-1] if shape else 1), 1]
        values = [_draw_int(rng, size) for _ in range(math.prod(shape))]
        if kind in ("list", "tuple", "range"):
            kind = "list" if kind == "range" else kind
            shape = shape or [1]
            values = values[: math.prod(shape)]
        return [kind, rng.choice(INT_DTYPES), shape, values]

    def mask(self, dim: int) -> tuple[list, int]:
        rng = self.rng
        used = rng.choice((1, 1, 1, 2, 3))
        shape = self.shape[dim : dim + used]
        if rng.random() < 0.02:
            shape = [*shape[:-1], shape[-1] + 1]
        count = math.prod(shape)
        values = [rng.random() < 0.5 for _ in range(count)]
        wanted = self.common[-1] if self.common else 1
        if wanted <= count and rng.random() < 0.7:  # so that it broadcasts with the other tensors
            chosen = rng.sample(range(count), wanted)
            values = [place in chosen for place in range(count)]
        kind = rng.choice(("tensor", "tensor", "array", "list"))
        dtype = "uint8" if kind != "list" and rng.random() < 0.2 else "bool"
        if kind == "list" and 0 in shape:
            kind = "tensor"
        return [kind, dtype, shape, [int(value) for value in values]], len(shape)


def _draw_key(rng: random.Random, shape: list[int]) -> list:
    drawn = _Drawn(rng, shape)
    key: list[list] = []
    dim = 0
    stop = len(shape) if rng.random() < 0.5 else rng.randint(0, len(shape))
    if rng.random() < 0.01:
        stop += 1
    has_ellipsis = rng.random() < 0.3
    ellipsis_at = rng.randint(0, stop) if has_ellipsis else -1
    while dim < stop:
        if rng.random() < 0.1:
            key.append(["none"])
        if rng.random() < 0.06:
            key.append([rng.choice(("bool", "tensor_bool", "tensor_byte")), rng.random() < 0.7])
        if has_ellipsis and dim >= ellipsis_at:
            key.append(["ellipsis"])
            has_ellipsis = False
            dim += max(0, len(shape) - stop)
            stop = max(stop, len(shape))
            continue
        item, used = drawn.item(dim) if dim < len(shape) else (["int", 0], 1)
        key.append(item)
        dim += used
    if has_ellipsis:
        key.append(["ellipsis"])
    if rng.random() < 0.08:
        key.append(["none"])
    if rng.random() < 0.005:
        key.append(["ellipsis"])
    return key


# --- running ---


def item_of(lib: Any, item: list) -> Any:
    """One item of a key, as `lib` takes it."""
    kind, *rest = item
    if kind in ("tensor", "array", "list", "tuple"):
        dtype, shape, values = rest
        array = np.array(values, dtype).reshape(shape)
        if kind == "tensor":
            return lib.tensor(array.tolist(), dtype=getattr(lib, dtype)).reshape(shape)
        return array if kind == "array" else _nested(array.tolist(), kind)
    makers = {
        "int": int,
        "slice": slice,
        "none": lambda: None,
        "ellipsis": lambda: ...,
        "bool": bool,
        "range": range,
        "numpy_int": np.int64,
        "index": _Index,
        "tensor_int": lib.tensor,
        "tensor_bool": lib.tensor,
        "tensor_byte": lambda value: lib.tensor(int(value), dtype=lib.uint8),
    }
    return makers[kind](*rest)


class _Index:
    def __init__(self, value: int):
        self.value = value

    def __index__(self) -> int:
        return self.value


def _nested(values: Any, kind: str) -> Any:
    if not isinstance(values, list):
        return values
    inner = [_nested(value, kind) for value in values]
    return tuple(inner) if kind == "tuple" else inner


def key_of(lib: Any, items: list) -> Any:
    """The key as `lib` takes it: a single item is not wrapped, where that means the same."""
    key = tuple(item_of(lib, item) for item in items)
    is_plain = len(key) == 1 and not isinstance(key[0], list | tuple)
    return key[0] if is_plain else key


def tensor_of(lib: Any, case: Case) -> Any:
    """The tensor of a case: other numbers in each place, in the layout drawn."""
    shape, step = case["shape"], case["step"]
    dtype = getattr(lib, case["dtype"])
    order = case["order"] or list(range(len(shape)))
    stored = [shape[dim] for dim in order]
    wide = [size * step for size in stored[-1:]]
    numbers = lib.arange(math.prod([*stored[:-1], *wide]), dtype=lib.int64) + 1
    dense = (numbers % 3 == 0) if case["dtype"] == "bool" else numbers.to(dtype)
    dense = dense.reshape([*stored[:-1], *wide])
    if step > 1:
        dense = dense[..., ::step]
    return dense.permute([order.index(dim) for dim in range(len(shape))])


def run(lib: Any, case: Case) -> list:
    """What comes of a case: plain data, the same for every library that agrees."""
    try:
        return _RUN[case["action"]](lib, case)
    except Exception as error:  # which one is compared by class only where both have it
        return ["refused", _kind(error)]


def _kind(error: Exception) -> str:
    return "index" if isinstance(error, IndexError) else "other"


def _digest(tensor: Any) -> list:
    detached = tensor.detach()
    return [list(detached.shape), zlib.crc32(str(detached.tolist()).encode())]


def _weights(lib: Any, tensor: Any) -> Any:
    numbers = lib.arange(math.prod(tensor.shape), dtype=lib.int64) * 7 % 11 + 1
    return numbers.reshape(list(tensor.shape)).to(tensor.dtype)


def _place(lib: Any, case: Case, whole: Any) -> Any:
    """What the key applies to."""
    return whole if case["before"] is None else whole[key_of(lib, case["before"])]


def _is_tracked(case: Case) -> bool:
    return case["dtype"] in ("float64", "float32", "complex128")


def _get(lib: Any, case: Case) -> list:
    x = tensor_of(lib, case).clone() if case["order"] is None else tensor_of(lib, case)
    key = key_of(lib, case["key"])
    taken = _place(lib, case, x)[key]
    found = [math.prod(taken.shape), *_digest(taken)]
    if _is_tracked(case):
        leaf = x.detach().requires_grad_()
        taken = _place(lib, case, leaf * leaf)[key]
        (grad,) = lib.autograd.grad((taken * _weights(lib, taken)).sum(), leaf)
        found += _digest(grad)
    before = x.tolist()
    taken = _place(lib, case, x)[key]
    taken.copy_(taken + 1 if case["dtype"] != "bool" else ~taken)
    return [*found, x.tolist() != before]


def _value(lib: Any, case: Case, target: Any) -> Any:
    """A value that broadcasts to `target`, mostly."""
    spec = case["value"]
    shape = list(target.shape)[spec["drop"] :]
    shape = [1 if one else size for one, size in zip(spec["ones"], shape, strict=False)]
    if spec["misfit"]:
        shape = [*shape[:-1], (shape[-1] if shape else 0) + 2]
    # x[key] = value drops dims of size 1 in front; index_put_ does not.
    shape = [1] * (spec["lead"] if case["action"] in ("set", "add") else 0) + shape
    numbers = lib.arange(math.prod(shape), dtype=lib.int64) * 3 + 100
    made = (numbers % 2 == 0) if case["dtype"] == "bool" else numbers.to(target.dtype)
    return made.reshape(shape)


def _written(case: Case, target: Any, key: Any, value: Any) -> None:
    action = case["action"]
    if action == "add":
        target[key] += value
    elif action in ("put", "accumulate"):
        indices = key if isinstance(key, tuple) else (key,)
        target.index_put_(indices, value, accumulate=action == "accumulate")
    else:
        target[key] = value


def _has_repeats(lib: Any, target: Any, key: Any) -> bool:
    """Whether a key names a place twice: which write stays is then up to the library."""
    count = math.prod(target.shape)
    places = lib.arange(count, dtype=lib.int64).reshape(list(target.shape))[key]
    listed = np.asarray(places.tolist()).reshape(-1)
    return len(set(listed.tolist())) < len(listed)


def _set(lib: Any, case: Case) -> list:
    x = tensor_of(lib, case).clone()
    key = key_of(lib, case["key"])
    target = _place(lib, case, x)
    if case["action"] in ("put", "accumulate"):
        key = _tensors_only(lib, case, target)
    value = 5 if case["action"] == "number" else _value(lib, case, target[key])
    count = math.prod(target[key].shape)
    kept = x.tolist()
    try:
        _written(case, target, key, value)
    except Exception as error:
        return ["refused", _kind(error), x.tolist() == kept]
    found = [count, *_digest(x)]
    if not _is_tracked(case) or _has_repeats(lib, target, key):
        return found
    leaf = tensor_of(lib, case).clone().requires_grad_()
    out = leaf * leaf
    sources = [leaf]
    if case["action"] != "number":
        value = value.detach().requires_grad_()
        sources.append(value)
        value = value * value
    _written(case, _place(lib, case, out), key, value)
    grads = lib.autograd.grad((out * _weights(lib, out)).sum(), sources)
    return [*found, *itertools.chain(*(_digest(grad) for grad in grads))]


def _tensors_only(lib: Any, case: Case, target: Any) -> tuple:
    """The tensors of a key, in order: what index_put_ takes; one at least."""
    items = [item for item in case["key"] if item[0] == "tensor"]
    used = sum(len(item[2]) if item[1] in ("bool", "uint8") else 1 for item in items)
    if not items or used > target.ndim:
        items = [["tensor", "int64", [1], [0]]]
    return tuple(item_of(lib, item) for item in items)


_RUN = {"get": _get, **dict.fromkeys(("set", "number", "add", "put", "accumulate"), _set)}


# --- comparing ---


def agree(ours: list, theirs: list) -> bool:
    """Whether two answers are the same; any refusal is as good as another."""
    if "refused" in (ours[0], theirs[0]):
        return ours[0] == theirs[0] and ours[2:] in ([], [True])  # and nothing was written
    return ours == theirs


def is_named_difference(ours: list, theirs: list, case: Case) -> bool:
    """Whether docs/functions.md tells that the two may differ so."""
    key = case["key"]
    if ["ellipsis"] in key and any(_is_wide_mask(item) for item in key):
        return ours[0] != "refused" or ours[1] == "index"
    if theirs[0] == "refused":
        return case["action"] != "get" and any(_is_bytes(item) for item in key)
    if ours[0] != "refused":
        return False
    # PyTorch takes any index and any value where nothing is selected.
    is_unchecked = theirs[0] == 0 and (ours[1] == "index" or case["value"]["misfit"])
    return is_unchecked or key.count(["ellipsis"]) > 1


def _is_bytes(item: list) -> bool:
    return item[0] == "tensor_byte" or (item[0] in ("tensor", "array") and item[1] == "uint8")


def _is_wide_mask(item: list) -> bool:
    return item[0] in ("list", "array") and item[1] in ("bool", "uint8") and len(item[2]) > 1
