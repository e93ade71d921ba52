# tests/python/ops/places/test_arrange.py -- what rows of the op table cannot say of the ops that
# rearrange, look up and contract: views, whole signatures, random einsums, padding rows, refusals.
import string

import numpy as np
import pytest

import ebb
from ebb.nn import functional
from tests.fuzz.rows.temporaries import memory_of

X = ebb.arange(24).float().reshape(2, 3, 4)


def is_view(result):
    begin = X.data_ptr()
    return begin <= result.data_ptr() < begin + X.nbytes


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.unflatten(2, (2, 2)),
        lambda x: x.movedim(0, -1),
        lambda x: x.squeeze((0, 1)),
        lambda x: x.view_as(ebb.zeros(6, 4)),
        lambda x: x.expand_as(ebb.zeros(5, 2, 3, 4)),
        lambda x: x.broadcast_to(5, 2, 3, 4),
        lambda x: x.ravel(),
        lambda x: x.mT,
        lambda x: x[0].T,
        lambda x: x.unbind(1)[2],
        lambda x: x.chunk(2, -1)[1],
        lambda x: x.tensor_split(3, 1)[2],
        lambda x: x.diagonal(1, 1, 2),
        lambda x: ebb.broadcast_tensors(x, ebb.zeros(5, 1, 1, 1))[0],
    ],
)
def test_what_can_be_a_view_is_one(view):
    assert is_view(view(X))


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.flip(0),
        lambda x: x.roll(0, 0),
        lambda x: x.repeat(1, 1, 1),
        lambda x: x.tril(5),
        lambda x: x[0].diag(),
        lambda x: functional.pad(x, (0, 0)),
        lambda x: functional.pad(x, (0, 0), "reflect"),
        lambda x: ebb.stack([x]),
        lambda x: x[[0, 1]],
    ],
)
def test_what_copies_leaves_its_input_alone(copy):
    assert not is_view(copy(X))


def test_sizes_and_dims_may_stand_in_a_row():
    assert X.repeat(2, 1, 1).shape == X.repeat((2, 1, 1)).shape == (4, 3, 4)
    assert X.flip(0, 1).shape == X.flip((0, 1)).shape and X.tile(2, 1).shape == (2, 6, 4)
    assert X.movedim((0, 1), (1, 0)).shape == (3, 2, 4)
    assert ebb.eye(2, 3, dtype=ebb.int64).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert ebb.eye(2, requires_grad=True).requires_grad
    assert ebb.linspace(0, 1, 3, dtype=ebb.float64).tolist() == [0.0, 0.5, 1.0]
    assert ebb.linspace(0, 1, 7)[-1].item() == 1.0


def test_meshgrid_takes_tensors_in_a_row_or_in_a_list():
    x, y = ebb.arange(2), ebb.arange(3)
    wanted = [one.tolist() for one in np.meshgrid([0, 1], [0, 1, 2], indexing="ij")]
    assert [one.tolist() for one in ebb.meshgrid(x, y)] == wanted
    assert [one.tolist() for one in ebb.meshgrid([x, y], indexing="ij")] == wanted
    with pytest.raises(TypeError, match="meshgrid\\(\\): needs Tensors, got int"):
        ebb.meshgrid(x, 3)


LETTERS = "abcdefgh"


def random_equation(rng):
    """An equation, the shapes of its operands, and whether NumPy orders its output alike."""
    sizes = dict(zip(LETTERS, rng.integers(1, 4, len(LETTERS)), strict=True))
    terms = []
    for _ in range(rng.integers(1, 4)):
        terms.append("".join(rng.choice(list(LETTERS[:5]), rng.integers(0, 4), replace=True)))
    used = sorted(set("".join(terms)))
    output = "".join(rng.permutation(used)[: rng.integers(0, len(used) + 1)]) if used else ""
    arrow = f"->{output}" if rng.random() < 0.8 else ""
    shapes = [tuple(int(sizes[letter]) for letter in term) for term in terms]
    return ",".join(terms) + arrow, shapes


@pytest.mark.parametrize("seed", range(40))
def test_random_einsums_agree_with_numpy(seed):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        equation, shapes = random_equation(rng)
        arrays = [rng.uniform(-1, 1, shape) for shape in shapes]
        wanted = np.einsum(equation, *arrays)
        got = ebb.einsum(equation, *(ebb.tensor(array) for array in arrays))
        assert tuple(got.shape) == wanted.shape, equation
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12, atol=1e-12, err_msg=equation)


@pytest.mark.parametrize("equation", ["i,j->ij", "i , j -> i j", "i,j", "...i,j->...ij"])
def test_einsum_promotes_operands_whose_products_it_does_not_sum(equation):
    times, rates = ebb.arange(2), ebb.tensor([0.5, 2.0], requires_grad=True)
    table = ebb.einsum(equation, times, rates)
    assert table.tolist() == [[0.0, 0.0], [0.5, 2.0]] and table.dtype is ebb.float32
    table.sum().backward()
    assert rates.grad.tolist() == [1.0, 1.0]


def test_einsum_takes_ellipses_lists_and_sizes_of_one():
    a, b = ebb.rand(2, 3, 4), ebb.rand(4, 5)
    assert ebb.equal(ebb.einsum("...j,jk->...k", [a, b]), ebb.einsum("...j,jk", a, b))
    assert ebb.einsum("...j->j", a).shape == (4,)  # what the output leaves out is summed
    assert ebb.einsum("i,i->i", ebb.ones(1), ebb.ones(3)).shape == (3,)
    with pytest.raises(TypeError, match="needs an equation, got Tensor"):
        ebb.einsum(a, "i")
    with pytest.raises(TypeError, match="all operands need one dtype"):
        ebb.einsum("i,i", ebb.ones(2), ebb.ones(2, dtype=ebb.float64))
    with pytest.raises(ValueError, match="must not be empty"):
        ebb.einsum("i", [])


def test_einsum_multiplies_the_cheapest_pair_first():
    n = 2000  # an n x n intermediate of float64 would take 32 MB
    vector, column, row = ebb.rand(n, 1), ebb.rand(1, n), ebb.rand(n, 1)
    taken = memory_of(lambda: ebb.einsum("ia,aj,jb->ib", vector, column, row))
    assert taken.temporaries < 1 << 20


@pytest.mark.parametrize("count", [33, 400])
def test_einsum_of_many_operands_is_their_product_summed(count):
    rng = np.random.default_rng(count)
    letters = LETTERS[:5]
    terms = ["".join(rng.permutation(list(letters))[: rng.integers(0, 4)]) for _ in range(count)]
    arrays = [rng.uniform(0.9, 1.1, [int(rng.choice([1, 3])) for _ in term]) for term in terms]
    terms.append(letters)  # so that each letter has its full size
    arrays.append(rng.uniform(0.9, 1.1, [3] * 5))
    product = 1.0  # by broadcasting: all operands as arrays of five dims
    for term, array in zip(terms, arrays, strict=True):
        order = np.argsort(list(term)) if term else []
        shape = dict(zip(term, array.shape, strict=True))
        sizes = [shape.get(letter, 1) for letter in letters]
        product = product * array.transpose(order).reshape(sizes)
    got = ebb.einsum(",".join(terms) + "->bd", *map(ebb.tensor, arrays))
    np.testing.assert_allclose(got.numpy(), product.sum((0, 2, 4)), rtol=1e-10)


def test_einsum_finds_its_way_through_thousands_of_operands_at_once():
    names = string.ascii_letters
    for terms in (["ab"] * 2000, [names[i % 52] + names[(i + 1) % 52] for i in range(2000)]):
        got = ebb.einsum(",".join(terms) + "->a", [ebb.full((2, 2), 0.5)] * 2000)
        assert got.shape == (2,)  # at all: weighing all pairs for each product takes hours


def test_tensordot_takes_a_count_or_lists_of_dims():
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4)), np.ones((3, 4, 5))
    for dims in (2, 0, ([1, 2], [0, 1]), ([1], [0])):
        got = ebb.tensordot(ebb.tensor(a), ebb.tensor(b), dims)
        np.testing.assert_allclose(got.numpy(), np.tensordot(a, b, dims), atol=1e-12)
    with pytest.raises(ValueError, match="dims must be from 0 to 3, got 4"):
        ebb.tensordot(X, X, 4)


def test_a_padding_row_gets_no_gradient():
    weight = ebb.rand(4, 3, dtype=ebb.float64, requires_grad=True)
    index = ebb.tensor([[1, 3], [1, 0]])
    functional.embedding(index, weight, padding_idx=-3).sum().backward()
    assert weight.grad.tolist() == [[1.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3]
    found = ebb._C._ops.embedding_backward(ebb.ones(2, 2, 3), index, 4, -1)
    assert found[:, 0].tolist() == [1.0, 2.0, 0.0, 1.0]


def test_the_derivative_of_a_padded_embeddings_gradient():
    index = ebb.tensor([2, 0, 2])

    def backward(grad):
        return ebb._C._ops.embedding_backward(grad, index, 4, 2)

    grad = ebb.rand(3, 2, dtype=ebb.float64, requires_grad=True)
    assert ebb.autograd.gradcheck(backward, (grad,))
    assert ebb.autograd.gradgradcheck(backward, (grad,))


def test_embedding_refuses_what_it_does_not_do():
    weight = ebb.zeros(4, 3)
    with pytest.raises(NotImplementedError, match="embedding: needs sparse False with scale_grad"):
        functional.embedding(ebb.tensor([0]), weight, scale_grad_by_freq=True, sparse=True)
    with pytest.raises(ValueError, match="padding_idx must be from -4 to 3, got 4"):
        functional.embedding(ebb.tensor([0]), weight, padding_idx=4)
    with pytest.raises(IndexError, match="indices must be at least 0 and below 4, got -1"):
        functional.embedding(ebb.tensor([-1]), weight)
    with pytest.raises(TypeError, match="int64"):
        functional.embedding(ebb.tensor([0.0]), weight)


def test_one_hot_counts_classes_itself():
    assert functional.one_hot(ebb.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert functional.one_hot(ebb.zeros(0, 2, dtype=ebb.int64), 3).shape == (0, 2, 3)
    with pytest.raises(ValueError, match="num_classes must be at least -1, got -2"):
        functional.one_hot(ebb.tensor([0]), -2)
    with pytest.raises(IndexError, match="one_hot: input must be below 9223372036854775807"):
        functional.one_hot(ebb.tensor([2**63 - 1]))


def test_addmm_with_a_row_is_one_linear():
    row = ebb.rand(5, requires_grad=True)
    out = ebb.addmm(row, ebb.rand(3, 4), ebb.rand(4, 5))
    assert out.grad_fn.name() == "LinearBackward"
    nan = ebb.full((3, 5), float("nan"))
    assert ebb.addmm(nan, ebb.ones(3, 4), ebb.ones(4, 5), beta=0).sum().item() == 60


def test_a_type_is_asked_for_and_given():
    assert X.type() == "torch.FloatTensor" and X.type(ebb.int32).dtype is ebb.int32


def test_counts_of_any_size_are_cut_off():
    assert functional.pad(X, (-(2**63), 2**63 - 1)).tolist() == ebb.zeros(2, 3, 3).tolist()
    assert X.roll(2**63 - 1, 2).shape == X.shape and X.tril(-(2**63)).sum().item() == 0
    assert X.diagonal(2**63 - 1).shape == (4, 0) and X.diagonal(-(2**63)).shape == (4, 0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: X.repeat(1, 1, -1), "count of at least 0"),
        (lambda: X.repeat(2**62, 1, 4), "fit into 63 bits|at most|too"),
        (lambda: X.tile(-1), "counts of at least 0"),
        (lambda: X.roll((1, 2)), "same number of values"),
        (lambda: functional.pad(X, (2**62, 2**62)), "at least 0|fit"),
        (lambda: functional.pad(X, (0, 2**40), "replicate"), "did not give"),
        (lambda: X.unflatten(0, (2**62, 2**62)), "must hold the 2 elements"),
        (lambda: ebb.eye(2**40, 2**40), "63 bits|fit|bytes"),
        (lambda: ebb.diag_embed(X, 2**62), "63 bits|fit|bytes"),
        (lambda: ebb.stack([X, X], 5), "from -4 to 3, got 5"),
        (lambda: X.index_fill(0, ebb.tensor([0]), 1j), "complex|float32"),
        (lambda: ebb._C._ops.index_dims(X, [0, 3], ebb.tensor([0])), "at most 2"),
        (lambda: ebb._C._ops.flat_index([ebb.tensor([0])], [-1], [1]), "negative"),
    ],
)
def test_hostile_arguments_end_in_typed_errors(call, text):
    with pytest.raises(ebb.Error, match=text):
        call()


WIDTHS = (1, 2, 3, 5, 8, 13, 31, 64, 67, 130, 1100)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex128"])
@pytest.mark.parametrize("width", WIDTHS)
def test_short_rows_are_joined_and_chosen_as_numpy_does(dtype, width):
    rng = np.random.default_rng(width)
    values = rng.integers(0, 100, (9, width)).astype(dtype)
    other = rng.integers(0, 100, (9, 2 * width + 1)).astype(dtype)
    x, y = ebb.from_numpy(values), ebb.from_numpy(other)
    rows = np.concatenate([values, other, values], 1)
    assert ebb.cat([x, y, x], 1).tolist() == rows.tolist()
    wide = ebb.cat([y[:, :width], x, x[:, :0], y[:, 1::2]], 1)  # rows apart; none; elements apart
    wanted = np.concatenate([other[:, :width], values, other[:, 1::2]], 1)
    assert wide.tolist() == wanted.tolist()
    assert ebb.cat([x[::2], y[::2]], 1).tolist() == rows[::2, : 3 * width + 1].tolist()
    places = rng.integers(0, 9, 40)
    for source in (x, y[:, :width], ebb.from_numpy(rows)):
        chosen = source.index_select(0, ebb.from_numpy(places))
        assert chosen.tolist() == source.numpy()[places].tolist()
    blocks = ebb.stack([x, x + 1, x])
    chosen = blocks.index_select(1, ebb.from_numpy(places[:7]))
    assert chosen.tolist() == blocks.numpy()[:, places[:7]].tolist()


def test_rows_of_many_operands_dtypes_and_outputs_are_joined():
    parts = [ebb.arange(6.0).reshape(3, 2) + i for i in range(40)]
    wanted = np.concatenate([part.numpy() for part in parts], 1)
    assert ebb.cat(parts, 1).tolist() == wanted.tolist()
    mixed = ebb.cat([parts[0], ebb.ones(3, 1, dtype=ebb.int64)], 1)
    assert mixed.tolist() == [[0.0, 1.0, 1.0], [2.0, 3.0, 1.0], [4.0, 5.0, 1.0]]
    room = ebb.zeros(4, 3).t()
    ebb.cat(parts[:2], 1, out=room)
    assert room.tolist() == wanted[:, :4].tolist()
    deep = ebb.arange(24.0).reshape(2, 3, 4)
    for each in (deep, deep.transpose(0, 1), deep[:, ::2], deep[:0], deep[:, :, :0]):
        for dim in range(3):
            wanted = np.concatenate([each.numpy(), each.numpy() + 1], dim)
            assert ebb.cat([each, each + 1], dim).tolist() == wanted.tolist()


@pytest.mark.parametrize("widths", [(8, 8), (16, 9), (8, 33, 12), (7, 16), (100, 8)])
def test_rows_of_results_that_outgrow_the_cache_are_joined(widths):
    rows = (1 << 20) // (4 * sum(widths)) + 77  # a bit more than a megabyte
    rng = np.random.default_rng(0)
    values = [rng.integers(0, 1000, (rows, width)).astype("float32") for width in widths]
    parts = [ebb.from_numpy(each) for each in values]
    assert np.array_equal(ebb.cat(parts, 1).numpy(), np.concatenate(values, 1))
    wide = ebb.cat(parts + parts[::-1], 1)
    apart = [wide[:, : widths[0]], parts[1], wide[:, -widths[0] :]]  # rows apart
    wanted = np.concatenate([values[0], values[1], values[0]], 1)
    assert np.array_equal(ebb.cat(apart, 1).numpy(), wanted)


def test_choosing_rows_tells_of_the_first_wrong_index():
    x, places = ebb.zeros(50_000, 16), ebb.arange(50_000)
    places[[30_000, 49_999]] = ebb.tensor([50_000, -1])
    with pytest.raises(IndexError, match="50000"):
        x.index_select(0, places)


def test_one_dim_is_flat_already():
    line, table = ebb.rand(3, requires_grad=True), ebb.rand(2, 3)
    assert line.flatten() is line and table.flatten(1) is table and table.flatten(0, 0) is table
    assert table.flatten()._base is table and ebb.tensor(2.0).flatten().tolist() == [2.0]


def test_chunks_of_nothing_are_as_many_as_asked_for():
    for shape, dim in (((0, 3), 0), ((2, 0), -1), ((0,), 0)):
        assert [tuple(one.shape) for one in ebb.zeros(shape).chunk(3, dim)] == [shape] * 3
    assert len(ebb.zeros(2, 3).chunk(4)) == 2


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_several_tensors_give_a_tuple(name):
    function = getattr(ebb, name)
    several = function(ebb.tensor(1.0), ebb.ones(2, 3))
    assert isinstance(several, tuple) and [one.ndim for one in several] == [
        int(name[-2]),
        max(2, int(name[-2])),
    ]
    assert isinstance(function([ebb.tensor(1.0)]), tuple) and function(ebb.ones(2)).numel() == 2
    with pytest.raises(TypeError, match=f"{name}.* needs Tensors, got int"):
        function(1, ebb.ones(1))


def test_blocks_and_tuples_come_in_any_number():
    blocks = ebb.block_diag(ebb.ones(1, 2), ebb.ones(2, 1))
    assert blocks.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 1]]
    assert ebb.cartesian_prod(ebb.arange(2), ebb.arange(2)).tolist() == [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
    ]
    with pytest.raises(TypeError, match=r"block_diag.* needs Tensors, got str"):
        ebb.block_diag("a")


def test_too_many_choices_are_refused_before_memory_is_asked_for():
    with pytest.raises(ebb.errors.ShapeError, match="combinations: rows must fit into 63 bits"):
        ebb.combinations(ebb.arange(200), 100)
    with pytest.raises(ebb.errors.OutOfMemoryError):
        ebb.combinations(ebb.arange(3000), 5)
