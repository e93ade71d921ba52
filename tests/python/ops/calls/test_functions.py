# tests/python/ops/calls/test_functions.py -- how op functions take arguments; signatures and docs.
import inspect

import pytest

import ebb
from tests.python.fresh import printed

X = ebb.arange(6).float().reshape(2, 3)


def test_keywords_positions_and_aliases_agree():
    assert ebb.equal(ebb.add(X, X), ebb.add(input=X, other=X))
    assert ebb.equal(ebb.add(X, other=1.0), X.add(other=1.0))
    assert ebb.equal(ebb.sum(X, 1, True), X.sum(dim=(1,), keepdim=True))
    assert ebb.equal(ebb.sum(X, axis=1, keepdims=True), X.sum(1, True))
    assert ebb.equal(ebb.multiply(X, X), X.mul(X))


def test_overloads_are_chosen_by_kind():
    assert ebb.add(X, 2).tolist() == (X + 2).tolist()
    assert ebb.add(X, X, alpha=2).tolist() == (X * 3).tolist()
    assert X.max().item() == 5.0 and X.max(1).indices.tolist() == [2, 2]
    assert [part.shape[1] for part in X.split(2, 1)] == [2, 1]
    assert [part.shape[1] for part in X.split([1, 2], dim=1)] == [1, 2]
    assert ebb.where(X > 2, X, 0.0).sum().item() == 12.0


def test_ints_in_a_row_stand_for_a_sequence():
    assert X.reshape(3, 2).shape == X.reshape((3, 2)).shape == X.reshape([3, 2]).shape == (3, 2)
    assert X.reshape(-1).shape == X.reshape(shape=-1).shape == (6,)
    assert ebb.ones(1, 3).expand(2, 3).shape == (2, 3) and X.permute(1, 0).shape == (3, 2)


def test_out_is_written_and_returned():
    out = ebb.empty(2, 3)
    assert ebb.add(X, X, out=out) is out and ebb.equal(out, X + X)
    assert ebb.exp(X, out=None).shape == (2, 3)


def test_a_zero_dim_tensor_serves_as_a_number():
    assert ebb.full((2,), ebb.tensor(3.0)).tolist() == [3.0, 3.0]
    assert X.transpose(ebb.tensor(0), 1).shape == (3, 2)
    assert ebb.zeros(2).fill_(ebb.tensor(4.0)).tolist() == [4.0, 4.0]
    with pytest.raises(TypeError, match="requires grad"):
        ebb.full((2,), ebb.tensor(4.0, requires_grad=True))


def test_any_sequence_is_a_list():
    assert ebb.cat((X, X)).shape == ebb.cat([X, X]).shape == (4, 3)
    assert ebb.zeros(range(3)).shape == (0, 1, 2)


def test_generators_repeat_their_numbers():
    first = ebb.Generator().manual_seed(7)
    a, b = ebb.randn(5, generator=first), ebb.randn(5, generator=first)
    first.manual_seed(7)
    assert ebb.equal(ebb.randn(5, generator=first), a) and not ebb.equal(a, b)
    ebb.manual_seed(3)
    c = ebb.rand(4)
    state = ebb.get_rng_state()
    d = ebb.rand(4)
    ebb.set_rng_state(state)
    assert ebb.equal(ebb.rand(4), d) and not ebb.equal(c, d)
    ebb.manual_seed(3)
    ebb.randn(5, generator=first)  # does not touch the default generator
    assert ebb.equal(ebb.rand(4), c) and ebb.default_generator.initial_seed() == 3
    with pytest.raises(ValueError, match="what get_state"):
        first.set_state(ebb.ones(2))


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("add", "(input, other, *, out=None, alpha=1)"),
        ("matmul", "(input, other, *, out=None)"),
        ("sum", "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
        ("max", "(input, other=None, dim=None, keepdim=False, *, out=None)"),
        (
            "zeros",
            "(*size, dtype=None, device=None, out=None, requires_grad=False, layout=None, "
            "pin_memory=False)",
        ),
        ("tensor", "(data, dtype=None, device=None, requires_grad=False, *, pin_memory=False)"),
        (
            "cross_entropy",
            "(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, "
            "reduction='mean', label_smoothing=0.0)",
        ),
    ],
)
def test_functions_show_their_signature(name, signature):
    assert str(inspect.signature(getattr(ebb, name))) == signature


def test_methods_show_their_signature():
    assert str(inspect.signature(ebb.Tensor.reshape)) == "(self, /, *shape)"
    assert str(inspect.signature(ebb.Tensor.add_)) == "(self, /, other, *, alpha=1)"


def public_ops():
    return [name for name in ebb.ops.__all__ if not name.startswith("_")]


def test_every_op_has_a_signature_and_a_docstring():
    for name in public_ops():
        function = getattr(ebb, name)
        assert inspect.signature(function).parameters, name
        text = function.__doc__.partition("\n\nExample:\n")[0]
        assert text.strip().endswith((".", ")")), name


def test_importing_everything_hides_no_builtin():
    names = {}
    exec("from ebb import *", names)
    assert names["Tensor"] is ebb.Tensor and names["matmul"] is ebb.matmul
    assert not {"sum", "max", "bool", "int", "float", "slice"} & set(names)


def test_frames_are_read_directly_where_that_was_checked():
    folder = ebb.__file__.rpartition("/")[0]
    assert ebb._C._set_package(folder) is (__import__("sys").version_info[:2] == (3, 11))


def test_importing_ebb_does_not_import_numpy():
    code = "import sys, ebb; assert 'numpy' not in sys.modules; print(ebb.ones(2))"
    assert printed(code) == "tensor([1., 1.])\n"
