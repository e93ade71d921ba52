# tests/python/func/test_vmap.py -- vmap: as batched ops and loops give it, and what it refuses.
import operator
import typing

import numpy as np
import pytest

import ebb
from ebb import func

A = ebb.tensor(np.random.default_rng(0).standard_normal((4, 3, 2)))
B = ebb.tensor(np.random.default_rng(1).standard_normal((4, 2, 5)))


def same(got, wanted):
    np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("out", [0, 1, 2, -1])
def test_samples_lie_along_any_dim(dim, out):
    moved = A.movedim(0, dim)
    got = func.vmap(lambda x: x * x, in_dims=dim, out_dims=out)(moved)
    same(got, (A * A).movedim(0, out))


def test_batched_products_are_those_of_the_batch():
    same(func.vmap(ebb.mm)(A, B), ebb.bmm(A, B))
    same(func.vmap(ebb.mm, in_dims=(0, None))(A, B[0]), A @ B[0])
    inner = func.vmap(ebb.dot, in_dims=(None, 1))
    same(func.vmap(inner, in_dims=(0, None))(A[0], B[0]), A[0] @ B[0])  # nested


def test_gradients_of_each_sample():
    net = ebb.nn.Sequential(ebb.nn.Linear(3, 4), ebb.nn.Tanh(), ebb.nn.Linear(4, 2)).double()
    x, y = ebb.tensor(np.random.default_rng(2).standard_normal((5, 3))), ebb.arange(5) % 2
    weights = {name: one.detach() for name, one in net.named_parameters()}

    def loss(weights, x, y):
        out = func.functional_call(net, weights, (x[None],))
        return ebb.nn.functional.cross_entropy(out, y[None])

    got = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    for sample in range(5):
        net.zero_grad()
        ebb.nn.functional.cross_entropy(
            net(x[sample : sample + 1]), y[sample : sample + 1]
        ).backward()
        for name, one in net.named_parameters():
            same(got[name][sample], one.grad)


def test_it_nests_with_all_derivatives():
    f = lambda x: (x**3).sum()  # noqa: E731
    x = A[:, :, 0]
    same(func.vmap(func.hessian(f))(x), ebb.diag_embed(6 * x))
    same(func.vmap(func.jacrev(lambda one: one**2))(x), ebb.diag_embed(2 * x))
    same(func.vmap(lambda v: func.jvp(lambda one: one**2, (x[0],), (v,))[1])(x), 2 * x[0] * x)
    same(func.grad(lambda x: func.vmap(f)(x).sum())(x), 3 * x**2)
    leaf = x.clone().requires_grad_()
    func.vmap(f)(leaf).sum().backward()
    same(leaf.grad, 3 * x**2)


def test_containers_go_in_and_come_out():
    def both(tree, scale, *, shift):
        return {"sum": tree["a"] + tree["b"][0], "two": (tree["a"] * scale, tree["b"][0] + shift)}

    tree = {"a": A, "b": [B.movedim(0, 2)[0, 0]]}
    got = func.vmap(both, in_dims=({"a": 0, "b": [0]}, None))(tree, 2.0, shift=ebb.ones(4).double())
    assert got["sum"].shape == (4, 3, 2) and isinstance(got["two"], tuple)
    same(got["two"][0], 2 * A)
    first, second = func.vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(A)
    same(first, A.movedim(0, 1))
    same(second, A.sum((1, 2)))


def test_a_result_that_all_samples_share_has_no_dim():
    got = func.vmap(lambda x, y: y * 2, in_dims=(0, None), out_dims=None)(A, B)
    same(got, B * 2)
    with pytest.raises(ebb.errors.ValueError, match="the same for all samples where 'out_dims'"):
        func.vmap(lambda x: x, out_dims=None)(A)


def test_draws_are_allowed_by_name():
    with pytest.raises(ebb.errors.ValueError, match="draws no random numbers, got one that does"):
        func.vmap(lambda x: x + ebb.rand(2))(A)
    ebb.manual_seed(5)
    wanted = ebb.stack([ebb.rand(2) for _ in range(4)])
    ebb.manual_seed(5)
    same(func.vmap(lambda x: ebb.rand(2), randomness="different")(A), wanted)
    ebb.manual_seed(5)
    same(func.vmap(lambda x: ebb.rand(2), randomness="same")(A), wanted[:1].expand(4, 2))


@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_samples_and_chunks(count):
    same(func.vmap(ebb.sum, chunk_size=2)(A[:count]), A[:count].sum((1, 2)))
    assert ebb.vmap(ebb.sum)(A).shape == (4,)


WRONG = [
    (lambda: func.vmap(ebb.add)(A, B[:3]), r"one number of samples, got numbers \[3, 4\]"),
    (lambda: func.vmap(ebb.add, in_dims=None)(A, B), "one number of samples, got none with"),
    (lambda: func.vmap(ebb.sum)(A[:0]), "at least one sample, got none"),
    (lambda: func.vmap(ebb.add, in_dims=(0,))(A, B), "one entry per argument, got 1 for 2"),
    (lambda: func.vmap(ebb.add)(A, 2.0), "a Tensor for in_dim 0, got float\nhint: give None"),
    (lambda: func.vmap(ebb.sum, in_dims=3)(A), r"with dim 3 for 'in_dims', got \[4, 3, 2\]"),
    (lambda: func.vmap(ebb.sum, in_dims="x")(A), "'in_dims' of numbers and None, got 'x'"),
    (lambda: func.vmap(len, in_dims=([0],))([A, A]), "with 2 entries for a container, got 1"),
    (lambda: func.vmap(lambda x: 3)(A), "a 'func' that returns tensors, got int"),
    (lambda: func.vmap(ebb.sum, out_dims=1)(A), "'out_dims' from -1 to 0, got 1"),
    (lambda: func.vmap(lambda x: (x, x), out_dims=(0, 0, 0))(A), "per result, got 3 for 2"),
    (lambda: func.vmap(ebb.sum, out_dims="x")(A), "'out_dims' of numbers and None, got 'x'"),
    (lambda: func.vmap(lambda x: x[x > 0])(A), "results of one shape for all samples"),
    (lambda: func.vmap(ebb.sum, randomness="no"), "error, different or same, got 'no'"),
    (lambda: func.vmap(ebb.sum, chunk_size=0), "'chunk_size' of at least 1, got 0"),
    (lambda: func.vmap({}.get, in_dims=({"a": 0},))({"b": A}), "with the keys of its argument"),
]


@pytest.mark.parametrize(("call", "problem"), WRONG, ids=[problem for _, problem in WRONG])
def test_wrong_calls_are_named(call, problem):
    with pytest.raises((ebb.errors.ValueError, TypeError, ebb.errors.ShapeError), match=problem):
        call()


class Square(ebb.autograd.Function):
    """Sample by sample: it says nothing of batches."""

    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        assert x.shape == (3,)
        return x**power

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0], None


class BatchSquare(ebb.autograd.Function):
    """Says how a batch is computed."""

    calls: typing.ClassVar = []

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]

    @staticmethod
    def vmap(info, in_dims, x):
        BatchSquare.calls.append((info.batch_size, in_dims, x.shape))
        return BatchSquare.apply(x).movedim(0, 1), 1


def test_functions_of_users_are_differentiated_sample_by_sample():
    x = A[:, :, 0]
    same(func.vmap(func.grad(lambda one: Square.apply(one, 2).sum()))(x), 2 * x)


def test_functions_of_users_may_take_the_batch():
    x = A[:, :, 0]
    BatchSquare.calls.clear()
    same(func.vmap(func.grad(lambda one: BatchSquare.apply(one).sum()))(x), 2 * x)
    assert BatchSquare.calls == [(4, (0,), (4, 3))]


@pytest.mark.parametrize(
    "ask",
    [float, int, bool, len, *map(operator.methodcaller, ["item", "tolist", "numpy"])],
    ids=str,
)
def test_the_value_of_a_sample_is_refused_by_name(ask):
    wanted = (
        r"len: needs a tensor with dims" if ask is len else r"needs one value, got a tensor under"
    )
    with pytest.raises((ebb.AutogradError, TypeError), match=wanted):
        func.vmap(lambda one: one * ask(one.sum()))(A)


def test_what_all_samples_share_is_not_written_with_one():
    total = ebb.zeros(3, 2, dtype=ebb.float64)
    with pytest.raises(
        ebb.AutogradError, match="add_: a tensor of all samples must not be written"
    ):
        func.vmap(lambda one: total.add_(one))(A)
    with pytest.raises(ebb.AutogradError, match="__setitem__: a tensor of all samples"):
        func.vmap(lambda one: operator.setitem(total, 0, one[0]) or total)(A)
    assert total.abs().max() == 0


def test_writes_to_a_tensor_of_samples_are_seen():
    def step(one):
        made = ebb.zeros_like(one)
        made[0] = one[1]
        made[1:].add_(one[1:] * 2)
        return made

    wanted = ebb.cat([A[:, 1:2], A[:, 1:] * 2], 1)
    same(func.vmap(step)(A), wanted)


def test_each_sample_indexes_what_all_share():
    table, places = A[0], ebb.tensor([[0, 2], [1, 1], [2, 0]])
    same(func.vmap(lambda at: table[at])(places), table[places])
    same(func.vmap(lambda at: table[at, 1])(places), table[places, 1])


def test_numbers_of_samples_promote_as_tensors_without_dims():
    scale = ebb.ones(4, dtype=ebb.float64)
    got = func.vmap(lambda x, s: x * s)(ebb.ones(4, 3), scale)
    assert got.dtype == ebb.float32


def test_a_failed_call_ends_its_level():
    with pytest.raises(ZeroDivisionError):
        func.vmap(lambda x: 1 / 0)(A)
    assert func.grad(lambda x: (x * x).sum())(A[0]).shape == (3, 2)
