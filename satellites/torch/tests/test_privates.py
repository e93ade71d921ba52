# satellites/torch/tests/test_privates.py -- what copied code imports from PyTorch's own files.
import pytest

import ebb
from ebb import nn
from ebb.nn.modules import utils as layers
from ebb.torch_compat import privates


def test_an_exception_is_raised_again_with_its_place():
    class PickyError(Exception):
        def __init__(self, one, two):
            super().__init__(one, two)

    for kind, arguments, found in (
        (ValueError, ("bad",), ValueError),
        (KeyError, ("key",), KeyError),
        (PickyError, (1, 2), RuntimeError),
    ):
        try:
            raise kind(*arguments)
        except Exception:
            held = privates.ExceptionWrapper(where="in replica 1")
        with pytest.raises(found, match=f"Caught {kind.__name__} in replica 1.*"):
            held.reraise()
        assert "test_privates.py" in held.exc_msg


def test_a_function_that_may_write_into_its_input_runs():
    class Double(privates.InplaceFunction):
        @staticmethod
        def forward(ctx, x, inplace):
            if inplace:
                ctx.mark_dirty(x)
                return x.mul_(2)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    x = ebb.ones(2, requires_grad=True)
    Double.apply(x * 1, True).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_norms_are_taken_over_all_dims_but_one():
    x = ebb.arange(24.0).reshape(2, 3, 4)
    assert privates.norm_except_dim(x, 2, 1).shape == (1, 3, 1)
    assert ebb.allclose(privates.norm_except_dim(x, 2, -1), x.norm())
    assert ebb.allclose(privates.norm_except_dim(x, 1, 2)[0, 0], x.sum((0, 1)))
    assert privates.norm_except_dim(ebb.tensor([-3.0, 4.0])).tolist() == [3, 4]


def test_norms_of_inner_order_are_those_of_nn():
    x, weight = ebb.randn(4, 2, 3), ebb.tensor([2.0, 3.0])
    mean, var = ebb.zeros(2), ebb.ones(2)
    made = privates.batch_norm(x, weight, None, mean, var, False, 0.1, 1e-5, True)
    assert ebb.equal(made, nn.functional.batch_norm(x, mean, var, weight, None))
    made = privates.instance_norm(x, weight, None, None, None, True, 0.1, 1e-5, True)
    assert ebb.equal(made, nn.functional.instance_norm(x, weight=weight))


def test_ways_to_reduce_have_numbers_and_older_names():
    named = privates.Reduction
    assert [named.get_enum(one) for one in ("none", "mean", "sum")] == [0, 1, 2]
    assert named.legacy_get_string(True, False) == "none"
    assert named.legacy_get_string(None, True) == "mean"


@pytest.mark.parametrize("call, kind, text", [
    (lambda: layers.list_with_default([1, 2], [3]), ValueError, "for more than 2 sizes, got 1"),
    (lambda: layers.get_activation_fn("tanh"), ValueError, "needs relu or gelu, got 'tanh'"),
    (lambda: privates.detach_variable([]), TypeError, "needs a tuple, got list"),
    (lambda: privates.Reduction.get_enum("max"), ValueError, "needs none, mean or sum, got 'max'"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_check_of_gradients_warns():
    with pytest.warns(UserWarning, match="no input requires a gradient"):
        privates.check_backward_validity([ebb.ones(1), 3])


def test_loaders_are_known_by_what_goes_over_them():
    from ebb.data import loader

    batches = iter(ebb.data.DataLoader(range(3)))
    assert isinstance(batches, loader._SingleProcessDataLoaderIter) and len(batches) == 3
    assert issubclass(loader._MultiProcessingDataLoaderIter, loader._BaseDataLoaderIter)
    assert [one.item() for one in batches] == [0, 1, 2]


def test_arguments_of_to_are_told_apart():
    like = ebb.ones(1, dtype=ebb.float64)
    cpu = ebb.device("cpu")
    assert privates.parse_to("cpu", ebb.float16) == (cpu, ebb.float16, False, None)
    assert privates.parse_to(ebb.float16, True) == (None, ebb.float16, True, None)
    assert privates.parse_to(like, True)[:3] == (cpu, ebb.float64, True)
    assert privates.parse_to(tensor=like)[:2] == (cpu, ebb.float64)
    assert privates.parse_to(dtype=ebb.int8, device="cpu")[:2] == (cpu, ebb.int8)


def test_a_device_has_a_number_or_is_told():
    assert privates.device_index(3) == 3 and privates.device_index("cuda:2") == 2
    for device in ("cpu", None):
        with pytest.raises(ValueError, match="_get_device_index: needs a device"):
            privates.device_index(device)


def test_a_class_that_wants_no_function_of_its_own_calls_plainly():
    class Plain(ebb.Tensor):
        __torch_function__ = privates.disabled_torch_function_impl

    made = ebb.ones(2).as_subclass(Plain)
    assert ebb.equal(ebb.neg(made), -ebb.ones(2)) and type(made * 2) is ebb.Tensor
