# tests/python/ops/reference/conv.py -- convolution and pooling, plainly in NumPy.
"""References for ops/nn/conv.yaml, ops/nn/pool.yaml, fold and unfold; arguments come as a dict."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def listed(value: Any, count: int) -> list[int]:
    """Return ``value``, or one value for each dim."""
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


class Geometry:
    """Stride, padding and dilation of a convolution, per spatial dim."""

    def __init__(self, a: dict[str, Any], kernel: tuple[int, ...]):
        count = len(kernel)
        self.kernel = kernel
        self.groups = a["groups"]
        self.stride, self.padding, self.dilation = (
            listed(a[name], count) for name in ("stride", "padding", "dilation")
        )
        self.extra = listed(a.get("output_padding", 0), count)

    def output(self, sizes: tuple[int, ...]) -> list[int]:
        zipped = zip(sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zipped]

    def transposed(self, sizes: tuple[int, ...]) -> list[int]:
        zipped = zip(
            sizes, self.kernel, self.stride, self.padding, self.dilation, self.extra, strict=True
        )
        return [(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in zipped]

    def taps(self, output: tuple[int, ...]):
        """Yield each place of the kernel and the slices of the padded input that it meets."""
        for tap in itertools.product(*map(range, self.kernel)):
            zipped = zip(tap, self.dilation, self.stride, output, strict=True)
            yield tap, tuple(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in zipped)


def _grouped(array: np.ndarray, groups: int, dim: int) -> np.ndarray:
    shape = array.shape
    return array.reshape(*shape[:dim], groups, shape[dim] // groups, *shape[dim + 1 :])


def _padded(x: np.ndarray, g: Geometry) -> np.ndarray:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in g.padding)])


def correlate(x: np.ndarray, w: np.ndarray, g: Geometry) -> np.ndarray:
    sizes = g.output(x.shape[2:])
    padded = _grouped(_padded(x, g), g.groups, 1)
    weight = _grouped(w, g.groups, 0)
    out = np.zeros((len(x), g.groups, len(w) // g.groups, *sizes), np.result_type(x, w, float))
    for tap, place in g.taps(sizes):
        out += np.einsum("ngc...,goc->ngo...", padded[:, :, :, *place], weight[:, :, :, *tap])
    return out.reshape(len(x), len(w), *sizes)


def spread(y: np.ndarray, w: np.ndarray, g: Geometry, sizes: tuple[int, ...]) -> np.ndarray:
    """Transpose correlate with respect to its input, of these sizes."""
    room = [n + 2 * p for n, p in zip(sizes, g.padding, strict=True)]
    padded = np.zeros((len(y), g.groups, w.shape[1], *room), np.result_type(y, w, float))
    grads, weight = _grouped(y, g.groups, 1), _grouped(w, g.groups, 0)
    for tap, place in g.taps(y.shape[2:]):
        padded[:, :, :, *place] += np.einsum("ngo...,goc->ngc...", grads, weight[:, :, :, *tap])
    inside = tuple(slice(p, p + n) for p, n in zip(g.padding, sizes, strict=True))
    return padded.reshape(len(y), g.groups * w.shape[1], *room)[:, :, *inside]


def weigh(y: np.ndarray, x: np.ndarray, shape: tuple[int, ...], g: Geometry) -> np.ndarray:
    """Transpose correlate with respect to its weight, of this shape."""
    padded = _grouped(_padded(x, g), g.groups, 1)
    grads = _grouped(y, g.groups, 1)
    grads = grads.reshape(*grads.shape[:3], -1)
    out = _grouped(np.zeros(shape, np.result_type(x, float)), g.groups, 0)
    for tap, place in g.taps(y.shape[2:]):
        seen = padded[:, :, :, *place].reshape(*padded.shape[:3], -1)
        out[:, :, :, *tap] = np.einsum("ngop,ngcp->goc", grads, seen)
    return out.reshape(shape)


def convolution(a: dict[str, Any]) -> np.ndarray:
    x, w, bias = a["input"], a["weight"], a.get("bias")
    g = Geometry(a, w.shape[2:])
    out = spread(x, w, g, g.transposed(x.shape[2:])) if a["transposed"] else correlate(x, w, g)
    return out if bias is None else out + bias.reshape(-1, *[1] * (x.ndim - 2))


def convolution_backward_input(a: dict[str, Any]) -> np.ndarray:
    g = Geometry(a, a["weight"].shape[2:])
    if a["transposed"]:
        return correlate(a["grad"], a["weight"], g)
    return spread(a["grad"], a["weight"], g, a["input_shape"][2:])


def convolution_backward_weight(a: dict[str, Any]) -> np.ndarray:
    g = Geometry(a, a["weight_shape"][2:])
    y, x = (a["input"], a["grad"]) if a["transposed"] else (a["grad"], a["input"])
    return weigh(y, x, a["weight_shape"], g)


def conv_nd(a: dict[str, Any], transposed: bool = False) -> np.ndarray:
    is_batched = a["input"].ndim == a["weight"].ndim
    x = a["input"] if is_batched else a["input"][None]
    if isinstance(a["padding"], str):
        sizes = a["weight"].shape[2:]
        steps = np.broadcast_to(a["dilation"], len(sizes)) * (np.array(sizes) - 1)
        steps = steps if a["padding"] == "same" else 0 * steps
        x = np.pad(x, [(0, 0), (0, 0), *((int(n) // 2, int(n) - int(n) // 2) for n in steps)])
        a = {**a, "padding": 0}
    out = convolution({**a, "input": x, "transposed": transposed})
    return out if is_batched else out[0]


def conv_transpose_nd(a: dict[str, Any]) -> np.ndarray:
    return conv_nd(a, transposed=True)


# Pooling: a window along one dim is the list of its places, and what a mean divides by.


def windows(a: dict[str, Any], sizes: tuple[int, ...]) -> list[list[tuple[list[int], int]]]:
    count = len(sizes)
    kernel = listed(a["kernel_size"], count)
    stride = listed(a["stride"] if a.get("stride") is not None else kernel, count)
    padding, dilation = listed(a["padding"], count), listed(a.get("dilation", 1), count)
    made = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        number = (-(-room // s) if a["ceil_mode"] else room // s) + 1
        number -= (number - 1) * s >= n + p
        axis = []
        for start in range(-p, -p + number * s, s):
            places = [start + d * i for i in range(k)]
            inside = [one for one in places if 0 <= one < n]
            with_padding = sum(one < n + p for one in places)
            divisor = with_padding if a.get("count_include_pad", True) else len(inside)
            axis.append((inside, max(divisor, 1)))
        made.append(axis)
    return made


def conv_tbc(a: dict[str, Any]) -> np.ndarray:
    pad = a["pad"]
    x, w = np.pad(a["input"], [(pad, pad), (0, 0), (0, 0)]), a["weight"]
    steps = len(x) - len(w) + 1
    return sum(x[k : k + steps] @ w[k] for k in range(len(w))) + a["bias"]


def adaptive_windows(a: dict[str, Any], sizes: tuple[int, ...]) -> list[Any]:
    made = []
    for n, number in zip(sizes, listed(a["output_size"], len(sizes)), strict=True):
        bounds = [(i * n // number, -(-(i + 1) * n // number)) for i in range(number)]
        made.append([(list(range(*bound)), bound[1] - bound[0]) for bound in bounds])
    return made


def pooled_dims(a: dict[str, Any]) -> int:
    size = a["kernel_size"] if "kernel_size" in a else a["output_size"]
    return a.get("pooled_dims") or len(size)


def _each_window(axes: list[Any]):
    for place in itertools.product(*(range(len(axis)) for axis in axes)):
        chosen = [axis[i] for axis, i in zip(axes, place, strict=True)]
        yield place, [one[0] for one in chosen], np.prod([one[1] for one in chosen])


def mean_matrix(axes: list[Any], sizes: tuple[int, ...], override: int | None) -> np.ndarray:
    """Return the matrix that takes flattened inputs to flattened means."""
    rows = []
    for _, places, divisor in _each_window(axes):
        row = np.zeros(sizes)
        row[np.ix_(*[np.array(one, int) for one in places])] = 1 / (override or divisor)
        rows.append(row.ravel())
    return np.array(rows).reshape(len(rows), int(np.prod(sizes)))


def _means(a: dict[str, Any], make: Any) -> np.ndarray:
    count = pooled_dims(a)
    x = a["input"]
    lead, sizes = x.shape[:-count], x.shape[-count:]
    axes = make(a, sizes)
    flat = x.reshape(*lead, int(np.prod(sizes)))
    out = (flat @ mean_matrix(axes, sizes, a.get("divisor_override")).T).reshape(
        *lead, *map(len, axes)
    )
    is_whole = x.dtype.kind in "iu"
    return np.trunc(np.round(out, 9)).astype(x.dtype) if is_whole else out


def _means_backward(a: dict[str, Any], make: Any) -> np.ndarray:
    count = pooled_dims(a)
    lead, sizes = a["input_shape"][:-count], a["input_shape"][-count:]
    matrix = mean_matrix(make(a, sizes), sizes, a.get("divisor_override"))
    return (a["grad"].reshape(*lead, -1) @ matrix).reshape(a["input_shape"])


def _maxima(a: dict[str, Any], make: Any) -> list[np.ndarray]:
    count = pooled_dims(a)
    x = a["input"]
    lead, sizes = x.shape[:-count], x.shape[-count:]
    axes = make(a, sizes)
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    values = np.zeros((*lead, *map(len, axes)))
    indices = np.zeros(values.shape, np.int64)
    flat = x.reshape(*lead, -1) if x.size else x
    for place, places, _ in _each_window(axes):
        if not x.size:
            break
        among = numbers[np.ix_(*places)].ravel()
        best = among[np.argmax(flat[..., among], axis=-1)]
        indices[..., *place] = best
        values[..., *place] = np.take_along_axis(flat, np.asarray(best)[..., None], -1)[..., 0]
    return [values, indices]


def by_dims(name: str, reference: Any, make: Any) -> dict[str, Any]:
    """Return the references of the public pools, which tell their dims by their names only."""
    found = {}
    for dims in (1, 2, 3):
        full = name.replace("#", f"{dims}d")
        found[full] = lambda a, dims=dims: reference({**a, "pooled_dims": dims}, make)
    return found


def _folding(a: dict[str, Any]) -> Geometry:
    return Geometry({**a, "groups": 1}, tuple(listed(a["kernel_size"], 2)))


def unfold(a: dict[str, Any]) -> np.ndarray:
    x, g = a["input"], _folding(a)
    images = x[None] if x.ndim == 3 else x
    sizes, padded = g.output(images.shape[2:]), _padded(images, g)
    columns = np.stack([padded[:, :, *place] for _, place in g.taps(sizes)], 2)
    rows = images.shape[1] * np.prod(g.kernel)
    return columns.reshape(*x.shape[:-3], rows, np.prod(sizes))


def fold(a: dict[str, Any]) -> np.ndarray:
    x, g = a["input"], _folding(a)
    image = listed(a["output_size"], 2)
    sizes, taps = g.output(image), np.prod(g.kernel)
    columns = x.reshape(-1, x.shape[-2] // taps, taps, *sizes)
    room = [n + 2 * p for n, p in zip(image, g.padding, strict=True)]
    padded = np.zeros((*columns.shape[:2], *room), x.dtype)
    for number, (_, place) in enumerate(g.taps(sizes)):
        padded[:, :, *place] += columns[:, :, number]
    inside = tuple(slice(p, p + n) for p, n in zip(g.padding, image, strict=True))
    return padded[:, :, *inside].reshape(*x.shape[:-2], columns.shape[1], *image)


NAMED = {
    "fold": fold,
    "unfold": unfold,
    "convolution": convolution,
    "convolution_backward_input": convolution_backward_input,
    "convolution_backward_weight": convolution_backward_weight,
    "conv_nd": conv_nd,
    "conv_tbc": conv_tbc,
    "conv_transpose_nd": conv_transpose_nd,
    "avg_pool": lambda a: _means(a, windows),
    "avg_pool_backward": lambda a: _means_backward(a, windows),
    "adaptive_avg_pool": lambda a: _means(a, adaptive_windows),
    "adaptive_avg_pool_backward": lambda a: _means_backward(a, adaptive_windows),
    "max_pool": lambda a: _maxima(a, windows),
    "adaptive_max_pool": lambda a: _maxima(a, adaptive_windows),
    **by_dims("avg_pool#", _means, windows),
    **by_dims("max_pool#", lambda a, make: _maxima(a, make)[0], windows),
    **by_dims("max_pool#_with_indices", _maxima, windows),
    **by_dims("adaptive_avg_pool#", _means, adaptive_windows),
    **by_dims("adaptive_max_pool#", _maxima, adaptive_windows),
}
