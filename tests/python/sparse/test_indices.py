# tests/python/sparse/test_indices.py -- indices of sparse tensors that are none, or that are
# written later: by whoever gave them, or through what indices() returns.
import pytest

import ebb

EMPTY = ebb.empty(0, dtype=ebb.int64)


def test_a_csr_matrix_without_row_starts_is_refused():
    with pytest.raises(ValueError, match="a number per row and one more, got none"):
        ebb.sparse_csr_tensor(EMPTY, EMPTY, ebb.empty(0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ebb.sparse_csr_tensor(EMPTY, EMPTY, ebb.empty(0), (-1, 3)),
        lambda: ebb.sparse_coo_tensor(EMPTY.reshape(2, 0), ebb.empty(0), (3, -1)),
        lambda: ebb.selected_rows(EMPTY, ebb.empty(0, 3), (-1, 3)),
    ],
    ids=["csr", "coo", "rows"],
)
def test_negative_sizes_are_refused(make):
    with pytest.raises(ValueError, match="sizes must be at least 0, got"):
        make()


def test_a_sparse_tensor_keeps_its_indices_when_those_given_are_written():
    starts, columns, places = (
        ebb.tensor([0, 1, 2]),
        ebb.tensor([1, 0]),
        ebb.tensor([[0, 1], [1, 0]]),
    )
    csr = ebb.sparse_csr_tensor(starts, columns, ebb.ones(2))
    coo = ebb.sparse_coo_tensor(places, ebb.ones(2), (2, 2))
    rows = ebb.selected_rows(columns, ebb.ones(2, 2), (2, 2))
    for given in (starts, columns, places):
        given.fill_(77)
    assert csr.to_dense().tolist() == coo.to_dense().tolist() == [[0, 1], [1, 0]]
    assert rows.to_dense().tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("wrong", [-1, 7, 1 << 62, -(1 << 63)])
@pytest.mark.parametrize("name", ["crow_indices", "col_indices", "indices"])
def test_what_is_written_to_its_own_indices_ends_in_a_typed_error(name, wrong):
    csr = ebb.sparse_csr_tensor([0, 1, 2], [1, 0], ebb.ones(2))
    made = csr if name != "indices" else csr.to_sparse()
    getattr(made, name)().fill_(wrong)
    uses = [made.to_dense, lambda: made @ ebb.ones(2, 3), lambda: (made + made).to_dense()]
    for use in uses:
        with pytest.raises((ebb.errors.ValueError, ebb.errors.IndexError)):
            use()


def test_row_starts_that_fall_end_in_a_result_or_a_typed_error():
    made = ebb.sparse_csr_tensor([0, 1, 2], [1, 0], ebb.ones(2))
    made.crow_indices().copy_(ebb.tensor([2, 1, 0]))
    assert made.to_dense().shape == (2, 2)


def test_a_0d_tensor_can_be_sparse():
    x = ebb.tensor(3.0, requires_grad=True)
    made = x.to_sparse()
    assert made.shape == () and made.nnz == 1 and made.indices().shape == (0, 1)
    made.to_dense().backward()
    assert x.grad.item() == 1
    assert ebb.tensor(0.0).to_sparse().nnz == 0
    assert (made + made).to_dense().item() == 6
