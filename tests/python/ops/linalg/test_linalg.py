# tests/python/ops/linalg/test_linalg.py -- linear algebra: what the generated rows cannot say.
import math

import numpy as np
import pytest

import ebb
from tests.cases import by_op, each_of
from tests.python.ops.op_rows import (
    Array,
    call as call_row,
    draw_matrices,
    load_rows,
    make_arguments,
)

DTYPES = ("float32", "float64", "complex64", "complex128")


def matrices(*shape, dtype="float64", kind="full_rank", seed=0):
    values = draw_matrices(np.random.default_rng(seed), shape, dtype, kind)
    return ebb.tensor(values).to(getattr(ebb, dtype))


def close(left, right, tolerance=1e-9):
    return bool(((left - right).abs() <= tolerance).all())


def test_a_singular_matrix_is_told_with_its_entry_and_the_way_out():
    batch = ebb.eye(3).repeat(2, 4, 1, 1)
    batch[1, 2] = 0
    for call in (ebb.linalg.inv, ebb.inverse, batch.inverse, lambda x: ebb.linalg.solve(x, x)):
        given = () if call == batch.inverse else (batch,)
        with pytest.raises(ebb.linalg.LinAlgError, match=r"at entry \[1, 2\] of the batch\nhint: "):
            call(*given)
    assert issubclass(ebb.linalg.LinAlgError, (ValueError, RuntimeError))
    with pytest.raises(ValueError, match=r"^linalg\.cholesky: needs Hermitian .* order 2 is not"):
        ebb.linalg.cholesky(ebb.tensor([[1.0, 2.0], [2.0, 1.0]]))


def test_the_ex_forms_tell_by_info_and_give_nan():
    batch = ebb.stack([ebb.eye(2), ebb.ones(2, 2)])
    inverse, info = ebb.linalg.inv_ex(batch)
    assert info.tolist() == [0, 2] and info.dtype is ebb.int32
    assert inverse[0].tolist() == [[1, 0], [0, 1]] and bool(inverse[1].isnan().all())
    solution, info = ebb.linalg.solve_ex(batch, ebb.ones(2, 2))
    assert info.tolist() == [0, 2] and bool(solution[1].isnan().all())
    assert ebb.linalg.cholesky_ex(-batch).info.tolist() == [1, 1]
    with pytest.raises(ebb.linalg.LinAlgError, match=r"entry \[1\]"):
        ebb.linalg.inv_ex(batch, check_errors=True)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_factors_solve_for_either_side_and_the_adjoint(dtype, left, adjoint):
    A, B = matrices(2, 3, 3, dtype=dtype), matrices(4, 2, 3, 3, dtype=dtype, seed=1)

    def solve(one, other):
        factors = ebb.linalg.lu_factor(one)
        return ebb.linalg.lu_solve(*factors, other, left=left, adjoint=adjoint)

    X, M = solve(A, B), A.mH if adjoint else A
    assert close(M @ X if left else X @ M, B)
    assert close(A @ B.lu_solve(*ebb.linalg.lu_factor(A)), B)
    inputs = [A.requires_grad_(), B.requires_grad_()]
    assert ebb.autograd.gradcheck(solve, inputs, fast_mode=True)
    assert ebb.autograd.gradgradcheck(solve, inputs, fast_mode=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_bitwise_the_same_for_any_number_of_threads(dtype):
    A, B = matrices(64, 24, 24, dtype=dtype), matrices(64, 24, 5, dtype=dtype, seed=1)
    calls = [
        lambda: ebb.linalg.solve(A, B), lambda: ebb.linalg.inv(A), lambda: ebb.linalg.det(A),
        lambda: ebb.linalg.cholesky(A @ A.mH + 24 * ebb.eye(24)),
        lambda: ebb.linalg.solve_triangular(A + 24 * ebb.eye(24), B, upper=True),
        lambda: ebb.linalg.qr(A).Q, lambda: ebb.linalg.eigh(A + A.mH).eigenvectors,
        lambda: ebb.linalg.svd(A).Vh, lambda: ebb.linalg.eig(A).eigenvectors,
        lambda: ebb.linalg.svdvals(A), lambda: ebb.linalg.eigvals(A),
    ]  # fmt: skip
    for call in calls:
        results = []
        for threads in (1, 2, 4):
            ebb.set_num_threads(threads)
            results.append(call().numpy().tobytes())
        assert len(set(results)) == 1


def test_eigenvalues_have_a_derivative_where_they_coincide():
    A = ebb.eye(3, dtype=ebb.float64).requires_grad_()
    ebb.linalg.eigvalsh(A).sum().backward()
    assert close(A.grad, ebb.eye(3, dtype=ebb.float64))
    vectors = ebb.linalg.eigh(A).eigenvectors
    with pytest.raises(ebb.linalg.LinAlgError, match=r"^linalg\.eigh: .* values that differ"):
        vectors.sum().backward()
    B = ebb.eye(4, 3, dtype=ebb.float64).requires_grad_()
    ebb.linalg.svdvals(B).sum().backward()
    assert close(B.grad, ebb.eye(4, 3, dtype=ebb.float64))


def test_vectors_apart_from_coinciding_ones_have_a_derivative():
    turned = ebb.linalg.qr(matrices(4, 4)).Q
    A = turned @ ebb.diag(ebb.tensor([1.0, 1.0, 1.0, 3.0], dtype=ebb.float64)) @ turned.mH

    def projector(x):
        top = ebb.linalg.eigh((x + x.mH) / 2).eigenvectors[:, -1:]
        return top @ top.mH

    assert ebb.autograd.gradcheck(projector, [A.requires_grad_()], atol=1e-5)


@pytest.mark.parametrize("half", ["L", "U"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_gradient_through_eigenvectors_is_hermitian(dtype, half):
    A = matrices(4, 4, dtype=dtype)
    A = (A + A.mH).requires_grad_()
    weight = ebb.arange(16.0).reshape(4, 4).double()

    def shares(x):  # of each element in each vector, whatever the phase of that
        vectors = ebb.linalg.eigh(x, UPLO=half).eigenvectors
        return (vectors.abs().square() * weight.sin()).sum()

    (grad,) = ebb.autograd.grad(shares(A), A)
    assert close(grad, grad.mH) and grad.abs().max() > 0.01
    assert ebb.autograd.gradcheck(lambda x: shares((x + x.mH) / 2), [A])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_factors_give_the_matrix_back(dtype):
    for shape in ((3, 3), (2, 5, 3), (2, 3, 5)):
        A = matrices(*shape, dtype=dtype)
        U, S, Vh = ebb.linalg.svd(A, full_matrices=False)
        assert close((U * S.unsqueeze(-2).to(A.dtype)) @ Vh, A)
        Q, R = ebb.linalg.qr(A, "complete")
        assert close(Q @ R, A) and close(Q.mH @ Q, ebb.eye(shape[-2], dtype=A.dtype))
        assert close(ebb.linalg.qr(A, "r").R.abs(), ebb.linalg.qr(A).R.abs())
    A = matrices(2, 4, 4, dtype=dtype)
    values, vectors = ebb.linalg.eig(A)
    assert close(A.to(ebb.complex128) @ vectors, vectors * values.unsqueeze(-2))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lu_gives_a_permutation_and_two_triangles(dtype):
    for shape in ((3, 3), (2, 5, 3), (2, 3, 5)):
        A = matrices(*shape, dtype=dtype)
        P, L, U = ebb.linalg.lu(A)
        assert close(P @ L @ U, A) and close(P.mT @ P, ebb.eye(shape[-2], dtype=A.dtype))
        again = ebb.lu_unpack(*ebb.linalg.lu_factor_ex(A)[:2])
        assert all(close(one, other) for one, other in zip(again, (P, L, U), strict=True))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lstsq_is_that_of_numpy(dtype):
    for shape in ((3, 3), (5, 3), (3, 5)):
        A, B = matrices(*shape, dtype=dtype), matrices(shape[0], 2, dtype=dtype, seed=1)
        found = ebb.linalg.lstsq(A, B, driver="gelsd")
        X, residuals, rank, values = np.linalg.lstsq(A.numpy(), B.numpy(), rcond=None)
        assert np.allclose(found.solution.numpy(), X)
        assert np.allclose(found.residuals.numpy(), residuals) and found.rank.item() == rank
        assert np.allclose(found.singular_values.numpy(), values)
        solve = lambda *given: ebb.linalg.lstsq(*given).solution  # noqa: E731
        inputs = [A.requires_grad_(), B.requires_grad_()]
        assert ebb.autograd.gradcheck(solve, inputs, fast_mode=True)
        assert ebb.autograd.gradgradcheck(solve, inputs, fast_mode=True)
    singular = ebb.ones(3, 3, dtype=ebb.float64)
    assert close(ebb.linalg.lstsq(singular, ebb.ones(3, dtype=ebb.float64)).solution, 1 / 3)


def test_norms_of_singular_values_are_those_of_numpy():
    A = matrices(2, 4, 3)
    for order in (2, -2, "nuc"):
        wanted = np.linalg.norm(A.numpy(), order, axis=(-2, -1))
        assert np.allclose(ebb.linalg.matrix_norm(A, order).numpy(), wanted)
        kept = ebb.linalg.matrix_norm(A, order, (0, 2), keepdim=True)
        wanted = np.linalg.norm(A.numpy(), order, axis=(0, 2), keepdims=True)
        assert np.allclose(kept.numpy(), wanted) and tuple(kept.shape) == wanted.shape
    B = matrices(2, 3, 3)
    for order in (None, 1, -1, 2, -2, "fro", "nuc", ebb.inf, -ebb.inf):
        wanted = np.linalg.cond(B.numpy(), order)
        assert np.allclose(ebb.linalg.cond(B, order).numpy(), wanted)
    assert ebb.linalg.cond(ebb.zeros(2, 2), 1).item() == ebb.inf


def test_tensors_are_solved_and_inverted_as_matrices():
    A = matrices(6, 6).reshape(2, 3, 6)
    B = matrices(2, 3)
    assert np.allclose(ebb.linalg.tensorinv(A).numpy(), np.linalg.tensorinv(A.numpy()))
    assert np.allclose(
        ebb.linalg.tensorsolve(A, B).numpy(), np.linalg.tensorsolve(A.numpy(), B.numpy())
    )
    moved = A.movedim(2, 0)
    wanted = np.linalg.tensorsolve(moved.numpy(), B.numpy(), axes=(0,))
    assert np.allclose(ebb.linalg.tensorsolve(moved, B, dims=(0,)).numpy(), wanted)
    with pytest.raises(ebb.ShapeError, match="tensorinv: the first 1 dims need as many elements"):
        ebb.linalg.tensorinv(ebb.ones(2, 3), 1)
    assert ebb.linalg.vander(ebb.tensor([2, 3]), 3).tolist() == [[1, 2, 4], [1, 3, 9]]


def test_the_exponential_of_large_matrices_is_squared_together():
    A = matrices(3, 3, kind="hermitian") * 5
    values, vectors = np.linalg.eigh(A.numpy())
    wanted = (vectors * np.exp(values)) @ vectors.T
    assert np.allclose(ebb.linalg.matrix_exp(A).numpy(), wanted, rtol=1e-9)
    turn = ebb.tensor([[0.0, -40.0], [40.0, 0.0]], dtype=ebb.float64)
    assert np.allclose(ebb.linalg.matrix_exp(turn)[0, 0].item(), np.cos(40.0))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_determinant_of_0_has_a_derivative(dtype):
    A = matrices(2, 3, 3, dtype=dtype)
    A[1, 2] = A[1, 0]  # two equal rows: the determinant of the second is exactly 0
    assert ebb.linalg.det(A)[1].item() == 0
    A.requires_grad_()
    assert ebb.autograd.gradcheck(ebb.linalg.det, [A])
    with pytest.raises(NotImplementedError, match=r"linalg\.det: a second derivative"):
        ebb.autograd.grad(ebb.linalg.det(A).abs().sum(), A, create_graph=True)
    zero = ebb.zeros(1, 1, requires_grad=True)
    ebb.linalg.det(zero).backward()
    assert zero.grad.item() == 1


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_reflections_make_the_orthonormal_factor(dtype):
    A = matrices(5, 3, dtype=dtype)
    turned, tau = np.linalg.qr(A.numpy(), "raw")
    reflections, tau = ebb.tensor(turned.T.copy()), ebb.tensor(tau)
    found = ebb.linalg.householder_product(reflections, tau)
    assert np.allclose(found.numpy(), np.linalg.qr(A.numpy())[0])
    with pytest.raises(ebb.ShapeError, match="A needs at least as many rows as columns"):
        ebb.linalg.householder_product(reflections.mT, tau)


def test_a_large_matrix_beside_a_small_one_takes_no_digits_of_its_exponential():
    batch = ebb.zeros(3, 2, 2, dtype=ebb.float64)
    batch[0, 0, 0], batch[2] = 600.0, math.nan
    batch[1] = ebb.tensor([[0.0, 1.0], [-1.0, 0.0]])
    batch.requires_grad_()
    found = ebb.linalg.matrix_exp(batch)
    assert found[1, 0, 1].item() == pytest.approx(math.sin(1), abs=1e-15)
    assert found[0].tolist() == [[pytest.approx(math.exp(600), rel=1e-10), 0], [0, 1]]
    alone = batch[1].detach().requires_grad_()
    (own,) = ebb.autograd.grad(ebb.linalg.matrix_exp(alone).sum(), alone)
    (grad,) = ebb.autograd.grad(found.sum(), batch)
    assert ebb.equal(grad[1], own) and grad[2].isnan().all()


def test_the_power_0_of_any_matrix_is_the_identity():
    A = ebb.tensor([[math.nan, math.inf], [1.0, 2.0]], requires_grad=True)
    power = ebb.linalg.matrix_power(A, 0)
    assert power.tolist() == [[1, 0], [0, 1]]
    assert ebb.autograd.grad(power.sum(), A)[0].tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix_with_nan_is_not_positive_definite(dtype):
    for row, column, order in ((0, 0, 1), (1, 0, 2), (2, 2, 3)):
        batch = matrices(2, 3, 3, dtype=dtype, kind="positive_definite")
        batch[1, row, column] = math.nan
        assert ebb.linalg.cholesky_ex(batch).info.tolist() == [0, order]
        with pytest.raises(
            ebb.linalg.LinAlgError, match=f"minor of order {order} is not .*\\[1\\]"
        ):
            ebb.linalg.cholesky(batch)


# What each driver tells beside the solution: residuals, rank, singular values.
DRIVERS = {
    None: (0, 1, 0),
    "gelsy": (0, 1, 0),
    "gels": (1, 0, 0),
    "gelsd": (1, 1, 1),
    "gelss": (1, 1, 1),
}


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_lstsq_tells_depends_on_the_driver_as_in_pytorch(driver):
    A, B = matrices(4, 2), matrices(4, 3, seed=1)
    found = ebb.linalg.lstsq(A, B, driver=driver)
    assert ebb.allclose(found.solution, ebb.linalg.pinv(A) @ B)
    told = (
        found.residuals.shape == (3,),
        found.rank.shape == (),
        found.singular_values.shape == (2,),
    )
    assert told == DRIVERS[driver]
    empty = [one for one in found[1:] if one.shape == (0,)]
    assert len(empty) == 3 - sum(told)
    with pytest.raises(ValueError, match=r"^linalg\.lstsq: driver needs gels, gelsy, .* got 'qr'"):
        ebb.linalg.lstsq(A, B, driver="qr")


def test_lstsq_takes_a_matrix_of_fewer_dims_for_one_of_all():
    A = ebb.tensor([[[1.0]], [[2.0]], [[4.0]]])
    assert ebb.linalg.lstsq(A, ebb.ones(1, 1)).solution.tolist() == [[[1.0]], [[0.5]], [[0.25]]]
    assert ebb.linalg.lstsq(A, ebb.ones(3, 1)).solution.shape == (3, 1)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 3, 4)])
def test_svd_without_vectors_gives_square_zeros(shape):
    U, S, V = ebb.svd(matrices(*shape), compute_uv=False)
    assert U.shape == (*shape[:-1], shape[-2]) and V.shape == (*shape[:-2], shape[-1], shape[-1])
    assert not U.any() and not V.any() and ebb.allclose(S, ebb.linalg.svdvals(matrices(*shape)))


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3), (3, 0)])
def test_norms_and_conditions_of_nothing_are_0(shape):
    A = ebb.zeros(shape, dtype=ebb.complex64)
    for order in ("fro", "nuc", 1, 2, ebb.inf):
        assert not ebb.linalg.matrix_norm(A, order).any()
        assert ebb.linalg.matrix_norm(A, order, keepdim=True).shape == (*shape[:-2], 1, 1)
    for order in (None, 1, -1, 2, -2, ebb.inf):
        found = ebb.linalg.cond(A, order)
        assert found.shape == shape[:-2] and found.dtype == ebb.float32 and not found.any()


SCALES = (1.0, 1e6, 1e-6)  # of the matrices of a batch


def is_of_matrices(row, case):
    """Whether a batch may stand in front of each tensor of a call."""
    shapes = [one.shape for one in case.arguments.values() if isinstance(one, Array)]
    fronts = {one[:-2] for one in shapes}
    return len(fronts) == 1 and all(len(one) > 1 and 0 not in one for one in shapes)


OF_MATRICES = [
    (row, case, dtype)
    for row in load_rows()
    if "inputs" in row.test and row.matrices
    for case in row.cases()
    if is_of_matrices(row, case)
    for dtype in ("float32", "complex128")
    if dtype in row.dtypes
]


def results_of(row, arguments):
    results = call_row(row, arguments)
    return [one.detach() for one in (results if isinstance(results, tuple | list) else [results])]


@each_of(OF_MATRICES, by_op)
def test_each_matrix_of_a_batch_is_computed_as_if_alone(row, case, dtype):
    alone = []
    for seed, scale in enumerate(SCALES):
        drawn = make_arguments(row, case, dtype, seed=seed)
        for name in row.matrices:
            drawn[name] = drawn[name] * scale
        alone.append(drawn)
    together = {
        name: ebb.stack([one[name] for one in alone]) if isinstance(value, ebb.Tensor) else value
        for name, value in alone[0].items()
    }
    found = results_of(row, together)
    for place, arguments in enumerate(alone):
        for whole, own in zip(found, results_of(row, arguments), strict=True):
            assert np.array_equal(whole[place].numpy(), own.numpy(), equal_nan=True), place
