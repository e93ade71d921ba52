# tests/python/func/test_transform_places.py -- transforms where they meet modes, memory, checkpoint
# and each other's other forms.
import pytest

import ebb
from ebb import func
from ebb.autograd import forward_ad, functional
from ebb.utils.checkpoint import checkpoint

X = ebb.tensor([1.0, 2.0, 3.0], dtype=ebb.float64)
ONES = ebb.ones(3, dtype=ebb.float64)


def cubes(x):
    return (x**3).sum()


def test_a_gradient_penalty_over_a_module_reaches_its_parameters():
    layer = ebb.nn.Linear(2, 1, bias=False)
    x = ebb.tensor([1.0, 2.0])
    slope = func.grad(lambda y: layer(y).sum())(x)
    slope.pow(2).sum().backward()
    assert layer.weight.grad.equal(2 * layer.weight)


@pytest.mark.parametrize("make", [ebb.tensor, lambda x: ebb.tensor(x) * 1])
def test_derivatives_in_inference_mode_are_those_outside(make):
    with ebb.inference_mode():
        x = make([1.0, 2.0])
        assert func.grad(cubes)(x).tolist() == [3.0, 12.0]
        assert func.hessian(cubes)(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
        assert func.vmap(func.grad(lambda t: t**3))(x).tolist() == [3.0, 12.0]
        assert func.vjp(lambda t: t**3, x)[1](x)[0].tolist() == [3.0, 24.0]
        assert functional.jacobian(cubes, x).tolist() == [3.0, 12.0]


def test_no_grad_around_a_gradient_cuts_what_is_outside_of_it_only():
    def f(x):
        with ebb.no_grad():
            slope = func.grad(cubes)(x)
        return (slope * x).sum()

    assert func.grad(f)(X).equal(3 * X**2)


def test_jacobians_have_the_structure_of_results_and_arguments():
    net = ebb.nn.Sequential(ebb.nn.Linear(3, 2), ebb.nn.Tanh()).double()
    params = {name: one.detach() for name, one in net.named_parameters()}
    run = lambda p: {"y": func.functional_call(net, p, X), "z": p["0.bias"] ** 2}  # noqa: E731
    rows, columns = func.jacrev(run)(params), func.jacfwd(run)(params)
    assert rows["y"]["0.weight"].shape == (2, 2, 3)
    assert rows["z"]["0.bias"].equal(2 * params["0.bias"].diag())
    assert all(rows[y][p].allclose(columns[y][p]) for y in rows for p in params)


def test_linearize_draws_the_numbers_of_its_first_run():
    value, push = func.linearize(lambda x: x * ebb.rand(3, dtype=ebb.float64), X)
    after = ebb.get_rng_state()
    assert push(X).equal(value) and ebb.get_rng_state().equal(after)


def test_linearize_refuses_primals_that_were_written_to():
    x = X.clone()
    _, push = func.linearize(cubes, x)
    x.add_(1.0)
    with pytest.raises(ebb.Error, match="linearize: needs primals as they were"):
        push(ONES)


def test_columns_of_different_random_numbers_are_refused():
    f = lambda x: x * ebb.rand(3, dtype=ebb.float64)  # noqa: E731
    with pytest.raises(ValueError, match="jacfwd: needs a 'func' that draws no random numbers"):
        func.jacfwd(f)(X)
    same = func.jacfwd(f, randomness="same")(X)
    assert same.equal(same.diagonal().diag())


def test_hooks_of_saved_tensors_keep_their_tangents():
    hooks = ebb.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t)
    with hooks:
        found = func.jvp(func.grad(cubes), (X,), (ONES,))[1]
    assert found.equal(6 * X)


# Memory.


def test_a_part_of_memory_is_one_of_each_sample():
    x = ebb.arange(6.0).reshape(2, 3)
    part = lambda t: ebb.as_strided(t, (2,), (1,), 1)  # noqa: E731
    assert func.vmap(part)(x).equal(x[:, 1:])
    assert func.vmap(lambda t: t.as_strided((2,), (3,)), in_dims=1)(x).equal(x.t())
    assert func.vmap(func.grad(lambda t: (part(t) ** 2).sum()))(x).equal(2 * x * (x % 3 > 0))
    scattered = func.vmap(lambda t: ebb.as_strided_scatter(t, ebb.ones(2), (2,), (1,), 1))(x)
    assert scattered.tolist() == [[0.0, 1.0, 1.0], [3.0, 1.0, 1.0]]


def test_a_write_to_a_part_of_memory_is_seen_by_its_sample():
    def f(t):
        t = t * 1
        t.as_strided((2,), (1,), 0).fill_(9.0)
        return t

    assert func.vmap(f)(ebb.arange(6.0).reshape(2, 3)).tolist() == [[9, 9, 2], [9, 9, 5]]


def test_a_part_of_memory_behind_a_sample_is_refused():
    with pytest.raises(ValueError, match="the memory of one sample under vmap, elements 0 to 2"):
        func.vmap(lambda t: t.as_strided((4,), (1,)))(ebb.ones(2, 3))


def test_a_tangent_of_a_part_of_repeated_memory_is_that_of_the_place():
    x, t, s = ebb.tensor([2.0]), ebb.tensor([1.0]), ebb.tensor([4.0])
    read = lambda x: x.expand(5).as_strided((2,), (0,), 0)  # noqa: E731
    assert func.jvp(read, (x,), (t,))[1].tolist() == [1.0, 1.0]
    write = lambda x, y: x.expand(5).as_strided_scatter(y, (1,), (1,), 0)  # noqa: E731
    value, tangent = func.jvp(write, (x, 3 * t), (t, s))
    assert value.tolist() == [3.0] * 5 and tangent.tolist() == [4.0] * 5


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.resize_(2), lambda t: t.resize_as_(ebb.ones(2)), lambda t: t.unsqueeze_(0),
        lambda t: t.set_(ebb.ones(3)), lambda t: t.as_strided_((2,), (1,)),
    ],
)  # fmt: skip
def test_a_sample_gets_no_other_memory_or_sizes(write):
    with pytest.raises(NotImplementedError, match="_: gives its tensor other memory or sizes"):
        func.vmap(lambda t: write(t * 1))(ebb.ones(2, 3))


@pytest.mark.parametrize("name", ["T", "H", "mT", "mH"])
@pytest.mark.parametrize("shape", [(2,), (2, 3), (2, 3, 2)])
def test_turned_samples_are_the_turned_tensors(name, shape):
    x = ebb.randn(*shape, dtype=ebb.complex64)
    try:
        wanted = ebb.stack([getattr(one, name) for one in x])
    except ValueError:
        with pytest.raises(ValueError, match=f"{name}: needs"):
            func.vmap(lambda t: getattr(t, name))(x)
    else:
        assert func.vmap(lambda t: getattr(t, name))(x).equal(wanted)


# Other forms of derivatives, within vmap.


def test_grad_within_vmap_takes_a_pass_for_each_sample_of_the_seeds():
    x = ebb.tensor([1.0, 2.0], requires_grad=True)
    y = x**2
    rows = func.vmap(lambda v: ebb.autograd.grad(y, x, v, retain_graph=True)[0])(ebb.eye(2))
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_grad_within_vmap_by_what_all_samples_share_is_refused():
    x = ebb.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="got inputs that all samples share"):
        func.vmap(lambda t: ebb.autograd.grad((t * x).sum(), x)[0])(ebb.eye(2))


@pytest.mark.parametrize(
    ("call", "other"),
    [
        (lambda t: functional.jacobian(cubes, t), "jacrev"),
        (lambda t: functional.hessian(cubes, t), "hessian"),
        (lambda t: functional.hvp(cubes, t, t)[1], "jvp"),
        (lambda t: functional.vjp(lambda z: z, t, t)[1], "vjp"),
        (lambda t: functional.jvp(lambda z: z, t, t)[1], "jvp"),
        (lambda t: forward_ad.make_dual(t, t), "jvp"),
    ],
)
def test_forms_that_would_see_all_samples_at_once_name_the_one_that_does_not(call, other):
    with pytest.raises(NotImplementedError, match=f"hint: use ebb.func.{other}"):
        func.vmap(call)(ebb.stack([X, 2 * X]))


# Checkpoints.


def test_a_checkpoint_within_vmap_is_of_each_sample():
    w = ebb.tensor(2.0, dtype=ebb.float64, requires_grad=True)
    f = lambda x: (x * w).sum() * x.sin()  # noqa: E731
    batch = ebb.stack([X, 2 * X])
    found = ebb.autograd.grad(func.vmap(lambda x: checkpoint(f, x))(batch).sum(), w)
    wanted = ebb.autograd.grad(func.vmap(f)(batch).sum(), w)
    assert found[0].equal(wanted[0])


def test_a_checkpointed_call_is_repeated_with_arguments_of_the_same_class():
    class Tagged(ebb.Tensor):
        pass

    seen = []

    def f(x, weight):
        seen.append((type(x), type(weight)))
        return (x * weight).sin()

    x = ebb.ones(2).as_subclass(Tagged)
    checkpoint(f, x, weight=ebb.nn.Parameter(ebb.ones(2))).sum().backward()
    assert seen == [(Tagged, ebb.nn.Parameter)] * 2
