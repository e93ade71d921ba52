# tests/python/ops/linalg/test_ldl.py -- LDL factors, which are told by what they multiply to and
# solve.
import pytest

import ebb
from ebb.autograd import gradcheck, gradgradcheck

KINDS = [(ebb.float64, False), (ebb.complex128, False), (ebb.complex128, True)]


def matrices(dtype, hermitian, *batch):
    """Return matrices whose diagonals are too small for blocks of one row alone."""
    A = ebb.randn(*batch, 6, 6, dtype=dtype)
    A = A + (A.mH if hermitian else A.mT)
    return A * (1 - 0.999 * ebb.eye(6, dtype=ebb.float64))


@pytest.mark.parametrize(("dtype", "hermitian"), KINDS)
def test_factors_solve_what_they_were_made_of(dtype, hermitian):
    A, B = matrices(dtype, hermitian, 3), ebb.randn(2, 1, 6, 4, dtype=dtype)
    LD, pivots = ebb.linalg.ldl_factor(A, hermitian=hermitian)
    assert (pivots < 0).any() and pivots.dtype == ebb.int32
    assert (LD.triu(1) == 0).all()
    X = ebb.linalg.ldl_solve(LD, pivots, B, hermitian=hermitian)
    assert X.shape == (2, 3, 6, 4) and ebb.allclose(A @ X, B.expand(2, 3, 6, 4))
    again = ebb.linalg.ldl_factor(A.tril(), hermitian=hermitian)[0]
    assert ebb.equal(LD, again)  # the other triangle is not read


@pytest.mark.parametrize(("dtype", "hermitian"), KINDS)
def test_solutions_have_derivatives_by_the_right_side(dtype, hermitian):
    LD, pivots = ebb.linalg.ldl_factor(matrices(dtype, hermitian), hermitian=hermitian)
    B = ebb.randn(6, 2, dtype=dtype, requires_grad=True)

    def solve(right):
        return ebb.linalg.ldl_solve(LD, pivots, right, hermitian=hermitian)

    assert gradcheck(solve, (B,), check_forward_ad=True)
    assert gradgradcheck(solve, (B,))


def test_a_singular_matrix_is_told_by_info():
    info = ebb.linalg.ldl_factor_ex(ebb.stack([ebb.eye(2), ebb.zeros(2, 2)]))[2]
    assert info.tolist() == [0, 1]
    with pytest.raises(
        ebb.linalg.LinAlgError, match="element 1 of the diagonal of D is 0 at entry"
    ):
        ebb.linalg.ldl_factor(ebb.stack([ebb.eye(2), ebb.zeros(2, 2)]))


@pytest.mark.parametrize("pivots", [[1, 3], [0, 1], [1, -2], [-1, -2], [-1, 2]])
def test_pivots_that_lead_nowhere_are_refused(pivots):
    with pytest.raises(ebb.linalg.LinAlgError, match="needs pivots that name rows"):
        ebb.linalg.ldl_solve(ebb.eye(2), ebb.tensor(pivots).int(), ebb.ones(2, 1))


@pytest.mark.parametrize("factor", [ebb.linalg.ldl_factor, ebb.linalg.ldl_factor_ex])
def test_derivatives_of_factors_are_refused(factor):
    A = ebb.eye(3).requires_grad_()
    name = r"linalg\.ldl_factor_ex: the derivative to `A` is not implemented"
    with pytest.raises(ebb.errors.NotImplementedError, match=name):
        ebb.autograd.grad(factor(A)[0].sum() + A.sum(), A)
    LD, pivots = ebb.linalg.ldl_factor(A.detach())
    X = ebb.linalg.ldl_solve(LD.requires_grad_(), pivots, ebb.ones(3, 1))
    with pytest.raises(ebb.errors.NotImplementedError, match=r"^linalg\.ldl_solve: .* `LD` is not"):
        X.sum().backward()
