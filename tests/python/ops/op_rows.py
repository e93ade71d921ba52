# tests/python/ops/op_rows.py -- the rows of the op table as test cases: which arguments to try.
#
# A row (build/<preset>/generated/test_rows.json, made by codegen/emit/tests.py) names a kind of
# inputs or lists literal cases. Here a kind becomes shapes, and a case becomes tensors of one dtype
# and memory layout, together with the NumPy arrays that the reference sees. EBB_ONLY_OP in the
# environment restricts all tests of rows to some ops (`mul,mul.Scalar`). Start reading at Row.
"""Rows of the op table, their cases and the tensors of a case."""

from __future__ import annotations

import functools
import json
import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import ebb
from ebb import _C

ROWS_FILE = Path(_C.__file__).parents[2] / "generated" / "test_rows.json"

BOOL = ("bool",)
INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
ALL_DTYPES = (*BOOL, *INTEGERS, *FLOATING, *COMPLEX)

LAYOUTS = ("contiguous", "strided", "transposed", "offset")
VIEW_LAYOUTS = ("contiguous", "offset")  # for an op that must not copy


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: its strides over memory of ``length`` elements, from ``offset`` on."""

    strides: tuple[int, ...]
    offset: int
    length: int


@dataclass(frozen=True)
class Array:
    """A tensor argument: its shape, and for indices the bound below which its values lie."""

    shape: tuple[int, ...]
    below: int | None = None
    place: Place | None = None

    def __str__(self) -> str:
        return "x".join(map(str, self.shape)) or "0d"


@dataclass(frozen=True)
class Case:
    """The arguments of one call: tensors as Array, all else as it is."""

    arguments: dict[str, Any]

    def __str__(self) -> str:
        return ",".join(_text(value) for value in self.arguments.values())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + " ".join(map(_text, value)) + "]"
    return str(value)


@dataclass(frozen=True)
class Row:
    """One entry of the op table, as far as tests need it."""

    data: dict[str, Any] = field(hash=False)

    def __str__(self) -> str:
        return self.op

    @property
    def op(self) -> str:
        return self.data["op"]

    @property
    def name(self) -> str:
        return self.data["name"]

    @property
    def forms(self) -> list[str]:
        return self.data["forms"]

    @property
    def tensors(self) -> list[str]:
        """Parameters that are one tensor."""
        return [p["name"] for p in self.data["params"] if p["type"] in ("Tensor", "Tensor?")]

    @property
    def params(self) -> list[dict[str, Any]]:
        return self.data["params"]

    @property
    def test(self) -> dict[str, Any]:
        return self.data["test"]

    @property
    def matrices(self) -> dict[str, str]:
        """Of what kind the matrices in a parameter are."""
        return self.test.get("matrices", {})

    @property
    def hermitian(self) -> list[str]:
        """Parameters of which only matrices that are their own adjoint have a derivative."""
        return [
            name
            for name, kind in self.matrices.items()
            if kind in ("hermitian", "positive_definite")
        ]

    @property
    def domain(self) -> str:
        return self.test.get("domain", "real")

    @property
    def is_inplace(self) -> bool:
        return self.name.endswith("_")

    @property
    def shown_name(self) -> str:
        """What errors call it: linalg.solve, where the row has a namespace."""
        space = self.data["namespace"]
        return f"{space}.{self.name.removeprefix(space + '_')}" if space else self.name

    @property
    def function_names(self) -> list[str]:
        """Where `ebb` has it as a function."""
        return [self.shown_name, *self.data["aliases"]]

    @property
    def method_names(self) -> list[str]:
        """What Tensor calls it."""
        return [name for name in self.function_names if "." not in name]

    @property
    def main(self) -> str:
        """The tensor parameter whose dtype a test varies."""
        names = [p["name"] for p in self.params if p["type"].startswith("Tensor")]
        for name in names:
            if name not in ("condition", "mask", "index", "target"):
                return name
        return names[0] if names else ""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Dtypes for which the op must work."""
        accepted = self.data["dtypes"].get(self.main, ALL_DTYPES)
        return tuple(one for one in accepted if one in self.data["works_for"])

    @property
    def differentiable(self) -> list[str]:
        """Tensor parameters with a gradient; for composites those that may have one."""
        is_composite = self.data["is_composite"]
        names = self.tensors if is_composite else self.data["differentiable"]
        constant = {"index", *np.atleast_1d(self.test.get("constant", []))}
        return [name for name in names if name not in constant]

    @property
    def refused(self) -> list[str]:
        """Tensor parameters whose formula raises: the row is not made of other ops."""
        return self.data.get("refused", [])

    @property
    def layouts(self) -> tuple[str, ...]:
        """Memory layouts that the op must accept."""
        return tuple(self.test.get("layouts", LAYOUTS))

    @property
    def is_creation(self) -> bool:
        """Whether it makes a tensor out of sizes and numbers."""
        return not any(param["type"].startswith("Tensor") for param in self.params)

    def refuses_inplace(self, dtype: str) -> bool:
        """Whether the result is real, and so not to be written over complex numbers."""
        return self.data["result_dtype"] == "real" and dtype in COMPLEX

    def cases(self) -> list[Case]:
        """All calls to try."""
        inputs = self.test.get("inputs", [])
        drawn = (
            KINDS[inputs](self)
            if isinstance(inputs, str)
            else [self._literal(one) for one in inputs]
        )
        extras = self.test.get("args", [{}])
        return [Case({**case, **extra}) for case in drawn for extra in extras]

    def _literal(self, case: dict[str, Any]) -> dict[str, Any]:
        kinds = {param["name"]: param["type"] for param in self.params}
        return {name: _literal_value(kinds[name], value) for name, value in case.items()}


def _literal_value(kind: str, value: Any) -> Any:
    if kind == "Tensor[]":
        return [Array(tuple(shape)) for shape in value]
    if kind in ("Tensor", "Tensor?") and value is not None:
        if isinstance(value, dict):
            return Array(tuple(value["shape"]), value["below"])
        return Array(tuple(value))
    return value


FEW = ((), (33,), (3, 5), (2, 0, 3))
FEW_PAIRS = (((3, 4), (3, 4)), ((3, 1), (1, 4)), ((), (3,)), ((17,), (17,)), ((0, 3), (3,)))
UNARY = ((), (1,), (7,), (3, 5), (2, 3, 4), (33,), (0,), (2, 0, 3))
PAIRS = (
    ((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3,)), ((3,), ()), ((), ()),
    ((2, 1, 4), (3, 1)), ((17,), (17,)), ((1,), (5,)), ((0,), (1,)), ((0, 3), (3,)),
)  # fmt: skip
MATMULS = (
    ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)),
    ((4,), (2, 4, 3)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((0, 3, 4), (4, 2)), ((1, 1), (1, 1)),
    ((17, 9), (9, 13)), ((2, 3, 4), (1, 4, 1)),
)  # fmt: skip
REDUCTIONS = (
    ((3, 4), {}), ((3, 4), {"dim": 0}), ((3, 4), {"dim": -1, "keepdim": True}),
    ((2, 3, 4), {"dim": [0, 2]}), ((2, 3, 4), {"dim": [-1, 1], "keepdim": True}), ((), {}),
    ((5,), {"dim": 0}), ((7, 33), {"dim": 1}), ((33, 7), {"dim": 0}), ((2, 3, 4), {"dim": 1}),
    ((0,), {}), ((2, 0, 3), {"dim": 1}), ((2, 0, 3), {"dim": 0}),
    ((3, 4), {"keepdim": True}),
)  # fmt: skip
SOFTMAXES = (((3, 5), 1), ((3, 5), 0), ((5,), -1), ((2, 3, 4), 1), ((0, 3), 1), ((3, 33), -1))


def _unary(row: Row) -> list[dict[str, Any]]:
    return [{row.tensors[0]: Array(shape)} for shape in UNARY]


def _unary_not_empty(row: Row) -> list[dict[str, Any]]:
    return [{row.tensors[0]: Array(shape)} for shape in UNARY if 0 not in shape]


def _few_unary(row: Row) -> list[dict[str, Any]]:
    return [{row.tensors[0]: Array(shape)} for shape in FEW]


def _few_pairs(row: Row) -> list[dict[str, Any]]:
    first, second = row.tensors
    return [{first: Array(lhs), second: Array(rhs)} for lhs, rhs in FEW_PAIRS]


def _few_scalars(row: Row) -> list[dict[str, Any]]:
    scalar = next(p["name"] for p in row.params if p["type"] == "Scalar")
    cases = (((3, 5), 2), ((17,), 1.5), ((), 1.5), ((0, 2), 2))
    return [{row.tensors[0]: Array(shape), scalar: value} for shape, value in cases]


def _broadcast_pairs(row: Row) -> list[dict[str, Any]]:
    first, second = row.tensors
    return [{first: Array(lhs), second: Array(rhs)} for lhs, rhs in PAIRS]


def _scalar_pairs(row: Row) -> list[dict[str, Any]]:
    scalar = next(p["name"] for p in row.params if p["type"] == "Scalar")
    shapes = ((), (3, 5), (17,), (0, 2))
    return [{row.tensors[0]: Array(shape), scalar: value} for shape in shapes for value in (2, 1.5)]


def _where(row: Row) -> list[dict[str, Any]]:
    cases = []
    for shapes in (((3, 4),) * 3, ((3, 1), (4,), (3, 4)), ((), (2,), ()), ((0,), (1,), (0,))):
        case: dict[str, Any] = {}
        for param, shape in zip(row.params, shapes, strict=True):
            case[param["name"]] = Array(shape) if param["type"] == "Tensor" else 2
        cases.append(case)
    return cases


def _reduce(row: Row) -> list[dict[str, Any]]:
    return [{"input": Array(shape), **more} for shape, more in REDUCTIONS]


def _reduce_dim(row: Row) -> list[dict[str, Any]]:
    chosen = [one for one in REDUCTIONS if isinstance(one[1].get("dim"), int)]
    return [{"input": Array(shape), **more} for shape, more in chosen if shape[more["dim"]] != 0]


def _reduced_sizes(shape: tuple[int, ...], dim: Any) -> list[int]:
    """Return the sizes that a reduction over ``dim`` reduces."""
    dims = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    return [shape[one] for one in dims] if shape else []


def _reduce_not_empty(row: Row) -> list[dict[str, Any]]:
    chosen = [one for one in REDUCTIONS if 0 not in _reduced_sizes(one[0], one[1].get("dim"))]
    return [{"input": Array(shape), **more} for shape, more in chosen]


def _reduce_several(row: Row) -> list[dict[str, Any]]:
    """More than one element for each result."""
    chosen = [(a, b) for a, b in REDUCTIONS if np.prod(_reduced_sizes(a, b.get("dim"))) > 1]
    return [{"input": Array(shape), **more} for shape, more in chosen]


def _reduce_one(row: Row) -> list[dict[str, Any]]:
    """One dim, or everything."""
    chosen = [case for case in _reduce_not_empty(row) if not isinstance(case.get("dim"), list)]
    return [case for case in chosen if 0 not in case["input"].shape or "dim" in case]


def _reduce_plain(row: Row) -> list[dict[str, Any]]:
    return [case for case in _reduce(row) if "keepdim" not in case]


def _matmul(row: Row) -> list[dict[str, Any]]:
    return [{"input": Array(lhs), "other": Array(rhs)} for lhs, rhs in MATMULS]


def _softmax(row: Row) -> list[dict[str, Any]]:
    return [{**dict.fromkeys(row.tensors, Array(shape)), "dim": dim} for shape, dim in SOFTMAXES]


def _sizes(row: Row) -> list[dict[str, Any]]:
    return [{"size": size} for size in ([], [0], [3], [2, 3], [2, 0, 1])]


KINDS = {
    "unary": _unary,
    "unary_not_empty": _unary_not_empty,
    "broadcast_pairs": _broadcast_pairs,
    "few_unary": _few_unary,
    "few_pairs": _few_pairs,
    "few_scalars": _few_scalars,
    "scalar_pairs": _scalar_pairs,
    "where_triples": _where,
    "where_scalar": _where,
    "reduce": _reduce,
    "reduce_dim": _reduce_dim,
    "reduce_not_empty": _reduce_not_empty,
    "reduce_one": _reduce_one,
    "reduce_plain": _reduce_plain,
    "reduce_several": _reduce_several,
    "matmul": _matmul,
    "softmax": _softmax,
    "softmax_pairs": _softmax,
    "sizes": _sizes,
}


@functools.cache
def _entries() -> list[dict[str, Any]]:
    return json.loads(ROWS_FILE.read_text().replace("boolean", "bool"))


def load_rows() -> list[Row]:
    """Return all rows, or those that EBB_ONLY_OP names."""
    rows = [Row(one) for one in _entries()]
    only = os.environ.get("EBB_ONLY_OP")
    return [row for row in rows if row.op in only.split(",")] if only else rows


# Values of a dtype.


def draw_matrices(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, kind: str
) -> np.ndarray:
    """Return matrices of a kind, well conditioned, with eigenvalues (singular values) apart."""
    is_square = len(shape) > 1 and shape[-1] == shape[-2]
    if len(shape) < 2 or (kind in ("hermitian", "positive_definite") and not is_square):
        return draw(rng, shape, dtype, "real")  # to be refused
    values = draw(rng, shape, dtype, "signed_unit") / max(2, *shape[-2:])
    apart = np.eye(*shape[-2:]) * (1 + np.arange(shape[-1]))
    if kind == "full_rank":
        return np.roll(values + apart, 1, axis=-2)
    if kind == "dominant":
        return values + apart
    adjoint = np.conj(values.swapaxes(-1, -2))
    return values @ adjoint + apart if kind == "positive_definite" else values + adjoint + apart


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, domain: str) -> np.ndarray:
    """Return values of a domain, as an array of the widest dtype of the same kind."""
    count = int(np.prod(shape))
    if dtype == "bool":
        values = rng.integers(0, 2, count) > 0
        return (np.ones(count, bool) if domain in ("positive", "nonzero") else values).reshape(
            shape
        )
    if dtype in INTEGERS:
        values = rng.integers(1, 9, count)
        if domain == "off_kink":
            values = rng.permutation(count) % 100 + 1
        if not dtype.startswith("u") and domain != "positive":
            values = values * rng.choice([-1, 1], count)
        return values.astype(np.int64).reshape(shape)
    real = _draw_real(rng, count, domain)
    if dtype in COMPLEX:
        real = real + 1j * rng.uniform(-1.5, 1.5, count)
    return real.reshape(shape)


def _draw_real(rng: np.random.Generator, count: int, domain: str) -> np.ndarray:
    if domain == "positive":
        return rng.uniform(0.4, 2.5, count)
    if domain == "above_one":
        return rng.uniform(1.2, 3, count)
    if domain == "signs":
        return rng.choice([-1.0, 1.0], count)
    if domain == "unit":
        return rng.uniform(0.1, 0.9, count)
    if domain == "nonzero":
        return rng.uniform(0.5, 2, count) * rng.choice([-1, 1], count)
    if domain == "signed_unit":
        return rng.uniform(-0.9, 0.9, count)
    if domain == "off_kink":  # distinct and away from 0
        return (rng.permutation(count) - count / 2 + 0.75) * (4 / max(count, 4))
    return rng.uniform(-2, 2, count)


def dtype_of(name: str) -> Any:
    """Return ebb's dtype of a name."""
    return getattr(_C, name)


def wide_array(tensor: ebb.Tensor) -> np.ndarray:
    """Return a tensor's values: floating and complex ones in double precision."""
    dtype = tensor.dtype
    if dtype.is_complex:
        return np.array(tensor.detach().to(ebb.complex128).numpy())
    if dtype.is_floating_point:
        return np.array(tensor.detach().to(ebb.float64).numpy())
    return np.array(tensor.detach().numpy())


def make_tensor(values: np.ndarray, dtype: str, layout: str = "contiguous") -> ebb.Tensor:
    """Return a tensor of these values whose elements lie in memory as ``layout`` says."""
    wanted = dtype_of(dtype)
    if layout == "strided" and values.ndim > 0:
        return ebb.tensor(np.repeat(values, 2, axis=-1)).to(wanted)[..., ::2]
    if layout == "transposed" and values.ndim > 1:
        turned = ebb.tensor(np.ascontiguousarray(values.swapaxes(0, -1))).to(wanted)
        return turned.transpose(0, -1)
    if layout == "offset":
        padded = np.concatenate([np.ones((1, *values.shape)), values[None]]).astype(values.dtype)
        return ebb.tensor(padded).to(wanted)[1]
    return ebb.tensor(np.ascontiguousarray(values).reshape(values.shape)).to(wanted)


def param_dtype(row: Row, name: str, dtype: str) -> str:
    """Return the dtype of one tensor parameter when the main one has ``dtype``."""
    accepted = row.data["dtypes"].get(name, ALL_DTYPES)
    if "int64" in accepted and name == "index":
        return "int64"
    if dtype in accepted and name not in ("index", "condition"):
        return dtype
    return accepted[0]


def make_arguments(
    row: Row, case: Case, dtype: str, layout: str = "contiguous", seed: int = 0
) -> dict[str, Any]:
    """Return the arguments of a call, with tensors of ``dtype`` in ``layout``."""
    rng = np.random.default_rng(zlib.crc32(f"{row.op}{case}".encode()) + seed)
    made: dict[str, Any] = {}

    def tensor(name: str, spec: Array) -> ebb.Tensor:
        own = param_dtype(row, name, dtype)
        shape = spec.shape if spec.place is None else (spec.place.length,)
        if spec.below is not None:
            return placed(
                make_tensor(rng.integers(0, max(1, spec.below), shape), "int64", layout), spec
            )
        domain = row.domain
        if name in row.matrices:
            values = draw_matrices(rng, spec.shape, dtype, row.matrices[name])
            return placed(make_tensor(in_memory(values, spec.place), own, layout), spec)
        for key in ("positive", "signs"):
            if name in row.test.get(key, ()):
                domain, own = key, dtype
        return placed(make_tensor(draw(rng, shape, own, domain), own, layout), spec)

    def placed(memory: ebb.Tensor, spec: Array) -> ebb.Tensor:
        if spec.place is None:
            return memory
        return memory.as_strided(spec.shape, spec.place.strides, spec.place.offset)

    for name, value in case.arguments.items():
        if isinstance(value, Array):
            made[name] = tensor(name, value)
        elif isinstance(value, list) and value and isinstance(value[0], Array):
            made[name] = [tensor(name, one) for one in value]
        elif name == "dtype":
            made[name] = dtype_of(value)
        else:
            made[name] = value
    return made


def in_memory(values: np.ndarray, place: Place | None) -> np.ndarray:
    """Return the memory that holds values at a place, or them as they are."""
    if place is None:
        return values
    memory = np.zeros(place.length, values.dtype)
    strides = [stride * values.itemsize for stride in place.strides]
    view = np.lib.stride_tricks.as_strided(memory[place.offset :], values.shape, strides)
    view[...] = values
    return memory


def function_of(row: Row) -> Any:
    """Return the Python function of an op, private ones included; methods take self first."""
    for place in (_C._ops, _C, ebb.nn.functional):
        if hasattr(place, row.name):
            return getattr(place, row.name)
    method = row.name
    return lambda first, *rest, **named: getattr(first, method)(*rest, **named)


def inplace_of(row: Row) -> Any:
    """Return the in-place form as a function of its target and the other arguments."""
    name = row.name if row.is_inplace else row.name + "_"
    if hasattr(_C._ops, name):
        return getattr(_C._ops, name)
    return lambda target, *rest, **named: getattr(target, name)(*rest, **named)


def split_arguments(row: Row, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments as positional ones as far as possible, and keywords for the rest."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for param in row.params:
        name = param["name"]
        if name not in arguments:
            continue
        in_row = len(positional) == [p["name"] for p in row.params].index(name)
        if in_row and not param["keyword_only"]:
            positional.append(arguments[name])
        else:
            named[name] = arguments[name]
    return positional, named


def call(row: Row, arguments: dict[str, Any]) -> Any:
    """Call the op in its plain form."""
    positional, named = split_arguments(row, arguments)
    return without_phases(row, function_of(row)(*positional, **named))


def without_phases(row: Row, results: Any) -> Any:
    """Return the magnitudes of results whose phase is free, and the others."""
    if "phases" not in row.test:
        return results
    pairs = zip(row.data["results"], results, strict=True)
    return tuple(one.abs() if name in row.test["phases"] else one for name, one in pairs)
