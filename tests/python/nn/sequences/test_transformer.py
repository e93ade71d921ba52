# tests/python/nn/sequences/test_transformer.py -- encoder and decoder layers against their parts,
# put together.
import math

import numpy as np
import pytest

import ebb
from ebb import nn


def plain(one):
    return one.detach().numpy()


def normal(net):
    for one in net.parameters():
        nn.init.normal_(one, 0.0, 0.5)
    return net.eval()


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_an_encoder_layer_is_attention_and_a_network_with_shortcuts(norm_first, batch_first):
    net = normal(
        nn.TransformerEncoderLayer(
            8, 2, 16, batch_first=batch_first, norm_first=norm_first, dtype=ebb.float64
        )
    )
    x = ebb.randn([3, 5, 8], dtype=ebb.float64)
    length = x.shape[1] if batch_first else x.shape[0]
    mask = ebb.randn([length, length], dtype=ebb.float64)
    attend = lambda y: net.self_attn(y, y, y, attn_mask=mask)[0]  # noqa: E731
    feed = lambda y: net.linear2(nn.functional.relu(net.linear1(y)))  # noqa: E731
    if norm_first:
        first = x + attend(net.norm1(x))
        wanted = first + feed(net.norm2(first))
    else:
        first = net.norm1(x + attend(x))
        wanted = net.norm2(first + feed(first))
    np.testing.assert_allclose(plain(net(x, mask)), plain(wanted), atol=1e-10)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_layer_looks_at_the_memory_as_well(norm_first):
    net = normal(nn.TransformerDecoderLayer(8, 2, 16, norm_first=norm_first, dtype=ebb.float64))
    x, memory = (ebb.randn([n, 2, 8], dtype=ebb.float64) for n in (4, 6))
    feed = lambda y: net.linear2(nn.functional.relu(net.linear1(y)))  # noqa: E731
    attend = lambda y: net.self_attn(y, y, y, is_causal=True)[0]  # noqa: E731
    look = lambda y: net.multihead_attn(y, memory, memory)[0]  # noqa: E731
    for part, norm in ((attend, net.norm1), (look, net.norm2), (feed, net.norm3)):
        before = x if part is attend else wanted  # noqa: F821
        wanted = before + part(norm(before)) if norm_first else norm(before + part(before))
    given = net(x, memory, tgt_is_causal=True)
    np.testing.assert_allclose(plain(given), plain(wanted), atol=1e-10)


def test_stacks_hold_copies_of_their_layer():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    net = nn.TransformerEncoder(layer, 3, nn.LayerNorm(4))
    assert len(list(net.parameters())) == 3 * 12 + 2
    first, second = net.layers[0], net.layers[1]
    assert first.linear1.weight is not second.linear1.weight
    assert first.linear1.weight.tolist() == second.linear1.weight.tolist()
    x = ebb.randn([5, 2, 4])
    wanted = net.norm(net.layers[2](second(first(x))))
    assert net(x).tolist() == wanted.tolist()
    net(x).sum().backward()
    assert all(one.grad is not None for one in net.parameters())


def test_padded_keys_change_nothing():
    net = normal(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2))
    x = ebb.randn([1, 5, 4])
    hidden = ebb.tensor([[False, False, False, True, True]])
    whole = net(x, src_key_padding_mask=hidden)[:, :3]
    np.testing.assert_allclose(plain(whole), plain(net(x[:, :3])), atol=1e-5)


def test_decoders_pass_masks_to_every_layer():
    net = normal(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2))
    x, memory = ebb.randn([3, 1, 4]), ebb.randn([2, 1, 4])
    given = net(x, memory, tgt_is_causal=True)
    np.testing.assert_allclose(
        plain(given[:2]), plain(net(x[:2], memory, tgt_is_causal=True)), atol=1e-5
    )


def test_bad_options_are_refused():
    with pytest.raises(ebb.Error, match="activation needs relu, gelu or a function, got 'sin'"):
        nn.TransformerEncoderLayer(4, 2, activation="sin")
    with pytest.raises(ebb.Error, match="TransformerEncoder: num_layers needs at least 1, got 0"):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 0)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", 2**16 + 1, 10**9, 10**5000], ids=range(8))
def test_a_number_of_layers_that_nobody_can_wait_for_is_refused(count):
    layer = nn.TransformerEncoderLayer(4, 2)
    for make in (
        lambda: nn.TransformerEncoder(layer, count),
        lambda: nn.LSTM(2, 2, num_layers=count),
        lambda: nn.GRU(2, 2, count),
    ):
        with pytest.raises(ebb.Error, match=r"(TransformerEncoder|LSTM|GRU): num_layers needs"):
            make()


@pytest.mark.parametrize("batch_first", [False, True])
def test_the_whole_is_an_encoder_and_a_decoder(batch_first):
    net = nn.Transformer(4, 2, 1, 2, 8, dropout=0.0, batch_first=batch_first)
    src, tgt = ebb.randn(3, 3, 4), ebb.randn(3, 3, 4)
    mask = net.generate_square_subsequent_mask(3)
    wanted = net.decoder(tgt, net.encoder(src), tgt_is_causal=True)
    for options in ({"tgt_mask": mask}, {"tgt_mask": mask, "tgt_is_causal": True}):
        np.testing.assert_allclose(plain(net(src, tgt, **options)), plain(wanted), atol=1e-5)
    assert mask.tolist() == [[0, -math.inf, -math.inf], [0, 0, -math.inf], [0, 0, 0]]
    names = set(net.state_dict())
    assert {"encoder.norm.weight", "decoder.norm.bias", "decoder.layers.1.linear2.bias"} <= names
    with pytest.raises(ebb.Error, match="Transformer: src and tgt need a last size of 4, got"):
        net(ebb.randn(3, 3, 5), tgt)


def test_parts_may_be_given():
    net = nn.Transformer(4, 2, custom_encoder=nn.Identity(), custom_decoder=nn.Identity())
    assert list(net.parameters()) == []


@pytest.mark.parametrize(
    "kind, count", [("TransformerEncoderLayer", 2), ("TransformerDecoderLayer", 3)]
)
def test_dropouts_are_modules_that_may_be_set_one_by_one(kind, count):
    layer = getattr(nn, kind)(4, 2, dim_feedforward=8, dropout=0.25)
    names = ["dropout", *(f"dropout{number + 1}" for number in range(count))]
    assert [name for name, one in layer.named_children() if type(one) is nn.Dropout] == names
    assert all(getattr(layer, name).p == 0.25 for name in names)
    layer.self_attn.dropout = 0.0
    for name in names:
        getattr(layer, name).p = 1.0  # nothing is left but the shortcuts
    for module in layer.modules():
        if isinstance(module, nn.LayerNorm):
            module.forward = lambda x: x
    x = ebb.randn(3, 2, 4)
    operands = (x, x) if kind == "TransformerDecoderLayer" else (x,)
    assert ebb.equal(layer(*operands), x)
    layer.dropout1.p = 0.0
    assert not ebb.equal(layer(*operands), x)
