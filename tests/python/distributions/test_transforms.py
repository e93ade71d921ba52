# tests/python/distributions/test_transforms.py -- transforms: inverses, derivatives, shapes, and
# which of them lead to a constraint.
import math

import numpy as np
import pytest

import ebb
from ebb import distributions as D
from ebb.distributions import biject_to, constraints, transform_to

T = D.transforms


def numbers(*shape):
    """Return a tensor of numbers around 0, the same each time."""
    values = np.random.default_rng(4).normal(size=shape)
    return ebb.tensor(values)


# Each with an event that it takes.
CASES = {
    "exp": (T.ExpTransform(), numbers()),
    "power": (T.PowerTransform(2.5), numbers().exp()),
    "falling power": (T.PowerTransform(-0.5), numbers().exp()),
    "sigmoid": (T.SigmoidTransform(), numbers()),
    "softplus": (T.SoftplusTransform(), numbers()),
    "tanh": (T.TanhTransform(), numbers()),
    "affine": (T.AffineTransform(1.0, -2.5), numbers()),
    "affine tensors": (T.AffineTransform(numbers(3), numbers(3) + 3, event_dim=1), numbers(3)),
    "cdf": (T.CumulativeDistributionTransform(D.Cauchy(0.5, 2.0)), numbers()),
    "reshape": (T.ReshapeTransform([2, 3], [6]), numbers(2, 3)),
    "stick breaking": (T.StickBreakingTransform(), numbers(4)),
    "correlation": (T.CorrCholeskyTransform(), numbers(6)),
    "none": (T.identity_transform, numbers()),
    "composed": (T.ComposeTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)]), numbers()),
    "composed events": (
        T.ComposeTransform([T.AffineTransform(0.5, 2.0), T.StickBreakingTransform()]),
        numbers(3),
    ),
    "independent": (T.IndependentTransform(T.ExpTransform(), 1), numbers(3)),
    "inverse": (T.TanhTransform().inv, numbers().tanh()),
    "cat": (T.CatTransform([T.ExpTransform(), T.TanhTransform()], -1, [2, 1]), numbers(3)),
    "stack": (T.StackTransform([T.ExpTransform(), T.SigmoidTransform()], -1), numbers(2)),
}
each = pytest.mark.parametrize("name", CASES)


@each
def test_the_inverse_leads_back(name):
    transform, x = CASES[name]
    y = transform(x)
    assert transform.domain.check(x).all() and transform.codomain.check(y).all()
    np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), rtol=1e-9)
    assert transform.bijective and transform.inv.inv is transform
    assert (
        transform.forward_shape(x.shape) == y.shape and transform.inverse_shape(y.shape) == x.shape
    )
    assert "Transform" in repr(transform)


@each
def test_the_derivative_is_that_of_the_map(name):
    transform, x = CASES[name]
    free = transform(x).numel()

    def independent_part(flat):
        y = transform(flat.reshape(x.shape))
        if name == "stick breaking" or name == "composed events":
            return y[..., :-1].reshape(-1)  # the last follows from the others
        if name == "correlation":
            return D.utils.tril_matrix_to_vec(y, -1)
        return y.reshape(-1)

    jacobian = ebb.autograd.functional.jacobian(independent_part, x.reshape(-1))
    sign, expected = np.linalg.slogdet(jacobian.numpy())
    found = transform.log_abs_det_jacobian(x, transform(x))
    assert found.shape == (() if name not in ("cat", "stack") else (free,))
    np.testing.assert_allclose(found.sum().item(), expected, rtol=1e-8, atol=1e-12)
    if x.ndim == 0:
        assert transform.sign == sign
    back = transform.inv.log_abs_det_jacobian(transform(x), x)
    np.testing.assert_allclose(back.numpy(), -found.numpy(), rtol=1e-8)


@each
def test_a_batch_is_mapped_event_by_event(name):
    transform, x = CASES[name]
    batch = ebb.stack([x, x * 0.9, x * 0.8]).unsqueeze(1)
    if name in ("cat", "stack"):
        return  # their dim is one of the batch
    y = transform(batch)
    sizes = transform.log_abs_det_jacobian(batch, y)
    assert sizes.shape == (3, 1)
    for i in range(3):
        assert ebb.allclose(y[i, 0], transform(batch[i, 0]))
        one = transform.log_abs_det_jacobian(batch[i, 0], y[i, 0])
        assert ebb.allclose(sizes[i, 0], one)


def test_transforms_that_are_not_bijective_have_some_inverse():
    x = numbers(2, 3)
    for transform, y in (
        (T.AbsTransform(), x.abs()),
        (T.SoftmaxTransform(), ebb.softmax(x, -1)),
        (T.LowerCholeskyTransform(), None),
    ):
        if y is None:
            x = numbers(3, 3)
            y = transform(x)
            assert constraints.lower_cholesky.check(y)
        assert not transform.bijective and ebb.allclose(transform(transform.inv(y)), y)
        with pytest.raises(NotImplementedError, match=f"{type(transform).__name__} has none"):
            transform.log_abs_det_jacobian(x, y)


def test_a_cache_gives_back_what_a_call_was_made_with():
    x = ebb.tensor([30.0, 50.0])  # tanh of it is 1
    plain, cached = T.TanhTransform(), T.TanhTransform(cache_size=1)
    assert plain.inv(plain(x)).tolist() == [math.inf] * 2
    y = cached(x)
    assert cached.inv(y) is x and cached(x) is y
    assert plain.with_cache().inv(plain.with_cache()(x)).tolist() == [math.inf] * 2  # another one
    with pytest.raises(ValueError, match="TanhTransform: cache_size must be 0 or 1, got 2"):
        T.TanhTransform(cache_size=2)


def test_transforms_are_equal_if_their_parameters_are():
    assert T.AffineTransform(0.0, 2.0) == T.AffineTransform(0.0, 2.0)
    assert T.AffineTransform(0.0, 2.0) != T.AffineTransform(0.0, 3.0)
    assert T.ExpTransform() == T.ExpTransform() != T.SigmoidTransform()
    assert T.ComposeTransform([T.ExpTransform()]) == T.ComposeTransform([T.ExpTransform()])
    assert T.ExpTransform().inv == T.ExpTransform().inv != T.ExpTransform()
    assert len({T.ExpTransform(), T.ExpTransform()}) == 1


CONSTRAINTS = [
    (constraints.real, (3,)),
    (constraints.positive, (3,)),
    (constraints.greater_than(2.0), (3,)),
    (constraints.greater_than_eq(-1.0), (3,)),
    (constraints.less_than(-1.5), (3,)),
    (constraints.unit_interval, (3,)),
    (constraints.interval(-2.0, 3.0), (3,)),
    (constraints.half_open_interval(-2.0, 3.0), (3,)),
    (constraints.simplex, (3,)),
    (constraints.corr_cholesky, (3,)),
    (constraints.lower_cholesky, (3, 3)),
    (constraints.positive_definite, (3, 3)),
    (constraints.real_vector, (3,)),
    (constraints.independent(constraints.positive, 1), (3,)),
    (constraints.cat([constraints.positive, constraints.less_than(0.0)], -1, [2, 1]), (3,)),
    (constraints.stack([constraints.positive, constraints.real], -1), (2,)),
]


@pytest.mark.parametrize("constraint, shape", CONSTRAINTS, ids=lambda one: str(one)[:30])
@pytest.mark.parametrize("registry", [biject_to, transform_to], ids=["biject", "transform"])
def test_every_constraint_is_reached_from_all_numbers(registry, constraint, shape):
    transform = registry(constraint)
    x = numbers(5, *shape)
    y = transform(x)
    assert constraint.check(y).all() and ebb.isfinite(y).all()
    assert ebb.allclose(transform(transform.inv(y)), y)


def test_programs_register_constraints_of_their_own():
    class Even(constraints.Constraint):
        pass

    with pytest.raises(NotImplementedError, match=r"no transform is registered for Even\(\)"):
        biject_to(Even())
    biject_to.register(Even, lambda constraint: T.AffineTransform(0.0, 2.0))
    assert biject_to(Even())(ebb.tensor(3.0)) == 6
    with pytest.raises(TypeError, match="needs a constraint, got int"):
        biject_to(3)
    with pytest.raises(TypeError, match="register: needs a constraint or its class, got 3"):
        transform_to.register(3, lambda constraint: None)


def test_operands_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"need as many elements, got \[2, 3\] and \[5\]"):
        T.ReshapeTransform([2, 3], [5])
    with pytest.raises(ValueError, match=r"ReshapeTransform: needs events of \[2, 3\], got \[3\]"):
        T.ReshapeTransform([2, 3], [6])(ebb.ones(3))
    with pytest.raises(ValueError, match="IndependentTransform: needs at least 2 dims"):
        T.IndependentTransform(T.ExpTransform(), 2)(ebb.ones(3))
    with pytest.raises(ValueError, match="CorrCholeskyTransform: 4 numbers fill no triangle"):
        T.CorrCholeskyTransform().forward_shape([4])
