# tests/fuzz/race_programs.py -- races that no case of a row reaches: indexing with brackets, sparse
# tensors, and ops whose saved indices the caller holds as well and may write before backward.
"""PROGRAMS, each with the rows of the op table that it reaches."""

from __future__ import annotations

import numpy as np

import ebb
from tests.fuzz.races import Race, Share, backward

F = ebb.nn.functional
RNG = np.random.default_rng(1)
ROWS, WIDTH, COUNT = 60, 40, 3000


def _leaf(*shape: int) -> ebb.Tensor:
    return ebb.tensor(RNG.standard_normal(shape).astype(np.float32)).requires_grad_()


def _places(below: int, *shape: int) -> ebb.Tensor:
    return ebb.tensor(RNG.integers(0, below, shape))


X, LINE, SQUARE = _leaf(ROWS, WIDTH), _leaf(20000), _leaf(300, 300)
IMAGES = _leaf(8, 4, 32, 32)
SCORES, WEIGHTS = _leaf(COUNT, ROWS), ebb.ones(ROWS)
VALUES = _leaf(COUNT)
PLACES, COLUMNS, MANY = _places(ROWS, COUNT), _places(WIDTH, COUNT), _places(20000, 20000)
MASK, LINE_MASK = _places(2, ROWS, WIDTH).to(ebb.bool), _places(2, 20000).to(ebb.bool)
PAIRS = ebb.stack([PLACES, COLUMNS])
DIVIDEND, DIVISOR = _places(1000, 20000) + 1, _places(9, 20000) + 1
STARTS = ebb.arange(0, 301) * 10
RISING = (ebb.arange(3000) % 10) * 7
CHANCES = ebb.rand(50, 400, dtype=ebb.float64)
SORTED = ebb.arange(20000)
CALLED = _places(WIDTH - 1, 1, 20) + 1
ARRAY_OF_CALLED = CALLED.numpy()
ARRAY_OF_PLACES, ARRAY_OF_COLUMNS, ARRAY_OF_PAIRS = PLACES.numpy(), COLUMNS.numpy(), PAIRS.numpy()
ARRAY_OF_STARTS, ARRAY_OF_RISING = STARTS.numpy(), RISING.numpy()


def _get(*index: ebb.Tensor, of: ebb.Tensor = X):
    arrays = [one.numpy() for one in index]

    def run(share: Share) -> None:
        share(*arrays)
        backward(of[index])

    return run


def _set(*index: ebb.Tensor, of: ebb.Tensor = X, value: object = 1.0):
    arrays = [one.numpy() for one in index]

    def run(share: Share) -> None:
        share(*arrays)
        target = of.clone()
        target[index] = value
        backward(target)

    return run


def _add(share: Share) -> None:
    share(ARRAY_OF_PLACES, ARRAY_OF_COLUMNS)
    backward(X.clone().index_put_((PLACES, COLUMNS), VALUES, accumulate=True))
    backward(X.detach().transpose(0, 1).index_put_((COLUMNS, PLACES), VALUES.detach()))


def _call(function, *shared: ebb.Tensor):
    """A function of nothing, while some tensors are written."""

    arrays = [one.detach().numpy() for one in shared]

    def run(share: Share) -> None:
        share(*arrays)
        backward(function())

    return run


def _saved(function):
    """Writes the indices that a call returned, which its backward reads."""

    def run(share: Share) -> None:
        result, indices = function()
        share(indices.numpy())
        backward(result)

    return run


def _coo(share: Share) -> None:
    share(ARRAY_OF_PAIRS)
    made = ebb.sparse_coo_tensor(PAIRS, VALUES, (ROWS, WIDTH))
    whole = made.coalesce()
    share(ARRAY_OF_PAIRS, whole.indices().numpy())
    backward(whole.to_dense(), made @ ebb.ones(WIDTH, 3), whole.to_sparse_csr().to_dense())


def _csr(share: Share) -> None:
    share(ARRAY_OF_STARTS, ARRAY_OF_RISING)
    made = ebb.sparse_csr_tensor(STARTS, RISING, VALUES, (300, 70))
    share(ARRAY_OF_STARTS, ARRAY_OF_RISING, made.crow_indices().numpy(), made.col_indices().numpy())
    backward(made.to_dense(), made.to_sparse().coalesce().to_dense(), made @ ebb.ones(70, 3))


def _rows(share: Share) -> None:
    share(ARRAY_OF_PLACES)
    made = ebb.selected_rows(PLACES, ebb.ones(COUNT, WIDTH), (ROWS, WIDTH))
    backward(made.to_dense(), made.coalesce().to_dense())


def _race(name: str, program, *ops: str) -> Race:
    return Race(name, program, frozenset(ops))


def _ctc(share: Share) -> None:
    share(ARRAY_OF_CALLED)
    backward(F.ctc_loss(F.log_softmax(X.unsqueeze(1), -1), CALLED, [ROWS], [CALLED.numel()]))


def _factored(share: Share) -> None:
    factors, pivots = ebb.linalg.lu_factor(SQUARE)
    share(pivots.numpy())
    backward(ebb.linalg.lu_solve(factors, pivots, SQUARE), *ebb.lu_unpack(factors, pivots))


def _ldl_factored(share: Share) -> None:
    factors, pivots = ebb.linalg.ldl_factor(SQUARE)
    share(pivots.numpy())
    backward(ebb.linalg.ldl_solve(factors, pivots, SQUARE))


_PAIRS = ("sort", "max", "min", "median", "nanmedian", "mode", "cummax", "cummin")
_FOUND = [name for name in _PAIRS if hasattr(ebb.Tensor, name)]

PROGRAMS = [
    _race("x[i]", _get(PLACES), "flat_index", "index_dims", "index_dims_backward"),
    _race("x[i, j]", _get(PLACES, COLUMNS)),
    _race("x.T[j, i]", _get(COLUMNS, PLACES, of=X.transpose(0, 1))),
    _race("x[::2, ::3][i, j]", _get(PLACES % 30, COLUMNS % 13, of=X[::2, ::3])),
    _race("line[i]", _get(MANY, of=LINE)),
    _race("x[mask]", _get(MASK), "flatnonzero"),
    _race("line[mask]", _get(LINE_MASK, of=LINE)),
    _race("x[i] = number", _set(PLACES), "index_dims_put_"),
    _race("x[i, j] = values", _set(PLACES, COLUMNS, value=VALUES)),
    _race("line[i] = number", _set(MANY, of=LINE)),
    _race("x[mask] = number", _set(MASK)),
    _race("line[mask] = number", _set(LINE_MASK, of=LINE)),
    _race("index_put_", _add, "index_put_"),
    _race("nonzero", _call(lambda: LINE_MASK.nonzero(), LINE_MASK), "nonzero"),
    _race("embedding", _call(lambda: F.embedding(PLACES, X), PLACES), "embedding_backward"),
    _race(
        "sparse embedding",
        _call(lambda: F.embedding(PLACES, X, sparse=True), PLACES),
        "embedding_sparse",
    ),
    _race(
        "embedding of bounded norm",
        _call(lambda: F.embedding(PLACES, X.detach().clone(), max_norm=1.0), PLACES),
    ),
    _race("one_hot", _call(lambda: F.one_hot(PLACES), PLACES)),
    _race(
        "nll_loss", _call(lambda: F.nll_loss(SCORES, PLACES, WEIGHTS), PLACES), "nll_loss_backward"
    ),
    _race(
        "searchsorted",
        _call(lambda: ebb.searchsorted(SORTED, MANY, sorter=MANY), SORTED, MANY),
        *("searchsorted", "searchsorted.number"),
    ),
    _race(
        "repeat_interleave",
        _call(lambda: ebb.repeat_interleave(DIVISOR), DIVISOR),
        "repeat_interleave.places",
    ),
    _race(
        "tensor_split",
        _call(lambda: ebb.cat(ebb.tensor_split(LINE, RISING[:50])), RISING),
        "tensor_split.tensor",
    ),
    _race("where", _call(lambda: ebb.where(MASK, 1, 2), MASK), "where.Scalars"),
    _race("multinomial", _call(lambda: ebb.multinomial(CHANCES, 20), CHANCES)),
    _race(
        "multinomial with replacement",
        _call(lambda: ebb.multinomial(CHANCES, 200, replacement=True), CHANCES),
    ),
    _race("floor_divide", _call(lambda: DIVIDEND // DIVISOR, DIVIDEND, DIVISOR)),
    _race("remainder", _call(lambda: DIVIDEND % DIVISOR, DIVIDEND, DIVISOR)),
    _race("power", _call(lambda: DIVIDEND**DIVISOR, DIVIDEND, DIVISOR)),
    _race("sort of what changes", _call(lambda: SQUARE.sort()[0], SQUARE)),
    _race("median of what changes", _call(lambda: SQUARE.median(1)[0], SQUARE)),
    _race("bincount", _call(lambda: ebb.bincount(PLACES), PLACES), "bincount"),
    _race("ctc_loss", _ctc, "ctc_loss"),
    _race("symmetric factors", _ldl_factored, "linalg_ldl_solve"),
    _race("factors", _factored, "linalg_lu_solve", "lu_rows", "lu_solve", "lu_unpack"),
    _race(
        "masked_scatter",
        _call(lambda: X.masked_scatter(MASK, SCORES[:ROWS, :WIDTH]), MASK),
        "masked_scatter",
    ),
    _race("coo", _coo, "sparse_coo"),
    _race("csr", _csr, "sparse_csr"),
    _race("selected_rows", _rows, "sparse_rows"),
    _race("topk", _saved(lambda: SQUARE.topk(7))),
    _race("kthvalue", _saved(lambda: SQUARE.kthvalue(7))),
    *(_race(name, _saved(lambda name=name: getattr(SQUARE, name)(1))) for name in _FOUND),
    _race(
        "max_pool2d",
        _saved(lambda: F.max_pool2d(IMAGES, 2, return_indices=True)),
        "max_pool_backward",
    ),
]
