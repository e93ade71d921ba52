# tests/python/nn/sequences/test_more_keys.py -- MultiheadAttention with keys and values that no
# operand has.
import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional


def expected(net, query, key, mask):
    """The output for operands [L, B, E], plainly; mask [B, L, S] holds numbers to add."""
    query, key = query.detach().numpy(), key.detach().numpy()
    weight, bias = net.in_proj_weight.detach().numpy(), net.in_proj_bias.detach().numpy()
    q, k, v = (
        x @ w.T + b
        for x, w, b in zip((query, key, key), np.split(weight, 3), np.split(bias, 3), strict=True)
    )
    batch, heads = query.shape[1], net.num_heads
    if net.bias_k is not None:
        k, v = (
            np.concatenate([x, np.broadcast_to(more.detach().numpy(), (1, batch, x.shape[2]))])
            for x, more in ((k, net.bias_k), (v, net.bias_v))
        )
    if net.add_zero_attn:
        k, v = (np.concatenate([x, np.zeros((1, *x.shape[1:]))]) for x in (k, v))
    mask = np.pad(mask, [(0, 0), (0, 0), (0, k.shape[0] - mask.shape[2])])
    q, k, v = (x.reshape(len(x), batch, heads, -1) for x in (q, k, v))
    scores = np.einsum("lbhd,sbhd->bhls", q, k) / np.sqrt(q.shape[-1]) + mask[:, None]
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    out = np.einsum("bhls,sbhd->lbhd", weights, v).reshape(*query.shape)
    out = out @ net.out_proj.weight.detach().numpy().T + net.out_proj.bias.detach().numpy()
    return out, weights.mean(1)


@pytest.mark.parametrize("add_bias_kv", [False, True])
@pytest.mark.parametrize("add_zero_attn", [False, True])
@pytest.mark.parametrize("masks", ["none", "causal", "padding", "both"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_more_keys_are_seen_by_everybody(add_bias_kv, add_zero_attn, masks, need_weights):
    net = nn.MultiheadAttention(
        4, 2, add_bias_kv=add_bias_kv, add_zero_attn=add_zero_attn, dtype=ebb.float64
    )
    net.in_proj_bias.data.normal_()
    query, key = ebb.randn(3, 2, 4, dtype=ebb.float64), ebb.randn(5, 2, 4, dtype=ebb.float64)
    options, mask = {}, np.zeros((2, 3, 5))
    if masks in ("causal", "both"):
        options["is_causal"] = True
        mask[:, np.arange(5) > np.arange(3)[:, None]] = -np.inf
    if masks in ("padding", "both"):
        hidden = np.array([[False] * 5, [False, False, True, False, True]])
        options["key_padding_mask"] = ebb.tensor(hidden)
        mask = np.where(hidden[:, None], -np.inf, mask)
    out, weights = net(query, key, key, need_weights=need_weights, **options)
    wanted, shares = expected(net, query, key, mask)
    np.testing.assert_allclose(out.detach().numpy(), wanted, atol=1e-12)
    if need_weights:
        np.testing.assert_allclose(weights.detach().numpy(), shares, atol=1e-12)
    out.sum().backward()
    assert all(one.grad is not None for one in net.parameters())


def test_options_come_in_the_order_of_pytorch():
    net = nn.MultiheadAttention(4, 2, 0.0, True, True, True, 3, 5, True)
    assert (net.kdim, net.vdim, net.batch_first, net.add_zero_attn) == (3, 5, True, True)
    assert net.bias_k.shape == net.bias_v.shape == (1, 1, 4)
    out, weights = net(ebb.randn(2, 3, 4), ebb.randn(2, 6, 3), ebb.randn(2, 6, 5))
    assert out.shape == (2, 3, 4) and weights.shape == (2, 3, 8)


@pytest.mark.parametrize("is_batched", [False, True])
@pytest.mark.parametrize("is_joint", [False, True])
def test_the_function_is_the_module_without_parameters(is_batched, is_joint):
    sizes = {} if is_joint else {"kdim": 3, "vdim": 5}
    net = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, **sizes)
    lead = (6, 2) if is_batched else (6,)
    query = ebb.randn(*lead, 4)
    key, value = (query, query) if is_joint else (ebb.randn(*lead, 3), ebb.randn(*lead, 5))
    hidden = ebb.zeros(2, 6, dtype=ebb.bool)
    hidden[:, 4:] = True
    padding = hidden if is_batched else hidden[0]
    wanted, weights = net(query, key, value, padding, is_causal=True)
    got = F.multi_head_attention_forward(
        query, key, value, 4, 2, net.in_proj_weight, net.in_proj_bias, net.bias_k, net.bias_v,
        True, 0.5, net.out_proj.weight, net.out_proj.bias, training=False,
        key_padding_mask=padding, use_separate_proj_weight=not is_joint,
        q_proj_weight=net.q_proj_weight, k_proj_weight=net.k_proj_weight,
        v_proj_weight=net.v_proj_weight, is_causal=True,
    )  # fmt: skip
    assert ebb.allclose(got[0], wanted, atol=1e-6) and ebb.allclose(got[1], weights)


def test_the_function_refuses_what_does_not_fit():
    x, weight = ebb.randn(3, 2, 4), ebb.randn(12, 4)
    rest = (None, None, None, False, 0.0, ebb.randn(4, 4), None)
    name = "multi_head_attention_forward"
    with pytest.raises(ValueError, match=f"{name}: query needs a last size of 5, which num_heads"):
        F.multi_head_attention_forward(x, x, x, 5, 1, weight, *rest)
    with pytest.raises(ValueError, match=f"{name}: needs in_proj_weight, or all of the separate"):
        F.multi_head_attention_forward(x, x, x, 4, 2, None, *rest)
    with pytest.raises(NotImplementedError, match=f"{name}: needs static_k and static_v None"):
        F.multi_head_attention_forward(x, x, x, 4, 2, weight, *rest, static_k=x)
