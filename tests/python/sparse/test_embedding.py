# tests/python/sparse/test_embedding.py -- embeddings with sparse gradients: what they are,
# how they add up, who sees them, and the optimizers that update their rows only.
import math

import pytest

import ebb
from ebb import nn
from ebb.nn import functional as F

INDICES = ebb.tensor([[1, 3], [3, 0]])


def table(sparse=True, **options):
    layer = nn.Embedding(5, 2, sparse=sparse, **options)
    with ebb.no_grad():
        layer.weight.copy_(ebb.arange(10.0).reshape(5, 2))
    return layer


def gradients(function):
    """The gradient of the weight with and without sparse, after the same program."""
    found = []
    for sparse in (True, False):
        layer = table(sparse)
        function(layer)
        found.append(layer.weight.grad)
    return found


def test_the_gradient_of_a_sparse_embedding_stores_the_rows_that_were_looked_up():
    layer = table()
    out = layer(INDICES)
    assert out.is_dense and out.tolist() == table(False)(INDICES).tolist()
    (out * out).sum().backward()
    grad = layer.weight.grad
    assert grad.layout == "selected_rows" and grad.shape == (5, 2) and grad.dtype is ebb.float32
    assert grad.rows.tolist() == [1, 3, 3, 0] and not grad.is_coalesced()
    sparse, dense = gradients(lambda one: (one(INDICES) ** 2).sum().backward())
    assert sparse.to_dense().tolist() == dense.tolist()
    assert repr(layer) == "Embedding(5, 2, sparse=True)"


def test_the_row_of_padding_gets_no_gradient():
    weight = ebb.ones(5, 2, requires_grad=True)
    F.embedding(INDICES, weight, padding_idx=3, sparse=True).sum().backward()
    assert weight.grad.rows.tolist() == [1, 0]


def test_sparse_and_dense_gradients_accumulate_in_any_order():
    def sparse_part(layer):
        layer(INDICES).sum().backward()

    def dense_part(layer):
        (layer.weight * 3).sum().backward()

    orders = {
        (sparse_part, sparse_part): "selected_rows", (sparse_part, dense_part): "strided",
        (dense_part, sparse_part): "strided", (dense_part, dense_part): "strided",
        (sparse_part, dense_part, sparse_part): "strided",
    }  # fmt: skip
    for order, layout in orders.items():
        found, expected = gradients(lambda one, order=order: [part(one) for part in order])
        assert found.layout == layout and found.to_dense().tolist() == expected.tolist()


def test_one_run_adds_sparse_and_dense_gradients_of_one_weight():
    def tied(layer):
        (layer(INDICES).sum() + (layer.weight**2).sum() + layer(INDICES[0]).sum()).backward()

    found, expected = gradients(tied)
    assert found.is_dense and found.tolist() == expected.tolist()
    found, expected = gradients(lambda one: (one(INDICES).sum() + one(INDICES[0]).sum()).backward())
    assert found.is_selected_rows and found.to_dense().tolist() == expected.tolist()


def test_a_gradient_that_was_kept_is_not_changed_by_the_next():
    layer = table()
    layer(INDICES).sum().backward()
    first = layer.weight.grad
    before = first.to_dense().tolist()
    layer(INDICES).sum().backward()
    assert first.to_dense().tolist() == before
    assert layer.weight.grad.to_dense().tolist() == [[2 * n for n in row] for row in before]


def test_hooks_see_it_grad_returns_it_and_a_dense_leaf_takes_it():
    layer, seen = table(), []
    layer.weight.register_hook(lambda grad: seen.append(grad.layout) or grad * 2)
    layer.weight.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.layout))
    layer(INDICES).sum().backward()
    assert seen == ["selected_rows"] * 2 and layer.weight.grad.to_dense()[3].tolist() == [4.0, 4.0]
    other = table()
    (grad,) = ebb.autograd.grad(other(INDICES).sum(), other.weight)
    assert grad.is_selected_rows and other.weight.grad is None
    other.weight.grad = grad
    assert other.weight.grad is grad
    with pytest.raises(ValueError, match=r"grad: needs the tensor's shape"):
        ebb.ones(2, requires_grad=True).grad = grad


def test_second_derivatives_pass_a_sparse_gradient():
    for sparse in (True, False):
        layer = table(sparse)
        out = layer(INDICES)
        (grad,) = ebb.autograd.grad((out**3).sum(), layer.weight, create_graph=True)
        assert grad.requires_grad
        (grad.to_dense() ** 2).sum().backward()
        found = layer.weight.grad.to_dense()
        assert sparse == layer.weight.grad.is_selected_rows
        expected = found if sparse else expected  # noqa: F821
        assert found.tolist() == expected.tolist()
    layer = table()
    (layer(INDICES) ** 2).sum().backward(create_graph=True)
    assert layer.weight.grad.requires_grad and layer.weight.grad.is_selected_rows


def test_forward_mode_passes_a_sparse_embedding():
    weight = ebb.ones(5, 2)
    with ebb.autograd.forward_ad.dual_level():
        dual = ebb.autograd.forward_ad.make_dual(weight, ebb.full((5, 2), 3.0))
        out = F.embedding(INDICES, dual, sparse=True)
        assert ebb.autograd.forward_ad.unpack_dual(out).tangent.tolist() == [[[3.0] * 2] * 2] * 2


def test_an_op_before_the_embedding_says_that_its_gradient_is_sparse():
    weight = ebb.ones(5, 2, requires_grad=True)
    F.embedding(INDICES, weight * 2, sparse=True).sum().backward()
    assert weight.grad.is_selected_rows and weight.grad.to_dense()[3].tolist() == [4.0, 4.0]
    with pytest.raises(
        NotImplementedError, match="must be strided, got one of layout selected_rows"
    ):
        F.embedding(INDICES, weight.exp(), sparse=True).sum().backward()


def test_gradients_are_cleared():
    for none in (True, False):
        layer = table()
        layer(INDICES).sum().backward()
        ebb.optim.SGD(layer.parameters(), 0.1).zero_grad(set_to_none=none)
        assert layer.weight.grad is None
        layer(INDICES).sum().backward()
        layer.zero_grad()
        assert layer.weight.grad is None


def test_norms_and_clipping_take_sparse_gradients():
    for clip in (
        lambda one: nn.utils.clip_grad_norm_(one.parameters(), 0.5),
        lambda one: nn.utils.clip_grad_value_(one.parameters(), 1.5),
    ):
        sparse, dense = table(), table(False)
        for layer in (sparse, dense):
            layer(INDICES).sum().backward()
        found, expected = clip(sparse), clip(dense)
        assert found is None or math.isclose(found.item(), expected.item())
        assert sparse.weight.grad.is_selected_rows
        assert ebb.allclose(sparse.weight.grad.to_dense(), dense.weight.grad)
    flow = ebb.utils.GradientFlow(sparse)
    flow.record()
    assert math.isclose(flow.norms["weight"][0], dense.weight.grad.norm().item(), rel_tol=1e-6)


def steps(make, sparse, count=3):
    """The weight after some steps, of which the last touches row 1 only."""
    layer = table(sparse)
    optimizer = make(layer.parameters())
    for step in range(count):
        optimizer.zero_grad()
        indices = INDICES if step < count - 1 else ebb.tensor([1])
        (layer(indices) ** 2).sum().backward()
        optimizer.step()
    return layer.weight.detach(), optimizer


@pytest.mark.parametrize("make", [
    lambda p: ebb.optim.SGD(p, 0.1), lambda p: ebb.optim.SGD(p, 0.1, maximize=True),
    lambda p: ebb.optim.SGD(p, 0.1, momentum=0.9),
    lambda p: ebb.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    lambda p: ebb.optim.Adagrad(p, 0.1), lambda p: ebb.optim.Adagrad(p, 0.1, lr_decay=0.5),
])  # fmt: skip
def test_sgd_and_adagrad_do_with_rows_what_they_do_with_the_whole(make):
    sparse, _ = steps(make, True)
    dense, _ = steps(make, False)
    assert ebb.allclose(sparse, dense, rtol=1e-6)


def test_sparse_adam_makes_the_steps_of_pytorch_and_touches_only_stored_rows():
    weight, optimizer = steps(lambda p: ebb.optim.SparseAdam(p, 0.1), True)
    expected = ebb.arange(10.0).reshape(5, 2).tolist()
    moments = {}
    for step, rows in enumerate((((1, 1), (3, 2), (0, 1)),) * 2 + (((1, 1),),), 1):
        for row, times in rows:
            for column in range(2):
                value = expected[row][column]
                m, v = moments.get((row, column), (0.0, 0.0))
                grad = 2 * value * times
                m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad * grad
                moments[row, column] = m, v
                size = 0.1 * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                expected[row][column] = value - size * m / (math.sqrt(v) + 1e-8)
    assert ebb.allclose(weight, ebb.tensor(expected), rtol=1e-5)
    (state,) = optimizer.state.values()
    assert state["step"] == 3 and state["exp_avg"][2].tolist() == [0.0, 0.0]


def test_optimizers_say_which_gradients_they_take():
    for name in ("Adam", "AdamW", "RMSprop"):
        with pytest.raises(
            NotImplementedError, match=f"{name}: needs strided gradients, got a selec"
        ):
            steps(lambda p, name=name: getattr(ebb.optim, name)(p), True)
    with pytest.raises(
        NotImplementedError, match="SparseAdam: needs sparse gradients, got a strided"
    ):
        steps(lambda p: ebb.optim.SparseAdam(p), False)
    for name in ("SGD", "Adagrad"):
        with pytest.raises(NotImplementedError, match="needs weight_decay 0 with sparse gradients"):
            steps(lambda p, name=name: getattr(ebb.optim, name)(p, 0.1, weight_decay=0.1), True)


def test_the_state_of_sparse_adam_can_be_saved():
    _, optimizer = steps(lambda p: ebb.optim.SparseAdam(p, 0.1), True)
    other = ebb.optim.SparseAdam(table().parameters(), 0.1)
    other.load_state_dict(optimizer.state_dict())
    (state,), (kept,) = other.state.values(), optimizer.state.values()
    assert state["step"] == 3 and state["exp_avg_sq"].tolist() == kept["exp_avg_sq"].tolist()
    with pytest.raises(ValueError, match="SparseAdam: needs 0 <= beta1 < 1, got 1"):
        ebb.optim.SparseAdam(table().parameters(), betas=(1.0, 0.9)).step()


BAGS = {
    "rows": ((ebb.tensor([[1, 3], [3, 0]]),), {}),
    "offsets": ((ebb.tensor([1, 3, 3, 0]), ebb.tensor([0, 3])), {}),
    "an empty bag": ((ebb.tensor([4, 2]), ebb.tensor([0, 1, 1])), {}),
    "no index": ((ebb.zeros(0, dtype=ebb.int64), ebb.tensor([0, 0])), {}),
    "padding": ((ebb.tensor([[1, 3], [3, 0]]),), {"padding_idx": 3}),
}


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("name", BAGS)
def test_bags_have_the_dense_gradient_as_rows(name, mode):
    given, options = BAGS[name]
    found = []
    for sparse in (True, False):
        layer = nn.EmbeddingBag(5, 2, mode=mode, sparse=sparse, **options)
        with ebb.no_grad():
            layer.weight.copy_(ebb.arange(10.0).reshape(5, 2))
        (layer(*given) ** 2).sum().backward()
        found.append(layer.weight.grad)
    assert found[0].is_selected_rows and found[1].is_dense
    assert found[0].to_dense().tolist() == found[1].tolist()
    counted = given[0].reshape(-1).tolist()
    assert sorted(found[0].rows.tolist()) == sorted(i for i in counted if options == {} or i != 3)


def test_factors_of_a_sparse_bag_have_gradients_too():
    for sparse in (True, False):
        weight = ebb.arange(10.0).reshape(5, 2).requires_grad_()
        factors = ebb.tensor([[1.0, -2.0], [0.5, 0.0]], requires_grad=True)
        bags = {"mode": "sum", "per_sample_weights": factors, "sparse": sparse}
        (F.embedding_bag(INDICES, weight, **bags) ** 2).sum().backward()
        found = weight.grad.to_dense().tolist(), factors.grad.tolist()
        expected = found if sparse else expected  # noqa: F821
        assert found == expected and weight.grad.is_selected_rows == sparse


def test_maxima_of_bags_have_no_sparse_gradient():
    with pytest.raises(ValueError, match=r"embedding_bag: sparse needs mode 'sum' or 'mean'"):
        nn.EmbeddingBag(5, 2, mode="max", sparse=True)(INDICES)
