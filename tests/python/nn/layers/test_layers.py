# tests/python/nn/layers/test_layers.py -- Embedding, Dropout, Bilinear.
import numpy as np
import pytest

import ebb
import ebb.nn.functional as F
from ebb import nn
from ebb.autograd import gradcheck, gradgradcheck


def test_embedding_looks_rows_up():
    table = nn.Embedding(5, 3)
    rows = ebb.tensor([[4, 0], [2, 4]])
    result = table(rows)
    np.testing.assert_array_equal(
        result.detach().numpy(), table.weight.detach().numpy()[rows.numpy()]
    )
    result.sum().backward()
    assert table.weight.grad[:, 0].tolist() == [1, 0, 1, 0, 2]
    assert repr(table) == "Embedding(5, 3)"
    assert nn.Embedding(2000, 2).weight.detach().numpy().std() == pytest.approx(1, rel=0.05)


def test_padding_row_is_zero_and_not_trained():
    table = nn.Embedding(4, 2, padding_idx=-1)
    assert table.padding_idx == 3 and table.weight[3].tolist() == [0, 0]
    table(ebb.tensor([3, 1, 3])).sum().backward()
    assert table.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]
    assert repr(table) == "Embedding(4, 2, padding_idx=3)"


def test_pretrained_rows_are_shared_and_frozen():
    matrix = ebb.arange(6.0).reshape(3, 2)
    table = nn.Embedding.from_pretrained(matrix, padding_idx=0)
    assert table.weight.data_ptr() == matrix.data_ptr() and not table.weight.requires_grad
    assert (table.num_embeddings, table.embedding_dim, table.padding_idx) == (3, 2, 0)
    assert table(ebb.tensor([2])).tolist() == [[4, 5]]
    assert nn.Embedding.from_pretrained(matrix, freeze=False).weight.requires_grad
    with pytest.raises(ValueError, match=r"from_pretrained: needs a matrix, got shape \[3\]"):
        nn.Embedding.from_pretrained(ebb.ones(3))


def test_rows_that_are_looked_up_can_be_bounded():
    table = nn.Embedding.from_pretrained(ebb.tensor([[3.0, 4.0], [6.0, 8.0], [0.0, 0.1]]),
                                         max_norm=1.0)  # fmt: skip
    assert table(ebb.tensor([0, 2])).tolist()[0] == pytest.approx([0.6, 0.8])
    assert table.weight.tolist()[1] == [6, 8]
    assert table.weight.tolist()[2] == pytest.approx([0, 0.1])


def test_embedding_refuses_bad_arguments():
    with pytest.raises(ValueError, match="Embedding: needs sizes >= 0, got -1 and 2"):
        nn.Embedding(-1, 2)
    with pytest.raises(IndexError, match="Embedding: needs padding_idx from -3 to 2, got 3"):
        nn.Embedding(3, 2, 3)
    with pytest.raises(IndexError):
        nn.Embedding(3, 2)(ebb.tensor([3]))
    with pytest.raises(TypeError):
        nn.Embedding(3, 2)(ebb.tensor([0.5]))
    with pytest.raises(ValueError, match="embedding: padding_idx must be from -3 to 2, got -4"):
        F.embedding(ebb.tensor([0]), ebb.ones(3, 2), -4)


def test_dropout_zeroes_in_training_only():
    ebb.manual_seed(1)
    x = ebb.ones(200, 50)
    layer = nn.Dropout(0.25)
    result = layer(x).numpy()
    assert set(np.unique(result)) == {0, np.float32(1 / 0.75)}
    assert (result == 0).mean() == pytest.approx(0.25, abs=0.02)
    assert layer.eval()(x).tolist() == x.tolist()
    assert repr(layer) == "Dropout(p=0.25, inplace=False)"
    nn.Dropout(1.0, inplace=True)(x)
    assert x.numpy().sum() == 0


@pytest.mark.parametrize(
    "layer, shape, dims",
    [
        (nn.Dropout1d(0.5), (40, 30, 6), 2),
        (nn.Dropout1d(0.5), (600, 6), 1),
        (nn.Dropout2d(0.5), (40, 30, 2, 3), 2),
        (nn.Dropout2d(0.5), (40, 30, 3), 2),
        (nn.Dropout2d(0.5), (40, 30), 2),
        (nn.Dropout2d(0.5), (40, 30, 2, 1, 3), 2),
        (nn.Dropout3d(0.5), (40, 30, 2, 1, 3), 2),
        (nn.Dropout3d(0.5), (600, 2, 1, 3), 1),
        (nn.Dropout3d(0.5), (600, 3), 1),
        (nn.Dropout2d(0.5, inplace=True), (40, 30, 2, 3), 2),
    ],
)
def test_channel_dropout_zeroes_whole_channels(layer, shape, dims):
    ebb.manual_seed(1)
    x = ebb.ones(*shape)
    result = layer(x)
    assert (result is x) == layer.inplace
    channels = result.numpy().reshape(*shape[:dims], -1)
    assert (channels == channels[..., :1]).all()
    assert (channels == 0).mean() == pytest.approx(0.5, abs=0.06)
    assert set(np.unique(channels)) == {0, 2}
    assert layer.eval()(x) is x


def test_dropout_passes_its_gradient_where_it_kept():
    x = ebb.ones(30, 4, 5, requires_grad=True)
    result = F.dropout1d(x, 0.5)
    result.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), result.detach().numpy())


def test_dropout_refuses_bad_arguments():
    for kind in (nn.Dropout, nn.Dropout2d):
        with pytest.raises(ValueError, match=rf"{kind.__name__}: needs 0 <= p <= 1, got 1.5"):
            kind(1.5)
    with pytest.raises(ValueError, match=r"dropout2d: input needs at least 2 dims"):
        F.dropout2d(ebb.ones(3))


def test_bilinear_multiplies_both_inputs():
    layer = nn.Bilinear(3, 2, 4, dtype=ebb.float64)
    x = ebb.randn(5, 6, 3, dtype=ebb.float64, requires_grad=True)
    y = ebb.randn(5, 6, 2, dtype=ebb.float64, requires_grad=True)
    expected = np.einsum(
        "...a,kab,...b->...k",
        *(t.detach().numpy() for t in (x, layer.weight, y)),
    )
    expected = expected + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(x, y).detach().numpy(), expected, rtol=1e-12)
    small = (x[:1, :2].detach().requires_grad_(), y[:1, :2].detach().requires_grad_())
    assert gradcheck(layer, small) and gradgradcheck(layer, small)
    assert layer(x[0, 0], y[0, 0]).shape == (4,)
    assert "in1_features=3, in2_features=2, out_features=4, bias=True" in repr(layer)
    assert nn.Bilinear(1, 1, 1, bias=False).bias is None
    with pytest.raises(ValueError, match=r"bilinear: needs inputs \[..., A\] and \[..., B\]"):
        layer(y, x)
    with pytest.raises(ValueError, match="Bilinear: needs in1_features >= 1"):
        nn.Bilinear(0, 1, 1)
