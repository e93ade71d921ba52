# python/ebb/_repr.py -- how a tensor is printed: PyTorch's layout.
#
# Elements are formatted to one width. Above 1,000 of them only three at each end of a dim are
# shown, and fewer if there are many dims, so that printing a large tensor takes no longer than
# printing a small one.
"""The text of a tensor."""

import math

import ebb

THRESHOLD = 1000
EDGE = 3
MOST = 10_000
WIDTH = 80
PRECISION = 4


def tensor_repr(tensor):
    """Return the text of ``tensor`` with dtype, requires_grad or grad_fn where they matter."""
    if not tensor.is_dense:
        return ebb._sparse.sparse_repr(tensor)
    with ebb.no_grad():
        body = _body(tensor.detach().cpu())
    suffixes = []
    if not tensor.is_cpu:
        suffixes.append(f"device='{tensor.device}'")
    if tensor.numel() == 0 and tensor.ndim != 1:
        suffixes.append(f"size={tuple(tensor.shape)}")
    if _needs_dtype(tensor):
        suffixes.append(f"dtype={tensor.dtype!r}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if tensor.name is not None:
        suffixes.append(f"name={tensor.name!r}")
    tangent = ebb._C._innermost_tangent(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={tensor_repr(tangent)}")
    return _joined("tensor(", body, suffixes)


def _needs_dtype(tensor):
    usual = (ebb.get_default_dtype(), ebb.int64, ebb.bool)
    return tensor.dtype not in usual or (tensor.numel() == 0 and tensor.dtype is not usual[0])


def _joined(prefix, body, suffixes):
    text = prefix + body
    last = len(text) - text.rfind("\n") - 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > WIDTH:
            text += ",\n" + " " * 7 + suffix
            last = 7 + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"


def _body(tensor):
    if tensor.numel() == 0:
        return "[]"
    summarised = tensor.numel() > THRESHOLD
    edges = _edges(tensor.shape) if summarised else [max(tensor.shape, default=0)] * tensor.ndim
    shown = list(_corners(tensor, edges)) if summarised else _flat(tensor)
    return _nested(tensor, _Formatter(shown, tensor.dtype), 7, edges)


def _flat(tensor):
    values = tensor.reshape(-1).tolist() if tensor.ndim else [tensor.item()]
    return values


def _edges(shape):
    """How many elements a summary shows at each end of each dim; 0: the first one alone."""
    edges = [EDGE] * len(shape)
    for fewer in range(EDGE - 1, -1, -1):
        for dim in range(len(shape)):
            if math.prod(map(_shown_count, shape, edges)) > MOST:
                edges[dim] = fewer
    return edges


def _shown_count(size, edge):
    return min(size, max(1, 2 * edge))


def _corners(tensor, edges):
    """The elements that a summary shows."""
    if tensor.ndim == 0:
        yield tensor.item()
    elif tensor.ndim == 1:
        yield from _row_values(tensor, edges[0])
    else:
        for index in _shown_indices(len(tensor), edges[0]):
            if index is not None:
                yield from _corners(tensor[index], edges[1:])


def _shown_indices(size, edge):
    if size <= max(1, 2 * edge):
        return list(range(size))
    return [*range(edge), None, *range(size - edge, size)] if edge else [0, None]


class _Formatter:
    """Formats numbers of one tensor alike."""

    def __init__(self, values, dtype):
        self.dtype = dtype
        self.scientific = self.integral = False
        if dtype.is_complex:
            parts = [part for value in values for part in (value.real, value.imag)]
            self.choose(parts)
        elif dtype.is_floating_point:
            self.choose(values)
        # Like PyTorch, zero, infinities and NaN do not widen a column.
        shaping = [value for value in values if self.is_shaping(value)]
        self.width = max((len(self.one(value)) for value in shaping), default=0)

    def is_shaping(self, value):
        if self.dtype.is_floating_point:
            return math.isfinite(value) and value != 0
        return True

    def choose(self, values):
        finite = [abs(value) for value in values if math.isfinite(value) and value != 0]
        self.integral = all(value == math.ceil(value) for value in finite)
        if not finite:
            return
        smallest, largest = min(finite), max(finite)
        wide = largest / smallest > 1000 or largest > 1e8
        self.scientific = wide if self.integral else (wide or smallest < 1e-4)
        if self.integral and largest <= 1e8:
            self.scientific = largest / smallest > 1000 and largest > 1e8

    def real(self, value):
        if self.scientific:
            return f"{value:.{PRECISION}e}"
        if self.integral:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{PRECISION}f}"

    def one(self, value):
        if self.dtype.is_complex:
            imaginary = self.real(value.imag)
            sign = "" if imaginary.startswith("-") else "+"
            return f"{self.real(value.real)}{sign}{imaginary}j"
        return self.real(value) if self.dtype.is_floating_point else str(value)

    def padded(self, value):
        return self.one(value).rjust(self.width)


def _nested(tensor, formatter, indent, edges):
    if tensor.ndim == 0:
        return formatter.one(tensor.item())
    if tensor.ndim == 1:
        return _row(tensor, formatter, indent, edges[0])
    rows = [
        "..." if index is None else _nested(tensor[index], formatter, indent + 1, edges[1:])
        for index in _shown_indices(len(tensor), edges[0])
    ]
    return "[" + ("," + "\n" * (tensor.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def _row(tensor, formatter, indent, edge):
    """One dim, broken into lines of WIDTH columns."""
    cells = [formatter.padded(value) for value in _row_values(tensor, edge)]
    if len(cells) < len(tensor):
        cells.insert(max(1, edge), " ...")
    per_line = max(1, (WIDTH - indent) // (formatter.width + 2))
    lines = [cells[start : start + per_line] for start in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"


def _row_values(tensor, edge):
    size = len(tensor)
    if size <= max(1, 2 * edge):
        return tensor.tolist()
    head = tensor[: max(1, edge)].tolist()
    return [*head, *tensor[size - edge :].tolist()] if edge else head
