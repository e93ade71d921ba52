# satellites/torch/tests/test_absent.py -- classes that may be named and derived from, and not made.

import pytest

import ebb
from ebb.torch_compat import absent, alone
from tests.python.fresh import printed


@pytest.mark.parametrize(
    "name", [*absent.__all__, *(name.rpartition(".")[2] for name in absent.NAMES)]
)
def test_they_refuse_to_be_made(name):
    kind = getattr(absent, name)
    assert kind.__doc__.startswith("Refuse: ") and not isinstance(ebb.ones(1), kind)
    with pytest.raises(NotImplementedError, match=rf"^{name}: "):
        kind(1, key=2)
    derived = type("Derived", (kind,), {})
    with pytest.raises(NotImplementedError, match=rf"^{name}: "):
        derived()


def test_operations_are_not_counted(caplog):
    counter = absent.FlopCounterMode(display=False)
    with counter:
        ebb.ones(2, 2) @ ebb.ones(2, 2)
    for ask in (counter.get_total_flops, counter.get_flop_counts):
        with pytest.raises(NotImplementedError, match=f"^{ask.__name__}: ebb counts no operations"):
            ask()
    assert "FlopCounterMode: ebb counts no operations" in caplog.text


def test_any_class_of_packages_for_several_processes_may_be_named_and_not_made():
    kind = alone.FullyShardedDataParallel
    assert kind is alone.FullyShardedDataParallel and not isinstance(ebb.nn.Linear(1, 1), kind)
    with pytest.raises(NotImplementedError, match="FullyShardedDataParallel: ebb runs in one"):
        kind(ebb.nn.Linear(1, 1))
    assert alone.DTensor is absent.DTensor and alone.is_available() is False
    with pytest.raises(AttributeError, match="has no attribute '__nothing__'"):
        alone.__nothing__  # noqa: B018


def test_any_function_of_them_decorates_and_refuses_its_call():
    def step(x):
        return x

    decorated = alone.api._require_initialized(step)
    assert decorated.__name__ == "step"
    for call in (decorated, alone.rpc_sync):
        with pytest.raises(NotImplementedError, match="ebb runs in one process"):
            call(1)


def test_programs_import_what_they_do_not_use():
    code = """
import ebb.torch_compat
import torch
import torch.distributed.rpc as rpc
from torch.distributed._tensor.experimental import implicit_replication
from torch.distributed.checkpoint.state_dict import StateDictOptions
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from torch.utils.flop_counter import FlopCounterMode
from torch._C import _TensorMeta, Value
from torch.fx.node import Node
assert torch.distributed.fsdp.FullyShardedDataParallel is FullyShardedDataParallel
assert isinstance(torch.Tensor, _TensorMeta) and not rpc.is_available()
print(torch.distributed.is_available(), hasattr(torch.distributed, "nothing"))
"""
    assert printed(code) == "False False\n"
