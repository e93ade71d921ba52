# tests/python/ops/network/test_attention.py -- fused attention beyond its rows: tiles, masks,
# dropout, views.
#
# Lengths here exceed the blocks of the kernel (128 queries, 512 keys), so that every part of a tile
# is met: full ones, cut ones, hidden ones.
import numpy as np
import pytest

import ebb
from ebb import _C, nn
from ebb.nn import functional
from tests.python.autograd.forward_support import check_tangents
from tests.python.ops.reference import recurrent as reference_recurrent

sdpa = functional.scaled_dot_product_attention


def draw(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def operands(rows, columns, heads=2, features=8, values=8):
    return (
        draw((1, heads, rows, features), 1),
        draw((1, heads, columns, features), 2),
        draw((1, heads, columns, values), 3),
    )


def reference(q, k, v, **options):
    return reference_recurrent.attention({"query": q, "key": k, "value": v, **options})


def numerical(q, k, v, seed, **options):
    """Gradients of sum(seed * attention) by the formulas of softmax, plainly in NumPy."""
    scale = 1 / np.sqrt(q.shape[-1])
    one = np.eye(k.shape[-2])[None, None]
    weights = reference(q, k, np.broadcast_to(one, (*k.shape[:2], *one.shape[2:])), **options)
    grad_weights = seed @ np.swapaxes(v, -1, -2)
    total = np.sum(weights * grad_weights, axis=-1, keepdims=True)
    grad_scores = weights * (grad_weights - total)
    turned = lambda one: np.swapaxes(one, -1, -2)  # noqa: E731
    return grad_scores @ k * scale, turned(grad_scores) @ q * scale, turned(weights) @ seed


MASKS = {
    "none": lambda rows, columns: {},
    "causal": lambda rows, columns: {"is_causal": True},
    "bool": lambda rows, columns: {"attn_mask": draw((rows, columns), 7) > -1},
    "float": lambda rows, columns: {"attn_mask": draw((1, 2, rows, columns), 8)},
    "keys": lambda rows, columns: {"attn_mask": draw((1, 1, 1, columns), 9) > -1},
    "rows": lambda rows, columns: {"attn_mask": draw((rows, 1), 10)},
}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize(("rows", "columns"), [(130, 520), (300, 1100), (1, 700), (600, 3)])
def test_tiles_match_numpy(kind, rows, columns):
    arrays = operands(rows, columns)
    options = MASKS[kind](rows, columns)
    tensors = [ebb.tensor(one).requires_grad_() for one in arrays]
    given = {n: ebb.tensor(m) if isinstance(m, np.ndarray) else m for n, m in options.items()}
    out = sdpa(*tensors, **given)
    np.testing.assert_allclose(out.detach().numpy(), reference(*arrays, **options), atol=1e-12)
    seed = draw(out.shape, 4)
    found = ebb.autograd.grad([out], tensors, [ebb.tensor(seed)])
    for got, wanted in zip(found, numerical(*arrays, seed, **options), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-11)


def test_float32_is_as_exact_as_it_can_be():
    arrays = operands(200, 1000, features=64, values=64)
    out = sdpa(*(ebb.tensor(one).to(ebb.float32) for one in arrays))
    np.testing.assert_allclose(out.numpy(), reference(*arrays), atol=2e-6)


def test_large_scores_do_not_overflow():
    q, k, v = operands(5, 600)
    out = sdpa(*(ebb.tensor(one) for one in (q * 1e4, k, v)))
    np.testing.assert_allclose(out.numpy(), reference(q * 1e4, k, v), atol=1e-9)


def test_a_row_that_sees_nothing_gives_zeros_and_no_gradient():
    q, k, v = (ebb.tensor(one).requires_grad_() for one in operands(3, 4))
    mask = ebb.tensor([[True] * 4, [False] * 4, [True] * 4])
    out = sdpa(q, k, v, mask)
    assert out.detach().numpy()[:, :, 1].tolist() == np.zeros((1, 2, 8)).tolist()
    out.sum().backward()
    assert q.grad.numpy()[:, :, 1].tolist() == np.zeros((1, 2, 8)).tolist()
    assert np.isfinite(k.grad.numpy()).all() and np.abs(k.grad.numpy()).max() > 0


def test_a_nan_is_not_lost():
    q, k, v = operands(3, 4)
    k[0, 0, 1, 2] = np.nan
    out = sdpa(*(ebb.tensor(one) for one in (q, k, v))).numpy()
    assert np.isnan(out[0, 0]).all()
    assert np.isfinite(out[0, 1]).all()


def test_heads_cut_out_of_a_projection_are_read_in_place():
    whole = draw((2, 130, 3, 4, 8))  # batch, length, part, head, feature
    parts = [whole[:, :, part].transpose(0, 2, 1, 3) for part in range(3)]
    tensor = ebb.tensor(whole).requires_grad_()
    views = [tensor.select(2, part).permute((0, 2, 1, 3)) for part in range(3)]
    out = sdpa(*views, is_causal=True)
    wanted = reference(*parts, is_causal=True)
    np.testing.assert_allclose(out.detach().numpy(), wanted, atol=1e-12)
    joined = out.permute((0, 2, 1, 3))
    assert joined.is_contiguous()  # so that the next projection reads it in place, too
    seed = draw(out.shape, 4)
    (found,) = ebb.autograd.grad([out], [tensor], [ebb.tensor(seed)])
    for part, grad in enumerate(numerical(*parts, seed, is_causal=True)):
        got = found.numpy()[:, :, part].transpose(0, 2, 1, 3)
        np.testing.assert_allclose(got, grad, atol=1e-11)


def test_heads_of_keys_may_be_shared():
    q, k, v = draw((2, 6, 140, 4)), draw((2, 2, 9, 4), 1), draw((2, 2, 9, 3), 2)
    tensors = [ebb.tensor(one).requires_grad_() for one in (q, k, v)]
    out = sdpa(*tensors, enable_gqa=True)
    seed = draw(out.shape, 4)
    found = ebb.autograd.grad([out], tensors, [ebb.tensor(seed)])
    wide = [np.repeat(one, 3, axis=1) for one in (k, v)]
    np.testing.assert_allclose(out.detach().numpy(), reference(q, *wide), atol=1e-12)
    grads = list(numerical(q, *wide, seed))
    grads[1:] = [one.reshape(2, 2, 3, 9, -1).sum(2) for one in grads[1:]]
    for got, wanted in zip(found, grads, strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-11)


def test_leading_dims_broadcast_and_may_be_many():
    q, k, v = draw((2, 1, 3, 5, 4)), draw((2, 4, 1, 6, 4), 1), draw((6, 2), 2)
    out = sdpa(*(ebb.tensor(one) for one in (q, k, v)))
    np.testing.assert_allclose(out.numpy(), reference(q, k, v), atol=1e-12)


def dropped(p, seed=5, rows=150, columns=530):
    q, k, v = (ebb.tensor(one).requires_grad_() for one in operands(rows, columns))
    ebb.manual_seed(seed)
    return (q, k, v), sdpa(q, k, v, dropout_p=p)


def test_dropout_repeats_with_the_seed_and_keeps_the_mean():
    _, first = dropped(0.25)
    _, again = dropped(0.25)
    _, other = dropped(0.25, seed=6)
    assert first.tolist() == again.tolist() != other.tolist()
    ones = ebb.ones([1, 1, 50, 2000])
    values = sdpa(ebb.zeros([1, 1, 50, 4]), ebb.zeros([1, 1, 2000, 4]), ones[0, 0].t(), None, 0.3)
    np.testing.assert_allclose(values.mean().item(), 1.0, atol=0.01)
    assert np.abs(dropped(1.0)[1].detach().numpy()).max() == 0


def test_dropout_drops_the_same_weights_in_every_pass():
    (q, k, v), out = dropped(0.4)
    state = ebb.manual_seed(5)  # noqa: F841
    factors = _C._ops.attention_dropout(q.detach(), 530, 0.4, 5, 0).numpy()
    assert set(np.unique(factors).tolist()) == {0.0, 1 / 0.6}
    assert abs((factors == 0).mean() - 0.4) < 0.01
    arrays = [one.detach().numpy() for one in (q, k, v)]
    eye = np.broadcast_to(np.eye(530), (1, 2, 530, 530))
    weights = reference(arrays[0], arrays[1], eye)
    np.testing.assert_allclose(out.detach().numpy(), (weights * factors) @ arrays[2], atol=1e-12)
    seed = draw(out.shape, 4)
    grads = ebb.autograd.grad([out], [q, k, v], [ebb.tensor(seed)])
    grad_weights = seed @ np.swapaxes(arrays[2], -1, -2) * factors
    total = np.sum(weights * grad_weights, -1, keepdims=True)
    grad_scores = weights * (grad_weights - total) / np.sqrt(8)
    wanted = (
        grad_scores @ arrays[1],
        np.swapaxes(grad_scores, -1, -2) @ arrays[0],
        np.swapaxes(weights * factors, -1, -2) @ seed,
    )
    for got, values in zip(grads, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), values, atol=1e-11)


FUSED = {
    "plain": {},
    "causal": {"is_causal": True},
    "bool": {"attn_mask": ebb.tensor([[True, False, True], [True, True, False]])},
    "float": {"attn_mask": ebb.tensor([[0.5, -1.0, 0.0], [0.0, 1.0, -float("inf")]])},
    "dropout": {"dropout_p": 0.5},
}


@pytest.mark.parametrize("kind", FUSED)
def test_second_derivatives_match_finite_differences(kind):
    inputs = [ebb.tensor(draw((2, n, 2), n)).requires_grad_() for n in (2, 3, 3)]
    options = dict(FUSED[kind])
    if kind == "float":
        options["attn_mask"] = options["attn_mask"].to(ebb.float64)

    def function(*given):
        ebb.manual_seed(1)
        return sdpa(*given, **options)

    assert ebb.autograd.gradcheck(function, inputs)
    assert ebb.autograd.gradgradcheck(function, inputs)


def test_a_mask_may_want_a_gradient():
    q, k, v = (ebb.tensor(draw((n, 2), n)).requires_grad_() for n in (2, 3, 3))
    mask = ebb.tensor(draw((2, 3), 5)).requires_grad_()
    assert ebb.autograd.gradcheck(sdpa, [q, k, v, mask])


def backward_of(tensors, grad, rest):
    out, logsumexp = _C._ops.attention(*tensors, *rest)
    return _C._ops.attention_backward(*tensors, rest[0], out, logsumexp, grad, *rest[1:])


@pytest.mark.parametrize("mask", [None, "float"])
@pytest.mark.parametrize("moving", [0, 2, 3, None])
def test_forward_mode_of_the_gradient_matches_differences(mask, moving):
    inputs = [ebb.tensor(one) for one in (*operands(3, 4), draw((1, 2, 3, 8), 4))]
    steps = [ebb.tensor(draw(one.shape, 6 + i)) for i, one in enumerate(inputs)]
    if moving is not None:
        steps = [one if i == moving else None for i, one in enumerate(steps)]
    rest = (mask and ebb.tensor(draw((1, 1, 3, 4), 5)), 0.0, mask is None, 0.3, 0, 0)
    check_tangents(lambda *given: backward_of(given[:3], given[3], rest), inputs, steps)


BAD = {
    "needs a floating dtype": lambda z: sdpa(*[z([2, 3], dtype=ebb.int64)] * 3),
    "query needs 2 to 31 dims, got float32 [3]": lambda z: sdpa(z([3]), z([2, 3]), z([2, 3])),
    "is_causal needs no attn_mask": lambda z: sdpa(
        z([2, 3]), z([2, 3]), z([2, 3]), z([2, 2]), is_causal=True
    ),
    "attn_mask needs bool or the dtype of query": lambda z: sdpa(
        z([2, 3]), z([2, 3]), z([2, 3]), z([2, 2], dtype=ebb.float64)
    ),
    "attn_mask must broadcast to [1, 2, 2], got": lambda z: sdpa(
        z([1, 2, 3]), z([1, 2, 3]), z([1, 2, 3]), z([3, 2])
    ),
    "enable_gqa needs heads of key and value that divide": lambda z: sdpa(
        z([3, 2, 4]), z([2, 2, 4]), z([2, 2, 4]), enable_gqa=True
    ),
    "query needs at least one feature": lambda z: sdpa(z([2, 0]), z([2, 0]), z([2, 3])),
    "broadcast": lambda z: sdpa(z([2, 2, 3]), z([3, 2, 3]), z([3, 2, 3])),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_calls_say_what_is_wrong(text):
    with pytest.raises(ebb.Error) as caught:
        BAD[text](ebb.zeros)
    assert text in str(caught.value)
    assert str(caught.value).startswith("scaled_dot_product_attention: ")


def module_reference(net, query, key, value, hidden=None):
    """MultiheadAttention over [B, L, E] in NumPy: output and weights per head."""
    state = {name: one.numpy() for name, one in net.state_dict().items()}
    size, count = net.embed_dim, net.num_heads
    if "in_proj_weight" in state:
        weights = np.split(state["in_proj_weight"], 3)
    else:
        weights = [state[f"{part}_proj_weight"] for part in "qkv"]
    biases = np.split(state.get("in_proj_bias", np.zeros(3 * size)), 3)

    def heads(one, part):
        projected = one @ weights[part].T + biases[part]
        return projected.reshape(*one.shape[:2], count, -1).transpose(0, 2, 1, 3)

    q, k, v = (heads(one, part) for part, one in enumerate((query, key, value)))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(size // count)
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    out = (scores @ v).transpose(0, 2, 1, 3).reshape(*query.shape[:2], size)
    return out @ state["out_proj.weight"].T + state.get("out_proj.bias", 0), scores


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("is_self", [True, False])
def test_the_module_matches_numpy(batch_first, need_weights, is_self):
    net = nn.MultiheadAttention(8, 2, batch_first=batch_first, dtype=ebb.float64)
    nn.init.normal_(net.in_proj_bias)
    query, key = draw((3, 5, 8)), draw((3, 4, 8), 1)
    key = query if is_self else key
    padding = draw(key.shape[:2], 2) > 0.8
    mask = draw((5, key.shape[1]), 3) > 0.9
    wanted, weights = module_reference(
        net, query, key, key, padding[:, None, None] | mask[None, None]
    )
    turn = (lambda one: one) if batch_first else (lambda one: one.transpose(0, 1))
    q = turn(ebb.tensor(query))
    k = q if is_self else turn(ebb.tensor(key))
    out, found = net(
        q, k, k, ebb.tensor(padding), need_weights=need_weights, attn_mask=ebb.tensor(mask)
    )
    np.testing.assert_allclose(turn(out).detach().numpy(), wanted, atol=1e-12)
    if need_weights:
        np.testing.assert_allclose(found.detach().numpy(), weights.mean(1), atol=1e-12)
    else:
        assert found is None


def test_the_module_takes_other_sizes_of_key_and_value():
    net = nn.MultiheadAttention(
        6, 3, bias=False, kdim=4, vdim=5, batch_first=True, dtype=ebb.float64
    )
    assert sorted(net.state_dict()) == [
        "k_proj_weight", "out_proj.weight", "q_proj_weight", "v_proj_weight",
    ]  # fmt: skip
    arrays = draw((2, 3, 6)), draw((2, 7, 4), 1), draw((2, 7, 5), 2)
    out, found = net(*(ebb.tensor(one) for one in arrays), average_attn_weights=False)
    wanted, weights = module_reference(net, *arrays)
    np.testing.assert_allclose(out.detach().numpy(), wanted, atol=1e-12)
    np.testing.assert_allclose(found.detach().numpy(), weights, atol=1e-12)


@pytest.mark.parametrize("need_weights", [True, False])
def test_the_module_may_be_causal_and_without_batch(need_weights):
    net = nn.MultiheadAttention(4, 2, dtype=ebb.float64)
    x = draw((5, 4))
    hidden = ~np.tri(5, dtype=bool)
    wanted, weights = module_reference(net, x[None], x[None], x[None], hidden)
    tensor = ebb.tensor(x)
    out, found = net(tensor, tensor, tensor, need_weights=need_weights, is_causal=True)
    np.testing.assert_allclose(out.detach().numpy(), wanted[0], atol=1e-12)
    if need_weights:
        np.testing.assert_allclose(found.detach().numpy(), weights[0].mean(0), atol=1e-12)
    same, _ = net(tensor, tensor, tensor, attn_mask=ebb.tensor(hidden), need_weights=need_weights)
    np.testing.assert_allclose(same.detach().numpy(), wanted[0], atol=1e-12)


def test_the_module_trains_and_drops():
    net = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
    x = ebb.randn([2, 6, 4])
    for need_weights in (True, False):
        first, second = (net(x, x, x, need_weights=need_weights)[0].tolist() for _ in range(2))
        assert first != second
    net.eval()
    assert net(x, x, x)[0].tolist() == net(x, x, x)[0].tolist()
    net(x, x, x, need_weights=False)[0].sum().backward()
    assert all(one.grad is not None for one in net.parameters())


BAD_MODULES = {
    "embed_dim needs a multiple of num_heads, got 5 and 2": lambda: nn.MultiheadAttention(5, 2),
    "num_heads needs at least 1, got 0": lambda: nn.MultiheadAttention(4, 0),
    "last sizes 4, 4 and 4, got [2, 1, 3]": lambda: nn.MultiheadAttention(4, 2)(
        *[ebb.zeros([2, 1, 3])] * 3
    ),
    "key_padding_mask needs shape [1, 2], got [2, 1]": lambda: nn.MultiheadAttention(4, 2)(
        *[ebb.zeros([2, 1, 4])] * 3, ebb.zeros([2, 1])
    ),
    "attn_mask needs shape [2, 2] or [2, 2, 2], got [3]": lambda: nn.MultiheadAttention(4, 2)(
        *[ebb.zeros([2, 1, 4])] * 3, attn_mask=ebb.zeros([3])
    ),
    "query needs a tensor, got int": lambda: nn.MultiheadAttention(4, 2)(1, 2, 3),
}


@pytest.mark.parametrize("text", BAD_MODULES)
def test_bad_uses_of_the_module_say_what_is_wrong(text):
    with pytest.raises(ebb.Error) as caught:
        BAD_MODULES[text]()
    assert text in str(caught.value)
