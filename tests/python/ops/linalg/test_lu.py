# tests/python/ops/linalg/test_lu.py -- LU factors and what they solve, at the sizes where work is
# cut.
#
# Columns are factored by 16, panels of 64 and strips of 96 follow, vectors hold up to 16 numbers,
# tiles have up to 12 rows: sizes beside these numbers, and all results against NumPy's.
import numpy as np
import pytest

import ebb

DTYPES = ("float32", "float64", "complex64", "complex128")
SIZES = (1, 2, 5, 7, 8, 13, 15, 16, 17, 31, 33, 63, 64, 65, 79, 129, 161, 257)


def draw(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def error_of(found, wanted):
    """Return the largest difference, in units of the dtype's epsilon of the largest number."""
    epsilon = np.finfo(found.dtype).eps * max(1.0, np.abs(wanted).max(initial=0))
    return np.abs(found - wanted).max(initial=0) / epsilon


def plain_lu(matrix):
    """Return factors and pivots by elimination, row by row."""
    A = matrix.copy()
    pivots = []
    for k in range(min(A.shape)):
        sizes = np.abs(A[k:, k].real) + np.abs(A[k:, k].imag)
        pivots.append(k + int(np.argmax(sizes)) + 1)
        A[[k, pivots[-1] - 1]] = A[[pivots[-1] - 1, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A, pivots


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_factors_and_pivots_are_those_of_elimination(dtype):
    shapes = [(n, n) for n in SIZES] + [(40, 131), (131, 40), (1, 9), (9, 1), (64, 65), (200, 90)]
    for shape in shapes:
        A = draw(*shape, dtype=dtype)
        factors, pivots = ebb.linalg.lu_factor(ebb.tensor(A))
        wanted, places = plain_lu(A)
        assert pivots.tolist() == places and pivots.dtype is ebb.int32
        assert error_of(factors.numpy(), wanted) < 2000


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_factors_of_single_precision_give_the_matrix_back(dtype):
    for n in SIZES:
        A = draw(n, n, dtype=dtype)
        P, L, U = (one.numpy() for one in ebb.linalg.lu(ebb.tensor(A)))
        assert error_of(P @ L @ U, A) < 8 + n


def test_of_equal_pivots_the_first_is_taken():
    for n in (3, 16, 40, 100):
        A = np.ones((n, n)) - 2 * np.eye(n)
        signed = A * np.where(np.arange(n) % 3 == 0, 1, -1)[:, None]
        for matrix in (A, signed, signed * 1j):
            assert ebb.linalg.lu_factor(ebb.tensor(matrix)).pivots[0].item() == 1
    column = np.zeros((70, 1))
    column[[33, 34, 50, 69], 0] = -1, 2, -2, 2
    assert ebb.linalg.lu_factor(ebb.tensor(column)).pivots.tolist() == [35]


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems_and_inverses_of_all_sizes_are_those_of_numpy(dtype):
    for n in SIZES:
        A = draw(n, n, dtype=dtype) + (2 * np.sqrt(n) * np.eye(n)).astype(dtype)
        inverse = ebb.linalg.inv(ebb.tensor(A)).numpy()
        assert error_of(inverse @ A, np.eye(n)) < 100 + 2 * n
        for columns in (1, 2, 3, 9, 17, 100):
            B = draw(n, columns, dtype=dtype, seed=1)
            X = ebb.linalg.solve(ebb.tensor(A), ebb.tensor(B)).numpy()
            assert error_of(A @ X, B) < 100 + 2 * n
        sign, size = np.linalg.slogdet(A.astype("complex128" if A.dtype.kind == "c" else "float64"))
        found = ebb.linalg.slogdet(ebb.tensor(A))
        assert error_of(found.sign.numpy(), sign) < 100 + 2 * n
        assert error_of(found.logabsdet.numpy(), size) < 100


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("left", [True, False])
def test_triangles_of_all_sizes_are_solved_on_either_side(dtype, upper, left):
    for n in SIZES:
        A = draw(n, n, dtype=dtype) / n + 2 * np.eye(n, dtype=dtype)
        for columns in (1, 3, 16, 101):
            B = draw(*((n, columns) if left else (columns, n)), dtype=dtype, seed=1)
            for ones in (True, False):
                X = ebb.linalg.solve_triangular(
                    ebb.tensor(A), ebb.tensor(B), upper=upper, left=left, unitriangular=ones
                ).numpy()
                triangle = np.triu(A) if upper else np.tril(A)
                if ones:
                    np.fill_diagonal(triangle, 1)
                assert error_of(triangle @ X if left else X @ triangle, B) < 60


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_matrices_give_the_same_bits_on_any_number_of_threads(dtype):
    A, B = ebb.tensor(draw(2, 270, 270, dtype=dtype)), ebb.tensor(draw(2, 270, 200, dtype=dtype))
    calls = [
        lambda: ebb.linalg.lu_factor(A[0]).LU, lambda: ebb.linalg.lu_factor(A).LU,
        lambda: ebb.linalg.inv(A[0]), lambda: ebb.linalg.solve(A[0], B[0]),
        lambda: ebb.linalg.solve_triangular(A[0] + 270 * ebb.eye(270), B[0], upper=False),
        lambda: ebb.linalg.slogdet(A).logabsdet,
    ]  # fmt: skip
    for call in calls:
        results = []
        for threads in (1, 2, 3, 8):
            ebb.set_num_threads(threads)
            results.append(call().numpy().tobytes())
        assert len(set(results)) == 1
    assert ebb.equal(ebb.linalg.lu_factor(A).LU[1], ebb.linalg.lu_factor(A[1]).LU)


def test_views_are_taken_as_they_lie():
    whole = ebb.tensor(draw(2, 80, 160))
    for A in (
        whole[:, :, :80].mT,
        whole[:, :, ::2],
        whole[:, :, 80:],
        whole[:1, :, 7:87].expand(3, 80, 80),
    ):
        same = A.clone()
        B = ebb.tensor(draw(80, 160))[:, ::2]
        assert ebb.equal(ebb.linalg.lu_factor(A).LU, ebb.linalg.lu_factor(same).LU)
        assert ebb.equal(ebb.linalg.inv(A), ebb.linalg.inv(same))
        assert ebb.equal(ebb.linalg.solve(A, B), ebb.linalg.solve(same, B.clone()))
        assert ebb.equal(A, same)  # what is read is left alone
        one = A[0]
        kept = one.clone()
        ebb.linalg.solve_triangular(one, B, upper=True)
        assert ebb.equal(one, kept)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix_with_two_equal_rows_is_singular(dtype):
    for n in (3, 7, 16):
        A = draw(n, n, dtype=dtype)
        A[n - 1] = A[n // 2]
        assert ebb.linalg.inv_ex(ebb.tensor(A)).info.item() == n
        assert ebb.linalg.det(ebb.tensor(A)).item() == 0


def test_info_names_the_first_pivot_that_is_0():
    for place in (0, 7, 16, 63, 64, 99, 129):
        A = np.triu(draw(130, 130)) + 10 * np.eye(130)
        A[place, place] = 0
        A[129, 129] = 0
        found = ebb.linalg.lu_factor_ex(ebb.tensor(A))
        assert found.info.item() == place + 1
        assert found.pivots.tolist() == list(range(1, 131)) and ebb.equal(found.LU, ebb.tensor(A))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_near_the_ends_of_the_range_are_solved(dtype):
    limits = np.finfo(dtype)
    A = draw(20, 20, dtype=dtype)
    B = draw(20, 2, dtype=dtype, seed=1)
    wanted = np.linalg.solve(A, B)
    for scale in (limits.max / 512, limits.tiny * 512):
        scale = 2.0 ** np.floor(np.log2(float(scale)))  # exact, so that the pivots stay the same
        scaled = (A * limits.dtype.type(scale)).astype(dtype)
        assert ebb.equal(
            ebb.linalg.lu_factor(ebb.tensor(scaled)).pivots,
            ebb.linalg.lu_factor(ebb.tensor(A)).pivots,
        )
        X = ebb.linalg.solve(
            ebb.tensor(scaled), ebb.tensor((B * limits.dtype.type(scale)).astype(dtype))
        )
        assert error_of(X.numpy(), wanted) < 2000


def test_nan_spreads_and_neither_it_nor_infinity_is_an_error():
    for row, column in ((0, 0), (5, 3), (40, 70), (99, 99)):
        A = draw(100, 100)
        A[row, column] = np.inf
        assert ebb.linalg.inv_ex(ebb.tensor(A)).info.item() == 0
        A[row, column] = np.nan
        matrix = ebb.tensor(A)
        assert ebb.linalg.inv(matrix).isnan().any()
        assert ebb.linalg.solve(matrix, ebb.ones(100, dtype=ebb.float64)).isnan().any()
        assert ebb.linalg.det(matrix).isnan()
    stays = ebb.linalg.lu_factor_ex(ebb.tensor([[np.nan, 1.0], [2.0, 1.0]]))
    assert stays.pivots.tolist() == [1, 2] and stays.info.item() == 0
    passed = ebb.linalg.lu_factor_ex(ebb.tensor([[1.0, 1.0], [np.nan, 1.0]]))
    assert passed.pivots.tolist() == [1, 2] and passed.LU[0].tolist() == [1, 1]


def test_results_lie_row_by_row():
    A = ebb.tensor(draw(3, 5, 5))
    for one in (ebb.linalg.inv(A), ebb.linalg.solve(A, A), ebb.linalg.lu_factor(A).LU):
        assert one.is_contiguous()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [4, 5, 8, 19])
def test_batches_of_small_matrices_are_factored_as_each_alone(dtype, count):
    for n in (1, 2, 3, 7, 8, 15, 16, 17):
        A = draw(count, n, n, dtype=dtype)
        A[1, n // 2] = A[1, 0]  # singular from two rows on
        A[2, n - 1, 0] = np.nan
        A[3] = 0
        together = ebb.linalg.lu_factor_ex(ebb.tensor(A))
        for i in range(count):
            alone = ebb.linalg.lu_factor_ex(ebb.tensor(A[i]))
            assert np.array_equal(together.LU[i].numpy(), alone.LU.numpy(), equal_nan=True)
            assert together.pivots[i].tolist() == alone.pivots.tolist()
            assert together.info[i].item() == alone.info.item()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [0, 1, 2, 16, 17])
def test_batches_of_small_systems_are_solved(dtype, columns):
    for n in (1, 2, 3, 8, 15, 16, 17):
        A = draw(21, n, n, dtype=dtype) + (2 * np.sqrt(n) * np.eye(n)).astype(dtype)
        B = draw(21, n, columns, dtype=dtype, seed=1)
        A[5] = 0
        X, info = ebb.linalg.solve_ex(ebb.tensor(A), ebb.tensor(B))
        assert info.tolist() == [0] * 5 + [1] + [0] * 15 and bool(X[5].isnan().all())
        A[5], X = np.eye(n), X.numpy()
        X[5] = B[5]
        assert error_of(A @ X, B) < 100
