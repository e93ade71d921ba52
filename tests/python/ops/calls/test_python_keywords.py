# tests/python/ops/calls/test_python_keywords.py -- out= and other keywords of functions that are
# written in Python, in terms of ops.
import pytest

import ebb
from ebb import nn

A = ebb.tensor([[2.0, 1.0], [1.0, 3.0]])
X = ebb.tensor([[3.0, 0.0], [0.0, 4.0]])
CALLS = {
    "linalg.vector_norm": lambda **given: ebb.linalg.vector_norm(X, **given),
    "linalg.matrix_norm": lambda **given: ebb.linalg.matrix_norm(X, "nuc", **given),
    "linalg.norm": lambda **given: ebb.linalg.norm(X, 1, 0, **given),
    "linalg.cond": lambda **given: ebb.linalg.cond(X, **given),
    "linalg.tensorinv": lambda **given: ebb.linalg.tensorinv(A, 1, **given),
    "linalg.tensorsolve": lambda **given: ebb.linalg.tensorsolve(A, X[1], **given),
    "tensordot": lambda **given: ebb.tensordot(A, X, 1, **given),
    "chain_matmul": lambda **given: ebb.chain_matmul(A, X, A, **given),
    "nonzero": lambda **given: ebb.nonzero(X, **given),
    "logspace": lambda **given: ebb.logspace(0, 2, 3, **given),
    "range": lambda **given: ebb.range(1, 3, **given),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_written_to_out(name):
    wanted = CALLS[name]()
    out = ebb.zeros_like(wanted)
    assert CALLS[name](out=out) is out
    assert out.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", CALLS)
def test_an_out_that_cannot_take_them_is_refused_by_name(name):
    wanted = CALLS[name]()
    refused = {
        "'out' must have the shape": ebb.zeros((*wanted.shape, 2), dtype=wanted.dtype),
        "can't be cast to the type of 'out', bool": ebb.zeros(wanted.shape, dtype=ebb.bool),
        "argument 'out' must be Tensor, got list": [],
    }
    for text, out in refused.items():
        with pytest.raises(ebb.Error) as caught:
            CALLS[name](out=out)
        assert text in str(caught.value)
        assert str(caught.value).startswith(name)


def test_no_gradient_passes_through_the_out_of_a_python_function():
    x = X.clone().requires_grad_()
    with pytest.raises(ebb.AutogradError, match=r"^linalg.norm: the out= form"):
        ebb.linalg.norm(x, out=ebb.zeros(()))
    with ebb.no_grad():
        assert ebb.linalg.norm(x, out=ebb.zeros(())).item() == 5


def test_the_places_of_nonzero_are_one_tensor_where_out_is_given():
    with pytest.raises(ebb.errors.ValueError, match="nonzero: out is one tensor"):
        ebb.nonzero(X, as_tuple=True, out=ebb.zeros(2, 2, dtype=ebb.int64))


def test_resized_memory_is_contiguous():
    x, like = ebb.arange(4), ebb.zeros(2, 2)
    assert x.resize_(2, 2, memory_format=ebb.contiguous_format).shape == (2, 2)
    assert ebb.zeros(4).resize_as_(like, memory_format=None).shape == (2, 2)
    with pytest.raises(ebb.errors.ValueError, match=r"^resize_: memory_format must be contig"):
        x.resize_(4, memory_format=ebb.channels_last)


def test_none_stands_for_the_usual_indexing():
    grids = ebb.meshgrid(ebb.arange(2), ebb.arange(3), indexing=None)
    assert grids[0].shape == (2, 3)


def test_stacks_of_layers_take_pytorchs_arguments():
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    stack = nn.TransformerEncoder(
        encoder_layer=layer, num_layers=2, enable_nested_tensor=False, mask_check=False
    )
    assert len(stack.layers) == 2
    whole = nn.TransformerDecoder(decoder_layer=nn.TransformerDecoderLayer(4, 2, 8), num_layers=1)
    assert len(whole.layers) == 1


@pytest.mark.parametrize("name", ["BatchNorm1d", "InstanceNorm1d"])
def test_lazy_norms_may_have_a_weight_alone(name):
    lazy = getattr(nn, f"Lazy{name}")(bias=False)
    lazy(ebb.randn(2, 3, 4))
    assert lazy.weight.shape == (3,)
    assert lazy.bias is None
    assert type(lazy) is getattr(nn, name)
    assert lazy.running_mean.shape == (3,)
    assert nn.SyncBatchNorm(3, bias=False).bias is None
