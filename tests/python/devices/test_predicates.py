# tests/python/devices/test_predicates.py -- what a tensor says of itself: its place, its keeping.
import copy
import pickle

import pytest

import ebb

PLACES = ("is_cpu", "is_cuda", "is_meta", "is_mps", "is_xpu", "is_custom_device")


def test_exactly_one_place_is_true():
    on_device = ebb.ones(2, device="sim:0")
    for tensor, place in ((ebb.ones(2), "is_cpu"), (ebb.ones(()), "is_cpu"),
                          (on_device, "is_custom_device"), (on_device.cpu(), "is_cpu"),
                          (ebb.ones(2, device="meta"), "is_meta"),
                          (ebb.eye(2).to_sparse(), "is_cpu")):  # fmt: skip
        assert [name for name in PLACES if getattr(tensor, name)] == [place]
        assert tensor.is_pinned() is False


@pytest.mark.parametrize("name", PLACES)
def test_a_place_cannot_be_assigned(name):
    with pytest.raises(AttributeError):
        setattr(ebb.ones(1), name, True)


def test_a_new_tensor_has_the_marks_of_a_leaf_without_gradient():
    x = ebb.ones(2)
    assert x.grad is None and x.grad_fn is None and x.output_nr == 0
    assert x.stop_gradient and not x.persistable and not x.retains_grad


def test_what_is_set_is_reflected():
    x = ebb.ones(2)
    x.stop_gradient = False
    assert x.requires_grad and not x.stop_gradient
    x.persistable = True
    assert x.persistable and copy.deepcopy(x).persistable
    assert pickle.loads(pickle.dumps(x)).persistable
    assert ebb.nn.Parameter(ebb.ones(1)).persistable and not (x * 2).persistable
    with pytest.raises(TypeError, match="persistable: needs a bool, got int"):
        x.persistable = 1
