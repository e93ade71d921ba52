# tests/python/nn/modules/test_attributes.py -- what programs ask layers beside their weights.
import pytest

import ebb
from ebb import nn


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions_tell_whether_they_are_transposed_and_what_is_added(dims):
    plain = getattr(nn, f"Conv{dims}d")(2, 3, 3, stride=2)
    turned = getattr(nn, f"ConvTranspose{dims}d")(2, 3, 3, stride=2, output_padding=1)
    lazy = getattr(nn, f"LazyConvTranspose{dims}d")(3, 3)
    assert not plain.transposed and plain.output_padding == (0,) * dims
    assert turned.transposed and turned.output_padding == (1,) * dims and lazy.transposed
    assert "output_padding" not in repr(plain) and "output_padding" in repr(turned)


def test_recurrent_layers_tell_their_kind():
    assert (nn.LSTM(2, 2).mode, nn.GRU(2, 2).mode) == ("LSTM", "GRU")
    assert [nn.RNN(2, 2, nonlinearity=one).mode for one in ("tanh", "relu")] == [
        "RNN_TANH", "RNN_RELU"
    ]  # fmt: skip
    assert repr(nn.RNNCell(2, 3)) == "RNNCell(2, 3)"
    assert repr(nn.RNNCell(2, 3, False, "relu")) == "RNNCell(2, 3, bias=False, nonlinearity=relu)"


def test_a_network_of_ones_own_checks_its_states():
    net = nn.LSTM(2, 3, num_layers=2, bidirectional=True, proj_size=1)
    x, packed = ebb.zeros(4, 5, 2), ebb.zeros(9, 2)
    assert net.get_expected_hidden_size(x, None) == (4, 5, 1)
    assert net.get_expected_cell_size(packed, ebb.tensor([4, 3, 2])) == (4, 4, 3)
    assert nn.GRU(2, 3, batch_first=True).get_expected_hidden_size(x, None) == (1, 4, 3)
    h, c = ebb.zeros(4, 5, 1), ebb.arange(60.0).reshape(4, 5, 3)
    net.check_forward_args(x, (h, c), None)
    nn.GRU(2, 3).check_forward_args(x, ebb.zeros(1, 5, 3), None)
    assert net.permute_hidden((h, c), None) == (h, c)
    turned = net.permute_hidden((h, c), ebb.tensor([4, 3, 2, 1, 0]))[1]
    assert ebb.equal(turned, c.flip(1)) and ebb.equal(net.permute_hidden(turned, None), turned)


@pytest.mark.parametrize("call, text", [
    (lambda net, h, c: net.check_forward_args(ebb.zeros(4, 5, 2), (c, h), None), r"hidden\[0\]"),
    (lambda net, h, c: net.check_forward_args(ebb.zeros(4, 5, 2), (h, h), None), r"hidden\[1\]"),
    (lambda net, h, c: net.check_input(ebb.zeros(4, 5, 3), None), r"3 dims, the last of 2, got"),
    (lambda net, h, c: net.check_input(ebb.zeros(4, 5, 2), ebb.tensor([1])), "needs 2 dims"),
    (lambda net, h, c: net.check_hidden_size(h, (4, 5, 3)), r"Expected hidden size \(4, 5, 3\)"),
])  # fmt: skip
def test_states_that_do_not_fit_are_refused(call, text):
    net = nn.LSTM(2, 3, num_layers=2, bidirectional=True, proj_size=1)
    with pytest.raises(ebb.errors.ShapeError, match=text):
        call(net, ebb.zeros(4, 5, 1), ebb.zeros(4, 5, 3))


def test_programs_may_ask_for_patches_of_old_files():
    assert nn.Module.dump_patches is False


def test_a_dict_of_parameters_makes_another_of_names():
    made = nn.ParameterDict().fromkeys(["a", "b"], ebb.ones(1))
    assert list(made) == ["a", "b"] and isinstance(made["a"], nn.Parameter)


@pytest.mark.parametrize("kind", ["_parameters", "_buffers", "_modules"])
def test_parts_of_a_module_have_the_methods_of_a_dict(kind):
    net = nn.Sequential(nn.Linear(1, 1), nn.ReLU()) if kind == "_modules" else nn.BatchNorm1d(2)
    parts = getattr(net, kind)
    plain = dict(parts)
    assert {name for name in dir(dict) if not hasattr(parts, name)} <= {"__class_getitem__"}
    copied = parts.copy()
    assert type(copied) is dict and copied == plain
    copied.clear()
    assert list(parts) == list(plain) and list(reversed(parts)) == list(plain)[::-1]
    assert parts | {"x": 1} == {**plain, "x": 1} and {"x": 1} | parts == {"x": 1, **plain}
    assert list(parts.fromkeys(plain)) == list(plain)
    with pytest.raises(TypeError):
        parts | 3
    first = next(iter(plain))
    parts |= {first: plain[first]}
    assert getattr(net, kind) == plain and parts.setdefault(first) is plain[first]
    parts.pop(first)
    assert first not in getattr(net, kind) and not hasattr(net, first)
