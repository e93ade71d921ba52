# tests/python/package/test_naming.py -- errors name the function that was called, and the argument.
#
# tests/fuzz/hostile/test_calls.py tries every public callable; here is what such errors say.
"""Errors of functions written in Python, of aliases, and of ops that are made of others."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional
X = ebb.ones(2, 3)


# A call, the class of its error, and how its text starts.
CALLS = {
    "first argument": (lambda: F.interpolate("a"), TypeError, "interpolate: argument 'input'"),
    "third argument": (lambda: F.embedding(X, X, "a"), TypeError, "embedding: argument 'padding_"),
    "one of many": (lambda: F.interpolate(X, "a"), ebb.ShapeError, "interpolate: mode 'nearest'"),
    "init": (lambda: nn.init.uniform_(X, "a"), TypeError, "uniform_: argument 'a' must"),
    "no annotations": (lambda: ebb.finfo(3), TypeError, "finfo: cannot be called with dtype=3 ("),
    "alias": (lambda: ebb.arcsin("a"), TypeError, "arcsin(): argument 'input'"),
    "alias as method": (lambda: X.arcsin(3), TypeError, "arcsin(): takes 0 positional"),
    "inner op": (lambda: ebb.clamp(X * 1j, 1), TypeError, "clamp: 'input' must have dtype"),
    "out form": (lambda: ebb.sin(X, out=ebb.ones(3)), ValueError, "sin: 'out' must have"),
    "inner function": (lambda: nn.init.constant_(X, 1j), ValueError, "constant_: fill_: the numb"),
    "layer by its op": (lambda: nn.Linear(3, 3)("a"), TypeError, "linear(): argument 'input'"),
    "constructor": (lambda: nn.Linear("a", 3), TypeError, "Linear: argument 'in_features'"),
    "missing argument": (lambda: nn.Conv2d(), TypeError, "Conv2d(): missing 3 required"),
    "private base": (lambda: nn.AdaptiveAvgPool2d(), TypeError, "AdaptiveAvgPool2d(): missing 1"),
    "surplus keyword": (lambda: F.interpolate(X, foo=1), TypeError, "interpolate(): got an un"),
    "method": (lambda: ebb.optim.SGD([X], lr=0.1).add_param_group(3), TypeError, "add_param_group"),
    "conversion": (lambda: ebb.manual_seed(ebb.ones(3)), TypeError, "manual_seed: needs an int"),
    "overflow": (lambda: X.reshape([2**80]), ValueError, "reshape: needs a number of"),
    "iteration": (lambda: ebb.autograd.backward(np.array(None)), TypeError, "backward(): iter"),
    "hook": (lambda: nn.ReLU().register_forward_hook(3), TypeError, "register_forward_hook: arg"),
    "no hook": (lambda: nn.ReLU().register_forward_hook(None), TypeError, "register_forw"),
    "kept": (lambda: ebb.data.DataLoader([], collate_fn=3), TypeError, "DataLoader: argument"),
    "keyword": (lambda: X.to(ebb.int8, foo=1), TypeError, "to(): got an unexpected"),
    "device": (lambda: X.to("cpu:99"), ValueError, "to: needs a device that is there"),
    "a device's name": (lambda: ebb.device("\udc80"), ValueError, "device(): 'utf-8' codec"),
    "setter": (lambda: setattr(X, "name", "\udc80"), ValueError, "name(): 'utf-8' codec"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_an_error_names_what_was_called(case):
    call, kind, text = CALLS[case]
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, ebb.Error)
    assert str(caught.value).startswith(text)


def test_an_op_without_a_kernel_is_named_with_the_op_that_has_one_missing():
    with pytest.raises(ebb.errors.NotImplementedError, match=r"^std: "):
        ebb.std(ebb.eye(3).to_sparse())


def test_errors_of_the_users_code_stay_as_they_are():
    class Angry:
        def __index__(self):
            raise KeyError("angry")

    def fails(*args):
        raise ZeroDivisionError("mine")

    with pytest.raises(KeyError, match=r"^'angry'$"):
        F.softmin(X, Angry())
    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        ebb.utils.checkpoint.checkpoint(fails, X, use_reentrant=False)
    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        nn.Linear(2, 2).apply(fails)


def test_a_users_module_is_not_named_for_what_it_calls():
    class Mine(nn.Module):
        def forward(self, x):
            return F.embedding(x, x, "a")

    with pytest.raises(TypeError, match=r"^embedding: argument 'padding_idx'"):
        Mine()(X)


def test_the_first_error_is_the_cause_of_what_is_told():
    with pytest.raises(ebb.DTypeError) as caught:
        F.interpolate("a")
    assert isinstance(caught.value.__cause__, AttributeError)


def test_missing_keys_stay_key_errors():
    with pytest.raises(KeyError, match=r"^pop: cannot be called with key='a'") as caught:
        nn.ModuleDict().pop("a")
    assert isinstance(caught.value, ebb.Error)


def test_files_that_are_not_there_keep_their_class(tmp_path):
    with pytest.raises(OSError, match="load_npz"):
        ebb.load_npz(tmp_path / "none.npz")


def test_public_functions_are_functions_to_all_who_ask():
    for function in (F.interpolate, nn.Linear.forward, nn.init.uniform_, ebb.Tensor.new_zeros):
        assert inspect.isfunction(function) and function.__code__.co_name
        assert inspect.signature(function).parameters
        assert repr(function).startswith("<function ")
    function = F.interpolate
    assert function.__name__ == "interpolate" and function.__doc__.startswith("Return an image")
    assert inspect.ismethod(nn.Linear(2, 2).forward)
    assert copy.deepcopy(function) is function
    assert pickle.loads(pickle.dumps(function)) is function
    assert [*inspect.signature(nn.Linear).parameters][:2] == ["in_features", "out_features"]


def test_a_subclass_may_override_and_call_what_it_inherits():
    class Mine(nn.Linear):
        def __init__(self):
            super().__init__(3, 2)

        def forward(self, x):
            return super().forward(x) * 0

    assert Mine()(X).tolist() == [[0.0, 0.0], [0.0, 0.0]]
