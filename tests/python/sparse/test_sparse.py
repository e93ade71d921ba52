# tests/python/sparse/test_sparse.py -- sparse tensors: making them, taking them apart, converting
# them, their arithmetic, and the gradients of all that.
import copy
import pickle

import pytest

import ebb
from ebb.autograd import forward_ad, gradcheck

F64 = ebb.float64


def coo(values=(3.0, 4.0, 5.0), **options):
    """[[0, 3, 0], [4, 0, 5]], stored as given."""
    return ebb.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], ebb.tensor(values), (2, 3), **options)


def csr(**options):
    return ebb.sparse_csr_tensor(
        [0, 1, 3], [1, 0, 2], ebb.tensor([3.0, 4.0, 5.0]), (2, 3), **options
    )


def rows(**options):
    """Row 2 twice, row 0 once, of four."""
    values = ebb.tensor([[1.0, 2.0], [3.0, 4.0], [10.0, 20.0]])
    return ebb.selected_rows([2, 0, 2], values, (4, 2), **options)


DENSE = [[0.0, 3.0, 0.0], [4.0, 0.0, 5.0]]
ROWS = [[3.0, 4.0], [0.0, 0.0], [11.0, 22.0], [0.0, 0.0]]
KINDS = {"sparse_coo": coo, "sparse_csr": csr, "selected_rows": rows}


def test_layouts_are_distinct_and_exactly_one_predicate_is_true():
    tensors = [ebb.ones(2), coo(), csr(), rows()]
    names = ["strided", "sparse_coo", "sparse_csr", "selected_rows"]
    assert [one.layout for one in tensors] == names
    assert coo().layout is ebb.sparse_coo and repr(csr().layout) == "ebb.sparse_csr"
    for number, tensor in enumerate(tensors):
        answers = (tensor.is_dense, tensor.is_sparse, tensor.is_sparse_csr, tensor.is_selected_rows)
        assert answers == tuple(place == number for place in range(4))


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_sparse_tensor_has_shape_dtype_and_device_of_what_it_stands_for(make):
    tensor = make()
    assert tensor.dtype is ebb.float32 and tensor.device == ebb.device("cpu") and tensor.is_cpu
    assert tensor.shape == (ebb.Size((4, 2)) if tensor.is_selected_rows else ebb.Size((2, 3)))
    assert tensor.numel() == tensor.to_dense().numel() and tensor.ndim == 2
    assert tensor.nnz == 3 and tensor.is_leaf and not tensor.requires_grad
    assert make(dtype=ebb.float64).dtype is ebb.float64


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_to_dense_adds_up_what_is_stored(make):
    assert make().to_dense().tolist() == (ROWS if make is rows else DENSE)
    assert make().to_sparse().to_dense().tolist() == (ROWS if make is rows else DENSE)


def test_parts_can_be_read():
    assert csr().crow_indices().tolist() == [0, 1, 3] and csr().col_indices().tolist() == [1, 0, 2]
    assert csr().values().tolist() == [3.0, 4.0, 5.0]
    assert coo().coalesce().indices().tolist() == [[0, 1, 1], [1, 0, 2]]
    assert rows().rows.tolist() == [2, 0, 2] and rows().values()[1].tolist() == [3.0, 4.0]
    with pytest.raises(
        RuntimeError, match="indices: needs a sparse_coo tensor, got a sparse_csr one"
    ):
        csr().indices()
    with pytest.raises(ValueError, match=r"values: needs a coalesced tensor, got a sparse_coo one"):
        coo().values()
    with pytest.raises(
        RuntimeError, match="values: needs a sparse tensor, got one of layout strided"
    ):
        ebb.ones(2).values()


def test_coalesce_adds_up_places_and_sorts_them():
    twice = ebb.sparse_coo_tensor([[1, 0, 1], [2, 1, 2]], ebb.tensor([4.0, 3.0, 1.0]), (2, 3))
    assert not twice.is_coalesced() and twice.nnz == 3
    once = twice.coalesce()
    assert once.is_coalesced() and once.indices().tolist() == [[0, 1], [1, 2]]
    assert once.values().tolist() == [3.0, 5.0]
    assert once.coalesce() is once
    merged = rows().coalesce()
    assert merged.rows.tolist() == [0, 2] and merged.values().tolist() == [[3, 4], [11, 22]]


def test_dense_tensors_become_sparse_and_come_back():
    dense = ebb.tensor(DENSE)
    assert dense.to_sparse().is_coalesced() and dense.to_sparse().nnz == 3
    assert dense.to_sparse().to_dense().tolist() == DENSE
    assert dense.to_sparse_csr().crow_indices().tolist() == [0, 1, 3]
    assert dense.to_sparse_csr().to_dense().tolist() == DENSE
    hybrid = ebb.tensor([[0.0, 0.0], [0.0, 7.0]]).to_sparse(1)
    assert hybrid.indices().tolist() == [[1]] and hybrid.values().tolist() == [[0.0, 7.0]]
    assert dense.to_dense() is dense
    for empty in (ebb.zeros(2, 3), ebb.zeros(0, 3), ebb.zeros(2, 0)):
        assert empty.to_sparse().nnz == 0 and empty.to_sparse().to_dense().shape == empty.shape


def test_sizes_are_just_large_enough_if_not_given():
    assert ebb.sparse_coo_tensor([[0, 4], [2, 1]], [1.0, 2.0]).shape == (5, 3)
    assert ebb.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [3.0, 4.0, 5.0]).shape == (2, 3)


def test_bad_parts_are_refused():
    values = ebb.ones(2)
    with pytest.raises(
        IndexError, match="sparse_coo_tensor: indices must be at least 0 and below 3"
    ):
        ebb.sparse_coo_tensor([[0, 3]], values, (3,))
    with pytest.raises(ValueError, match=r"'values' must have shape \[2\], got float32 \[3\]"):
        ebb.sparse_coo_tensor([[0, 1]], ebb.ones(3), (3,))
    with pytest.raises(ValueError, match="col_indices must rise within each row and be below 2"):
        ebb.sparse_csr_tensor([0, 2], [1, 0], values, (1, 2))
    with pytest.raises(ValueError, match="crow_indices must rise from 0 to the number of values"):
        ebb.sparse_csr_tensor([0, 3], [0, 1], values, (1, 2))
    with pytest.raises(IndexError, match="selected_rows: rows must be at least 0 and below 2"):
        ebb.selected_rows([0, 2], ebb.ones(2, 3), (2, 3))
    with pytest.raises(TypeError, match="needs int32 or int64 indices, got float32"):
        ebb.sparse_coo_tensor(ebb.ones(1, 2), values, (3,))


def test_a_sparse_forward_output_has_the_meta_of_its_values_and_backward_runs():
    values = ebb.tensor([3.0, 4.0, 5.0], dtype=F64, requires_grad=True)
    made = ebb.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], values, (2, 3))
    assert made.dtype is values.dtype and made.device == values.device and made.shape == (2, 3)
    assert made.requires_grad and made.grad_fn.name() == "SparseCooBackward"
    (meta,) = made.grad_fn.input_metadata if hasattr(made.grad_fn, "input_metadata") else ((),)
    assert not meta or (meta[0] == (2, 3) and str(meta[2]) == "cpu")
    made.backward(ebb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=F64))
    assert values.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_seed_may_be_sparse():
    values = ebb.tensor([3.0, 4.0, 5.0], requires_grad=True)
    made = ebb.sparse_csr_tensor([0, 1, 3], [1, 0, 2], values, (2, 3))
    made.backward(coo((1.0, 2.0, 7.0)))
    assert values.grad.tolist() == [1.0, 2.0, 7.0]
    same = values.detach().requires_grad_()
    (ebb.sparse_csr_tensor([0, 1, 3], [1, 0, 2], same, (2, 3)) * 2).backward(csr())
    assert same.grad.tolist() == [6.0, 8.0, 10.0]


CONVERSIONS = {
    "to_dense": lambda v: coo_of(v).to_dense(),
    "coalesce": lambda v: coo_of(v).coalesce().to_dense(),
    "values": lambda v: coo_of(v).coalesce().values(),
    "csr": lambda v: coo_of(v).to_sparse_csr().to_dense(),
    "csr values": lambda v: csr_of(v).values(),
    "csr to coo": lambda v: csr_of(v).to_sparse().to_dense(),
    "rows": lambda v: rows_of(v).to_dense(),
    "rows to coo": lambda v: rows_of(v).to_sparse().to_dense(),
    "neg": lambda v: (-coo_of(v)).to_dense(),
    "scaled": lambda v: (coo_of(v) * 3 / 2).to_dense(),
    "by a tensor": lambda v: (coo_of(v) * v.sum()).to_dense(),
    "added": lambda v: (coo_of(v) + coo_of(v * v)).to_dense(),
    "added to dense": lambda v: coo_of(v) + ebb.ones(2, 3, dtype=F64),
    "subtracted": lambda v: ebb.ones(2, 3, dtype=F64) - coo_of(v),
    "rows added": lambda v: (rows_of(v) + rows_of(v * v)).to_dense(),
    "sum": lambda v: (coo_of(v) * coo_of(v).sum()).sum(),
    "clone": lambda v: coo_of(v).clone().to_dense(),
    "to dtype": lambda v: coo_of(v).to(F64).to_dense(),
    "from dense": lambda v: (v * ebb.tensor([1.0, 0.0, 2.0], dtype=F64)).to_sparse().to_dense(),
    "mask": lambda v: (v * v).sparse_mask(ebb.tensor([0.0, 1.0, 1.0]).to_sparse()).to_dense(),
    "sine": lambda v: coo_of(v).sin().to_dense(),
    "square root": lambda v: csr_of(v).sqrt().to_dense(),
    "power": lambda v: (coo_of(v) ** 3).to_dense(),
    "times sparse": lambda v: (coo_of(v) * csr_of(v * v)).to_dense(),
    "times itself": lambda v: (coo_of(v) * coo_of(v)).to_dense(),
    "times dense": lambda v: (coo_of(v) * (v * v).expand(2, 3)).to_dense(),
    "dense times": lambda v: ((v * v).expand(2, 3) * csr_of(v)).to_dense(),
    "transposed": lambda v: coo_of(v * v).t().to_dense(),
    "product": lambda v: (coo_of(v) @ csr_of(v * v).t()).to_dense(),
}  # fmt: skip


def csr_of(values):
    return ebb.sparse_csr_tensor([0, 1, 3], [1, 0, 2], values, (2, 3))


def rows_of(values):
    """A row twice."""
    return ebb.selected_rows([3, 1, 3], values, (4,))


def coo_of(values):
    """A place twice."""
    return ebb.sparse_coo_tensor([[0, 1, 0], [1, 0, 1]], values, (2, 3))


@pytest.mark.parametrize("function", CONVERSIONS.values(), ids=CONVERSIONS)
def test_gradients_of_sparse_ops_are_those_of_finite_differences(function):
    values = ebb.tensor([3.0, 4.0, 5.0], dtype=F64, requires_grad=True)
    assert gradcheck(function, (values,))
    assert ebb.autograd.gradgradcheck(function, (values,))


@pytest.mark.parametrize("function", CONVERSIONS.values(), ids=CONVERSIONS)
def test_tangents_of_sparse_ops_are_those_of_finite_differences(function):
    values, tangent = (ebb.tensor(v, dtype=F64) for v in ([3.0, 4.0, 5.0], [1.0, -2.0, 0.5]))
    with forward_ad.dual_level():
        out = function(forward_ad.make_dual(values, tangent))
        found = forward_ad.unpack_dual(out).tangent
    step = 1e-6
    expected = (function(values + tangent * step) - function(values - tangent * step)) / (2 * step)
    assert ebb.allclose(found.to_dense(), expected, rtol=1e-6, atol=1e-6)


def test_the_gradient_of_a_sparse_leaf_is_masked_by_its_places():
    for make in KINDS.values():
        leaf = make(requires_grad=True)
        assert leaf.is_leaf and leaf.requires_grad
        (leaf.to_dense() * 2).sum().backward()
        assert leaf.grad.layout == leaf.layout and leaf.grad.is_coalesced()
        places = (leaf.detach().to_dense() != 0).float()
        assert leaf.grad.to_dense().tolist() == (places * 2).tolist()
        (leaf * 3).sum().backward()
        assert leaf.grad.to_dense().tolist() == (places * 5).tolist()


def test_sums_of_all_kinds():
    other = ebb.sparse_coo_tensor([[0], [0]], [7.0], (2, 3))
    total = coo() + other
    assert total.is_sparse and total.to_dense().tolist() == [[7.0, 3.0, 0.0], [4.0, 0.0, 5.0]]
    assert (coo() - coo()).to_dense().tolist() == [[0.0] * 3] * 2
    assert (csr() + csr()).is_sparse_csr and (csr() + csr()).values().tolist() == [6.0, 8.0, 10.0]
    assert (csr() + coo()).is_sparse
    for pair in (coo() + ebb.ones(2, 3), ebb.ones(2, 3) + csr()):
        assert pair.is_dense and pair.tolist() == [[1.0, 4.0, 1.0], [5.0, 1.0, 6.0]]
    assert (coo() + coo(dtype=F64)).dtype is F64
    with pytest.raises(ValueError, match=r"add: a sparse operand must have the shape of the other"):
        coo() + ebb.ones(3)


def test_selected_rows_and_selected_rows_merge_and_with_dense_they_are_dense():
    other = ebb.selected_rows([1, 2], ebb.tensor([[5.0, 5.0], [100.0, 100.0]]), (4, 2))
    merged = rows() + other
    assert merged.is_selected_rows and merged.rows.tolist() == [0, 1, 2]
    assert merged.values().tolist() == [[3.0, 4.0], [5.0, 5.0], [111.0, 122.0]]
    for mixed in (rows() + ebb.ones(4, 2), ebb.ones(4, 2) + rows()):
        assert mixed.is_dense and mixed.tolist() == [
            [4.0, 5.0],
            [1.0, 1.0],
            [12.0, 23.0],
            [1.0, 1.0],
        ]


def test_matmul_takes_a_sparse_matrix_on_either_side():
    right, left = ebb.arange(12.0).reshape(3, 4), ebb.arange(8.0).reshape(4, 2)
    for sparse in (coo(), csr()):
        assert (sparse @ right).tolist() == (ebb.tensor(DENSE) @ right).tolist()
        assert (left @ sparse).tolist() == (left @ ebb.tensor(DENSE)).tolist()
        assert (sparse @ right[:, 0]).tolist() == (ebb.tensor(DENSE) @ right[:, 0]).tolist()
    assert (rows() @ right[:2]).tolist() == (ebb.tensor(ROWS) @ right[:2]).tolist()
    assert (left.T @ rows()).tolist() == (left.T @ ebb.tensor(ROWS)).tolist()
    with pytest.raises(
        ValueError, match=r"matmul: inner sizes must agree, got \[2, 3\] and \[4, 2\]"
    ):
        coo() @ left
    with pytest.raises(ValueError, match=r"agree, got \[2, 3\] and \[2, 3\]"):
        coo() @ coo()


def test_gradients_of_matmul_go_to_both_and_keep_the_pattern_of_the_sparse_one():
    values = ebb.tensor([3.0, 4.0, 5.0], dtype=F64, requires_grad=True)
    dense = ebb.randn(3, 2, dtype=F64, requires_grad=True)
    assert gradcheck(lambda v, d: coo_of(v) @ d, (values, dense))
    assert gradcheck(lambda v, d: d.T @ coo_of(v).to_sparse_csr().to_dense().T, (values, dense))
    leaf = csr(requires_grad=True)
    (leaf @ ebb.ones(3, 2)).sum().backward()
    assert leaf.grad.is_sparse_csr
    assert leaf.grad.to_dense().tolist() == [[0.0, 2.0, 0.0], [2.0, 0.0, 2.0]]


def test_a_sparse_tensor_prints_its_parts():
    assert repr(coo()) == (
        "tensor(indices=tensor([[0, 1, 1],\n               [1, 0, 2]]),\n"
        "       values=tensor([3., 4., 5.]),\n"
        "       size=(2, 3), nnz=3, layout=ebb.sparse_coo)"
    )
    assert "crow_indices=tensor([0, 1, 3])" in repr(csr(requires_grad=True))
    assert "requires_grad=True" in repr(csr(requires_grad=True))
    assert "rows=tensor([2, 0, 2])" in repr(rows()) and "layout=ebb.selected_rows" in repr(rows())


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_sparse_tensor_can_be_copied_and_pickled(make):
    leaf = make(requires_grad=True)
    for other in (copy.deepcopy(leaf), pickle.loads(pickle.dumps(leaf))):
        assert other.layout == leaf.layout and other.requires_grad and other is not leaf
        assert other.to_dense().tolist() == leaf.to_dense().tolist()
    assert make().clone().to_dense().tolist() == make().to_dense().tolist()
    assert leaf.detach().layout == leaf.layout and not leaf.detach().requires_grad


def test_a_snapshot_shows_the_bytes_of_a_saved_sparse_tensor():
    dense = ebb.tensor(DENSE, requires_grad=True)
    out = dense.to_sparse().to_dense().sum()
    saved = [one for node in ebb.graph(out).nodes for one in node.saved]
    sparse = [one for one in saved if one.bytes == 3 * 4 + 6 * 8]
    assert sparse and tuple(sparse[0].shape) == (2, 3)


def test_checks_for_nan_look_at_the_stored_values():
    bad = coo((3.0, float("nan"), 5.0))
    with ebb.autograd.check_nan_inf(), pytest.raises(FloatingPointError, match="mul"):
        bad * 2
    values = ebb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with ebb.autograd.check_nan_inf(), ebb.autograd.detect_anomaly():
        coo_of(values).to_dense().sum().backward()
    assert values.grad.tolist() == [1.0, 1.0, 1.0]


def test_hooks_of_a_sparse_result_see_its_gradient():
    seen = []
    values = ebb.tensor([3.0, 4.0, 5.0], requires_grad=True)
    made = ebb.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], values, (2, 3))
    made.register_hook(lambda grad: seen.append(grad) or grad * 2)
    made.retain_grad()
    made.to_dense().sum().backward()
    assert seen[0].is_sparse and made.grad.to_dense().sum().item() == 6.0
    assert values.grad.tolist() == [2.0, 2.0, 2.0]


def test_saved_tensor_hooks_and_checkpoints_take_sparse_tensors():
    packed = []
    dense = ebb.tensor(DENSE, requires_grad=True)
    with ebb.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        out = (dense * 2).to_sparse().to_dense()
    out.sum().backward()
    assert any(one.is_sparse for one in packed)
    assert dense.grad.tolist() == [[0.0, 2.0, 0.0], [2.0, 0.0, 2.0]]


def test_another_dtype_keeps_places_and_history():
    values = ebb.tensor([3.0, 4.0, 5.0], requires_grad=True)
    wide = coo_of(values).to(F64)
    assert wide.is_sparse and wide.dtype is F64
    wide.to_dense().sum().backward()
    assert values.grad.dtype is ebb.float32 and values.grad.tolist() == [1.0, 1.0, 1.0]


def test_spmm_is_mm_and_passes_gradients_to_the_dense_operand():
    dense = ebb.tensor([[1.0], [2.0]], requires_grad=True)
    matrix = ebb.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse()
    ebb.spmm(matrix, dense).sum().backward()
    assert ebb.spmm(matrix, dense).tolist() == [[6.0], [4.0]]
    assert dense.grad.tolist() == [[4.0], [3.0]]


def test_bool_is_true_where_any_of_what_is_stored_at_a_place_is():
    mask = ebb.tensor([[False, True], [True, False]])
    assert mask.to_sparse().indices().tolist() == [[0, 1], [1, 0]]
    assert mask.to_sparse_csr().to_dense().tolist() == mask.tolist()
    places = ebb.zeros(1, 256, dtype=ebb.int64)  # so many sums of 1 would be 0 in eight bits
    many = ebb.sparse_coo_tensor(places, ebb.ones(256, dtype=ebb.bool), (2,))
    assert many.coalesce().values().tolist() == [True] and many.dtype is ebb.bool
    assert many.to_dense().tolist() == [True, False]
    none = ebb.sparse_coo_tensor([[0, 0]], [False, False], (2,))
    assert none.coalesce().values().tolist() == [False]
    assert (mask.to_sparse() + mask.to_sparse()).to_dense().tolist() == mask.tolist()
    assert mask.to_sparse().float().to_dense().tolist() == [[0.0, 1.0], [1.0, 0.0]]
