# tests/python/ops/linalg/test_lowrank.py -- a few vectors of large matrices against all of them,
# and the old names of linear algebra.
import pytest

import ebb
from ebb.autograd import gradcheck, gradgradcheck

DTYPES = [ebb.float64, ebb.complex128]


def of_rank(rank, rows, columns, dtype):
    return ebb.randn(rows, rank, dtype=dtype) @ ebb.randn(rank, columns, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_svd_lowrank_gives_back_a_matrix_of_low_rank(dtype, shape):
    A = of_rank(4, *shape, dtype)
    U, S, V = ebb.svd_lowrank(A, 6)
    assert U.shape == (shape[0], 6) and V.shape == (shape[1], 6) and S.dtype == ebb.float64
    assert ebb.allclose((U * S) @ V.mH, A)
    shifted = ebb.svd_lowrank(A + 2, 6, M=ebb.full(shape, 2.0, dtype=dtype))
    assert ebb.allclose(shifted[1][:4], S[:4])


def test_pca_lowrank_takes_the_means_off():
    A = of_rank(3, 40, 8, ebb.float64) + ebb.arange(8.0)
    U, S, V = ebb.pca_lowrank(A, 5)
    assert ebb.allclose((U * S) @ V.mT, A - A.mean(0))
    assert ebb.pca_lowrank(A)[1].shape == (6,) and ebb.pca_lowrank(A[:4])[1].shape == (4,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("has_B", [True, False])
def test_lobpcg_finds_the_extreme_eigenvalues(dtype, largest, has_B):  # noqa: N803
    A = ebb.randn(2, 30, 30, dtype=dtype)
    A = A @ A.mH + ebb.eye(30, dtype=dtype)
    B = ebb.eye(30, dtype=dtype) * ebb.linspace(1, 2, 30, dtype=ebb.float64) if has_B else None
    E, X = ebb.lobpcg(A, 3, B=B, n=5, largest=largest, tol=1e-10)
    assert E.shape == (2, 3) and X.shape == (2, 30, 3)
    BX = X if B is None else B @ X
    assert ebb.allclose(A @ X, BX * E.unsqueeze(-2), atol=1e-5)
    root = 1 if B is None else 1 / B.diagonal().real.sqrt()
    all_of_them = ebb.linalg.eigvalsh(A * root * (1 if B is None else root[:, None]))
    assert ebb.allclose(E, all_of_them.flip(-1)[:, :3] if largest else all_of_them[:, :3])


def test_lobpcg_takes_a_start_and_a_preconditioner():
    A = ebb.diag(ebb.arange(1.0, 41.0).double())
    start = ebb.randn(40, 2, dtype=ebb.float64)
    E, _ = ebb.lobpcg(A, X=start, iK=ebb.linalg.inv(A), largest=False)
    assert ebb.allclose(E, ebb.tensor([1.0, 2.0], dtype=ebb.float64))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg_has_the_derivatives_of_eigh(dtype, largest):
    A = ebb.randn(2, 9, 9, dtype=dtype)
    A = (A + A.mH).requires_grad_()
    B = ebb.randn(9, 9, dtype=dtype)
    B = (B @ B.mH + 9 * ebb.eye(9, dtype=dtype)).requires_grad_()
    start = ebb.randn(9, 3, dtype=dtype)

    def few(A, B=None):  # noqa: N803
        E, X = ebb.lobpcg(A, 2, B=B, X=start, tol=1e-12, niter=200, largest=largest)
        return E, X.abs()

    for inputs in ((A,), (A, B)):
        assert gradcheck(few, inputs, check_forward_ad=True, fast_mode=True)
        assert gradgradcheck(few, inputs, fast_mode=True)


def test_lobpcg_finds_the_same_pairs_whether_or_not_a_derivative_is_asked_for():
    A = ebb.randn(12, 12, dtype=ebb.float64)
    A, start = A + A.mT, ebb.randn(12, 3, dtype=ebb.float64)
    plain = ebb.lobpcg(A, X=start, tol=1e-12)
    followed = ebb.lobpcg(A.requires_grad_(), X=start, tol=1e-12)
    assert followed[1].requires_grad and not plain[1].requires_grad
    assert all(ebb.allclose(one, other) for one, other in zip(plain, followed, strict=True))


def test_lobpcg_of_a_batch_is_that_of_each_matrix():
    A, start = ebb.randn(3, 9, 9), ebb.randn(9, 2)
    A = (A + A.mT) * ebb.tensor([1.0, 1e6, 1e-3])[:, None, None]
    values, vectors = ebb.lobpcg(A, X=start)
    for place, matrix in enumerate(A):
        alone = ebb.lobpcg(matrix, X=start)
        assert ebb.equal(values[place], alone[0]) and ebb.equal(vectors[place], alone[1])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ebb.svd_lowrank(ebb.ones(3)), "svd_lowrank: A needs at least 2 dims, got [3]"),
        (lambda: ebb.svd_lowrank(ebb.ones(3, 2), 3), "svd_lowrank: needs q from 0 to 2 and niter"),
        (lambda: ebb.lobpcg(ebb.ones(3, 2)), "lobpcg: A needs square matrices, got [3, 2]"),
        (
            lambda: ebb.lobpcg(ebb.eye(5), 2),
            "lobpcg: needs k of at least 1, n of at least k and 3 n",
        ),
        (
            lambda: ebb.lobpcg(ebb.eye(5), method="x"),
            "lobpcg: method needs basic or ortho, got 'x'",
        ),
    ],
)
def test_bad_calls_say_what_they_need(call, text):
    with pytest.raises(ebb.errors.Error) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_old_names_do_what_the_new_ones_do():
    A = ebb.randn(4, 4)
    assert ebb.equal(ebb.lu(A)[0], ebb.linalg.lu_factor(A)[0]) and len(A.lu(get_infos=True)) == 3
    # Of float32 numbers whose products cancel: some units of the largest.
    assert ebb.allclose(ebb.chain_matmul(A, A, A), A @ A @ A, atol=1e-5)
    assert ebb.chain_matmul(A) is A
    assert ebb.allclose(ebb.linalg.pinv(A, rcond=0.5), ebb.linalg.pinv(A, rtol=0.5))
    assert ebb.bilinear(ebb.ones(2, 3), ebb.ones(2, 4), ebb.ones(5, 3, 4)).shape == (2, 5)


def test_cond_calls_one_of_two_functions():
    x = ebb.tensor(2.0, requires_grad=True)
    made = ebb.cond(x > 1, lambda x: x * x, lambda x: -x, (x,))
    made.backward()
    assert x.grad.item() == 4 and ebb.cond(False, lambda: 1, lambda: 2) == 2
    with pytest.raises(ebb.errors.ValueError, match="cond: pred needs one element"):
        ebb.cond(ebb.ones(2) > 0, lambda: 1, lambda: 2)


def test_roots_and_polar_factors_have_derivatives_where_eigenvalues_coincide():
    A = ebb.eye(3, dtype=ebb.float64).requires_grad_()

    def symmetric_root(matrix):
        return ebb.linalg.matrix_sqrth((matrix + matrix.mT) / 2)

    assert gradcheck(symmetric_root, (A,), check_forward_ad=True)
    assert gradcheck(ebb.linalg.polar, (A,), check_forward_ad=True)
