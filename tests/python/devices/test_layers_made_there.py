# tests/python/devices/test_layers_made_there.py -- layers make their parameters on a device.
import pytest

import ebb
from ebb import nn

LAYERS = {
    "Linear": lambda **where: nn.Linear(2, 3, **where),
    "Bilinear": lambda **where: nn.Bilinear(2, 3, 4, **where),
    "PReLU": lambda **where: nn.PReLU(3, **where),
    "Embedding": lambda **where: nn.Embedding(3, 2, **where),
    "EmbeddingBag": lambda **where: nn.EmbeddingBag(3, 2, **where),
    "LazyLinear": lambda **where: nn.LazyLinear(3, **where),
    "LazyConv2d": lambda **where: nn.LazyConv2d(3, 1, **where),
    "LazyConvTranspose1d": lambda **where: nn.LazyConvTranspose1d(3, 1, **where),
    "LazyBatchNorm1d": lambda **where: nn.LazyBatchNorm1d(**where),
    "Conv1d": lambda **where: nn.Conv1d(2, 3, 1, **where),
    "ConvTranspose2d": lambda **where: nn.ConvTranspose2d(2, 3, 1, **where),
    "LayerNorm": lambda **where: nn.LayerNorm(3, **where),
    "RMSNorm": lambda **where: nn.RMSNorm(3, **where),
    "GroupNorm": lambda **where: nn.GroupNorm(1, 3, **where),
    "BatchNorm1d": lambda **where: nn.BatchNorm1d(3, **where),
    "InstanceNorm2d": lambda **where: nn.InstanceNorm2d(3, affine=True, **where),
    "LSTM": lambda **where: nn.LSTM(2, 3, **where),
    "RNN": lambda **where: nn.RNN(2, 3, **where),
    "GRUCell": lambda **where: nn.GRUCell(2, 3, **where),
    "RNNCell": lambda **where: nn.RNNCell(2, 3, **where),
    "MultiheadAttention": lambda **where: nn.MultiheadAttention(
        4, 2, kdim=3, add_bias_kv=True, **where
    ),
    "SyncBatchNorm": lambda **where: nn.SyncBatchNorm(3, **where),
    "projected LSTM": lambda **where: nn.LSTM(2, 3, proj_size=1, **where),
    "Transformer": lambda **where: nn.Transformer(4, 2, 1, 1, 8, **where),
    "AdaptiveLogSoftmaxWithLoss": lambda **where: nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2], **where),
    "TransformerEncoderLayer": lambda **where: nn.TransformerEncoderLayer(4, 2, 8, **where),
    "TransformerDecoderLayer": lambda **where: nn.TransformerDecoderLayer(4, 2, 8, **where),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_made_where_it_is_told(name):
    layer = LAYERS[name](device="sim", dtype=ebb.float64)
    made = [*layer.parameters(), *layer.buffers()]
    assert {one.device.type for one in made} == {"sim"}
    assert all(one.dtype == ebb.float64 for one in layer.parameters())


@pytest.mark.parametrize("layer", [nn.GroupNorm, nn.BatchNorm1d, nn.InstanceNorm1d])
def test_a_norm_may_have_a_weight_without_a_bias(layer):
    given = (1, 3) if layer is nn.GroupNorm else (3,)
    norm = layer(*given, affine=True, bias=False)
    assert [name for name, _ in norm.named_parameters()] == ["weight"]
    assert norm(ebb.randn(2, 3, 4)).shape == (2, 3, 4)
