# tests/python/sparse/test_functions.py -- ebb.sparse beside dense tensors: values, places,
# gradients, empty and hybrid tensors, what is refused.
import itertools

import numpy as np
import pytest

import ebb
from ebb.autograd import gradcheck, gradgradcheck

# Shape, how many dims are sparse, stored places (with one stored twice).
HELD = [
    ((4,), 1, [[2], [0], [2]]),
    ((3, 4), 2, [[0, 1], [2, 3], [0, 1], [0, 0], [2, 0]]),
    ((3, 2, 4), 3, [[0, 1, 2], [0, 0, 2], [2, 1, 2], [2, 1, 0]]),
    ((3, 2), 1, [[2], [0]]),
    ((3, 4, 2), 2, [[1, 1], [1, 3], [0, 3]]),
    ((1, 1), 2, [[0, 0]]),
    ((3, 4), 2, []),
    ((0, 4), 2, []),
]
CASES = [
    pytest.param(held, dim, id=f"{held[0]}-{held[1]}-{len(held[2])}-{dim}")
    for held in HELD
    for dim in range(len(held[0]))
]


def stored(held, seed=3):
    """Places and values of a case."""
    shape, sparse_dims, places = held
    indices = np.array(places, dtype=np.int64).reshape(len(places), sparse_dims).T
    values = np.random.default_rng(seed).uniform(-2, 2, (len(places), *shape[sparse_dims:]))
    return ebb.tensor(indices), ebb.tensor(values)


def dense_and_mask(held):
    """The tensor as NumPy has it, and where it stores something."""
    shape, _, places = held
    values = stored(held)[1].numpy()
    dense, mask = np.zeros(shape), np.zeros(shape, dtype=bool)
    for place, value in zip(places, values, strict=True):
        dense[tuple(place)] += value
        mask[tuple(place)] = True
    return dense, mask


def sparse(held):
    indices, values = stored(held)
    return ebb.sparse_coo_tensor(indices, values, held[0])


def line_softmax(dense, mask, dim):
    """The softmax of what is stored; 0 elsewhere."""
    exps = np.where(mask, np.exp(dense), 0)
    total = exps.sum(dim, keepdims=True)
    return np.divide(exps, total, out=np.zeros_like(exps), where=mask)


@pytest.mark.parametrize(("held", "dim"), CASES)
def test_softmax_counts_what_is_stored(held, dim):
    dense, mask = dense_and_mask(held)
    for one in (dim, dim - len(held[0])):
        found = ebb.sparse.softmax(sparse(held), one)
        assert found.is_sparse and found.shape == held[0]
        wanted = line_softmax(dense, mask, dim)
        np.testing.assert_allclose(found.to_dense().numpy(), wanted, rtol=1e-13)
        logs = ebb.sparse.log_softmax(sparse(held), one)
        exps = ebb.sparse_coo_tensor(logs.indices(), logs.values().exp(), held[0])
        np.testing.assert_allclose(exps.to_dense().numpy(), wanted, rtol=1e-13)


@pytest.mark.parametrize("held", HELD, ids=str)
def test_sums_are_those_of_the_dense_tensor(held):
    dense, _ = dense_and_mask(held)
    np.testing.assert_allclose(ebb.sparse.sum(sparse(held)).numpy(), dense.sum(), atol=1e-14)
    ndim = len(held[0])
    for count in range(1, ndim + 1):
        for dims in itertools.permutations(range(ndim), count):
            found = ebb.sparse.sum(sparse(held), dims)
            assert found.is_sparse == any(one not in dims for one in range(held[1]))
            values = found.to_dense()
            np.testing.assert_allclose(values.numpy(), dense.sum(dims), atol=1e-14)


def matrix(shape, stored_count, seed):
    rng = np.random.default_rng(seed)
    places = [rng.integers(0, size, stored_count if size else 0) for size in shape]
    count = min(map(len, places), default=0)
    indices = np.stack([one[:count] for one in places])
    return ebb.tensor(indices), ebb.tensor(rng.uniform(-1, 1, count))


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (4, 2)), ((5, 1), (1, 5)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((20, 30), (30, 10))],
)
@pytest.mark.parametrize("count", [0, 1, 7, 60])
@pytest.mark.parametrize("layouts", list(itertools.product("dcr", repeat=2)), ids="".join)
def test_products_are_those_of_dense_matrices(left, right, count, layouts):
    def laid(shape, layout, seed):
        whole = ebb.sparse_coo_tensor(*matrix(shape, count, seed), shape)
        dense = whole.to_dense()
        return {"d": dense, "c": whole, "r": dense.to_sparse_csr()}[layout], dense.numpy()

    (a, dense_a), (b, dense_b) = laid(left, layouts[0], 1), laid(right, layouts[1], 2)
    found = ebb.sparse.mm(a, b)
    assert found.is_dense == ("d" in layouts)
    values = found.to_dense()
    np.testing.assert_allclose(values.numpy(), dense_a @ dense_b, atol=1e-13)


@pytest.mark.parametrize("function", ["softmax", "log_softmax", "sum"])
@pytest.mark.parametrize(("held", "dim"), CASES)
def test_gradients_reach_the_stored_values(function, held, dim):
    indices, values = stored(held)

    def of(values):
        made = getattr(ebb.sparse, function)(ebb.sparse_coo_tensor(indices, values, held[0]), dim)
        return made.to_dense() if made.is_sparse else made

    values = values.requires_grad_()
    assert gradcheck(of, (values,))
    assert gradgradcheck(of, (values,))


def test_gradients_of_a_product_reach_both_operands():
    (places_a, a), (places_b, b) = matrix((3, 4), 6, 1), matrix((4, 5), 7, 2)

    def of(a, b):
        left = ebb.sparse_coo_tensor(places_a, a, (3, 4))
        return ebb.sparse.mm(left, ebb.sparse_coo_tensor(places_b, b, (4, 5))).to_dense()

    assert gradcheck(of, (a.requires_grad_(), b.requires_grad_()))
    assert gradgradcheck(of, (a, b))


def test_addmm_scales_both_parts():
    held = HELD[1]
    dense, _ = dense_and_mask(held)
    found = ebb.sparse.addmm(ebb.ones(3, 2).double(), sparse(held), ebb.eye(4)[:, :2].double(),
                             beta=2, alpha=-1)  # fmt: skip
    np.testing.assert_allclose(found.numpy(), 2 - dense[:, :2])


def test_a_line_of_minus_infinity_is_nan_as_in_a_dense_tensor():
    held = ebb.sparse_coo_tensor([[0, 0, 1], [0, 1, 1]], [-np.inf, -np.inf, 1.0], (2, 2))
    values = ebb.sparse.softmax(held, 1).values().numpy()
    assert np.isnan(values[:2]).all() and values[2] == 1


def test_sparse_dims_of_the_largest_sizes_are_told_apart():
    places = [[0, 1, 1], [2**30, 0, 0], [5, 2**30 - 1, 3]]
    held = ebb.sparse_coo_tensor(places, [1.0, 0.0, 0.0], (2, 2**30 + 1, 2**30))
    np.testing.assert_allclose(ebb.sparse.softmax(held, 2).values().numpy(), [1, 0.5, 0.5])


def test_dtype_says_in_what_it_is_computed():
    held = ebb.sparse_coo_tensor([[0, 1]], [1, 2], (3,))
    assert ebb.sparse.softmax(held, 0, dtype=ebb.float64).dtype == ebb.float64
    assert ebb.sparse.sum(held, dtype=ebb.float32).dtype == ebb.float32


@pytest.mark.parametrize("name", [name for name in ebb.sparse.__all__ if name.endswith("Tensor")])
def test_older_types_make_tensors_and_know_them(name):
    kind = getattr(ebb.sparse, name)
    held = kind(ebb.tensor([[0, 1], [1, 0]]), ebb.tensor([1.0, 2.0]), ebb.Size([2, 2]))
    assert isinstance(held, kind) and held.dtype is getattr(ebb, name).dtype
    assert not isinstance(held.to_dense(), kind) and not isinstance(held, getattr(ebb, name))
    np.testing.assert_array_equal(held.to_dense().float().numpy(), [[0, 1], [2, 0]])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: ebb.sparse.softmax(x.to_dense(), 0), ebb.errors.ValueError,
         "sparse.softmax: needs a sparse_coo tensor, got one of layout strided"),
        (lambda x: ebb.sparse.softmax(x, 2), ebb.errors.IndexError,
         "sparse.softmax: dim must be from -2 to 1, got 2"),
        (lambda x: ebb.sparse.sum(x, (0, -2)), ebb.errors.ValueError, "sparse.sum: each dim"),
        (lambda x: ebb.sparse.sum(x, "01"), ebb.DTypeError, "sparse.sum.*'dim' must be int"),
        (lambda x: ebb.sparse.log_softmax(x.long(), 0), ebb.DTypeError, "floating dtype"),
        (lambda x: ebb.sparse.mm(x, x), ebb.ShapeError, r"sparse.mm: needs.*\[2, 3\] and \[2, 3\]"),
        (lambda x: ebb.sparse.mm(x, 3), ebb.DTypeError, "sparse.mm.*'mat2' must be Tensor"),
        (lambda x: ebb.sparse.sampled_addmm(x, x, x), ebb.errors.ValueError, "sparse_csr tensor"),
        (lambda x: ebb.sparse.sampled_addmm(x, x, 3), ebb.DTypeError, "'mat2' must be Tensor"),
        (lambda x: ebb.sparse.sampled_addmm(x.to_sparse_csr(), ebb.ones(2, 2), ebb.ones(2, 2)),
         ebb.ShapeError, r"sampled_addmm: needs input .* got \[2, 3\], \[2, 2\] and \[2, 2\]"),
        (lambda x: ebb.sparse.sampled_addmm(x.double().to_sparse_csr(), ebb.eye(2), ebb.ones(2, 3)),
         ebb.DTypeError, "one floating or complex dtype, got float64, float32, float32"),
        (lambda x: ebb.sparse.spdiags(x, 3, (2, 2)), ebb.DTypeError, "'offsets' must be Tensor"),
        (lambda _: ebb.sparse.spdiags(ebb.ones(2, 2), ebb.tensor([1]), (2, 2)), ebb.ShapeError,
         r"spdiags: needs diagonals .* got \[2, 2\], \[1\] and \[2, 2\]"),
        (lambda _: ebb.sparse.spdiags(ebb.ones(1, 2), ebb.tensor([1.0]), (2, 2)), ebb.DTypeError,
         "'offsets' must be int64, got float32"),
        (lambda _: ebb.sparse.spdiags(ebb.ones(2, 2), ebb.tensor([1, 1]), (2, 2)),
         ebb.errors.ValueError, r"each offset once, got \[1, 1\]"),
        (lambda _: ebb.sparse.spdiags(ebb.ones(2), ebb.tensor([1]), (2, 2), ebb.strided),
         ebb.errors.ValueError, "layout must be ebb.sparse_coo or ebb.sparse_csr, got strided"),
        (lambda x: ebb.sparse.addmm(3, x, x), ebb.DTypeError, "sparse.addmm.*'mat' must be Tensor"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call(ebb.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 3)))


UNARY = ("abs", "sign", "square", "sin", "tanh", "relu", "floor", "expm1", "erf")


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("held", HELD, ids=str)
def test_functions_that_are_0_at_0_work_on_what_is_stored(name, held):
    x = sparse(held)
    found = getattr(x, name)()
    assert found.layout == ebb.sparse_coo and found.nnz <= x.nnz
    assert found.to_dense().tolist() == getattr(x.to_dense(), name)().tolist()


PAIRS = [pair for pair in itertools.product(HELD, HELD) if pair[0][0] == pair[1][0]]


@pytest.mark.parametrize(("one", "two"), PAIRS, ids=str)
def test_products_of_sparse_tensors_store_the_places_of_both(one, two):
    x, y = sparse(one), sparse(two) * 3
    found = x * y
    assert found.layout == ebb.sparse_coo and found.is_coalesced()
    assert ebb.allclose(found.to_dense(), x.to_dense() * y.to_dense())
    both = (x.to_dense() != 0) & (y.to_dense() != 0)
    assert len(one[0]) != one[1] or found.nnz == both.sum()
    assert ebb.allclose((x * y.to_dense()).to_dense(), found.to_dense())
    assert (y.to_dense() * x).layout == ebb.sparse_coo


@pytest.mark.parametrize("held", HELD, ids=str)
def test_sparse_dims_are_exchanged_with_sparse_ones_and_dense_with_dense(held):
    x, (shape, places, _) = sparse(held), held
    for one, two in itertools.product(range(len(shape)), repeat=2):
        if (one < places) == (two < places):
            found = x.transpose(one, two)
            assert found.is_coalesced()
            assert found.to_dense().tolist() == x.to_dense().transpose(one, two).tolist()
        else:
            with pytest.raises(
                NotImplementedError, match="transpose: needs two dims that are both"
            ):
                x.transpose(one, two)


def test_products_and_transposes_of_csr_matrices_are_csr_matrices():
    x = ebb.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], (2, 3))
    for found, wanted in (
        (x.t(), x.to_dense().t()),
        (x @ x.t(), x.to_dense() @ x.to_dense().t()),
        (x * x, x.to_dense().square()),
        (x.sin(), x.to_dense().sin()),
    ):
        assert found.layout == ebb.sparse_csr
        assert ebb.allclose(found.to_dense(), wanted)
    mixed = x.to_sparse() @ x.t()
    assert mixed.layout == ebb.sparse_coo and ebb.allclose(mixed.to_dense(), (x @ x.t()).to_dense())


def test_what_sparse_operands_of_pointwise_ops_do_not_mean_is_refused():
    x = ebb.eye(2).to_sparse()
    with pytest.raises(
        NotImplementedError, match=r"^pow: a sparse_coo tensor needs an exponent above"
    ):
        x**0
    with pytest.raises(NotImplementedError, match=r"^cos: .*sparse_coo"):
        x.cos()
    with pytest.raises(
        ebb.errors.ShapeError, match=r"^mul: a sparse operand must have the shape of"
    ):
        x * ebb.ones(2)
    with pytest.raises(ebb.errors.ShapeError, match=r"^matmul: inner sizes must agree"):
        x @ ebb.ones(3, 2).to_sparse()


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_products_of_a_row_are_reduced_as_asked(reduce):
    values = ebb.tensor([1.0, 2.0, -3.0], dtype=ebb.float64, requires_grad=True)
    dense = ebb.arange(6.0, dtype=ebb.float64).reshape(3, 2).requires_grad_()

    def product(values, dense):
        matrix = ebb.sparse_csr_tensor([0, 1, 3, 3], [1, 0, 2], values, (3, 3))
        return ebb.sparse.mm(matrix, dense, reduce)

    terms = np.array([[0.0, 2.0], [-12.0, -15.0]])
    wanted = {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce](terms, 0)
    found = product(values, dense)
    assert found.tolist() == [[2.0, 3.0], wanted.tolist(), [0.0, 0.0]]
    assert gradcheck(product, (values, dense)) and gradgradcheck(product, (values, dense))
    with pytest.raises(ebb.errors.ValueError, match=r"^sparse.mm: reduce must be .* got 'max'"):
        ebb.sparse.mm(ebb.eye(2).to_sparse(), ebb.eye(2), "max")
    with pytest.raises(NotImplementedError, match=r"^sparse.mm: reduce 'mean' needs a sparse mat1"):
        ebb.sparse.mm(ebb.eye(2), ebb.eye(2), "mean")
