# satellites/torch/tests/test_aten.py -- torch.ops.aten, and files named as the function in them.

import pytest

import ebb
from ebb.torch_compat import aten
from tests.python.fresh import printed

CALLS = {
    "mul.Tensor": lambda x: (aten.mul.Tensor(x, x), x * x),
    "add.Tensor": lambda x: (aten.add.Tensor(x, x, alpha=2), 3 * x),
    "sum.dim_IntList": lambda x: (aten.sum.dim_IntList(x, [0], True), x.sum(0, keepdim=True)),
    "view.default": lambda x: (aten.view.default(x, [3, 2]), x.reshape(3, 2)),
    "t": lambda x: (aten.t(x), x.T),
    "addmm": lambda x: (aten.addmm(x[:, :2], x, x.T), x[:, :2] + x @ x.T),
    "gelu": lambda x: (aten.gelu(x, approximate="tanh"), ebb.gelu(x, approximate="tanh")),
    "add_": lambda x: (aten.add_.Tensor(x.clone(), x), x + x),
    "permute": lambda x: (aten.permute.default(x, [1, 0]), x.T),
}


@pytest.mark.parametrize("name", CALLS)
def test_ops_are_the_functions_and_methods_of_their_name(name):
    found, wanted = CALLS[name](ebb.arange(6.0).reshape(2, 3))
    assert ebb.equal(found, wanted)


def test_ops_and_overloads_are_the_same_object_each_time():
    assert aten.mm is aten.mm and aten.mm.default is aten.mm.default
    assert str(aten.mm.default) == "aten.mm.default" and aten.mm.default != aten.mm.out
    assert not hasattr(aten.mm, "_schema")


@pytest.mark.parametrize("name", ["save", "grad", "_nothing"])
def test_names_that_are_no_ops_are_told(name):
    with pytest.raises(AttributeError, match=f"ops.aten.{name}: ebb has no function or method"):
        getattr(aten, name)


@pytest.mark.parametrize(
    "name", ["native_layer_norm", "_to_copy", "embedding", "elu", "nll_loss", "alias"]
)
def test_ops_that_take_other_arguments_are_keys_and_refuse_their_call(name):
    table = {getattr(aten, name).default: 1}
    assert table[getattr(aten, name).default] == 1
    with pytest.raises(NotImplementedError, match=f"ops.aten.{name}: ebb has no function or"):
        getattr(aten, name)(ebb.ones(1))


def test_programs_find_them_under_pytorchs_names():
    code = """
import ebb.torch_compat
import torch
import torch.nn.parallel.replicate
from torch.nn.parallel import DataParallel, parallel_apply, replicate
from torch.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs
from torch.distributed import Backend
from torch._ops import OpOverload, OpOverloadPacket, ops
assert replicate is ebb.nn.parallel.replicate is torch.nn.parallel.replicate
assert gather is ebb.nn.parallel.gather and Backend("NCCL") == Backend.NCCL == "nccl"
assert ops.aten.mul is torch.ops.aten.mul and isinstance(ops.aten.mul, OpOverloadPacket)
assert isinstance(ops.aten.mul.Tensor, OpOverload)
print(torch.ops.aten.mul.Tensor(torch.ones(2), 3).tolist(), hasattr(torch.ops.aten, "nothing"))
"""
    assert printed(code) == "[3.0, 3.0] False\n"


def test_a_function_stays_where_the_file_of_its_name_is_imported():
    code = """
import importlib
import ebb.torch_compat
from ebb.torch_compat import finder
import torch
tried = []
for full in sorted(finder._FILES | finder.HOMES.keys()):
    parent, _, name = full.rpartition(".")
    home = parent and finder.module_of(parent)
    if home and callable(getattr(home, name, None)):
        importlib.import_module(full)
        assert getattr(importlib.import_module(parent), name) is getattr(home, name), full
        tried.append(full)
print(*tried)
"""
    tried = printed(code).split()
    assert {"torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm"} <= set(tried)


def test_names_of_backends_are_texts():
    assert isinstance(ebb.distributed.Backend("Gloo"), str)
    with pytest.raises(ValueError, match="Backend: needs a text, got int"):
        ebb.distributed.Backend(1)
