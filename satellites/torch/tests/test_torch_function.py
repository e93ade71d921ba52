# satellites/torch/tests/test_torch_function.py -- __torch_function__: classes written for PyTorch
# take
# part in functions, and subclasses of Tensor are kept by them.
import operator
from typing import ClassVar

import pytest

import ebb
from tests.cases import each_of


def noting(base, answer=None):
    """A class that notes what it is asked for; it answers, or makes the call."""

    class Noting(base):
        asked: ClassVar[list] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.asked.append((func, args))
            return answer or super().__torch_function__(func, types, args, kwargs)

    return Noting


def a_tensor(cls):
    return ebb.ones(2).as_subclass(cls)


# As PyTorch 2.15 asks: for `s` of a class, `t` a plain tensor.
OPERATORS = {
    "s + t": (operator.add, "st", "add", "st"),
    "t + s": (operator.add, "ts", "add", "ts"),
    "1 + s": (operator.add, "1s", "add", "s1"),
    "t - s": (operator.sub, "ts", "sub", "ts"),
    "1 - s": (operator.sub, "1s", "__rsub__", "s1"),
    "t / s": (operator.truediv, "ts", "div", "ts"),
    "t // s": (operator.floordiv, "ts", "__floordiv__", "ts"),
    "s % t": (operator.mod, "st", "remainder", "st"),
    "t ** s": (operator.pow, "ts", "__pow__", "ts"),
    "t @ s": (operator.matmul, "ts", "matmul", "ts"),
    "t & s": (operator.and_, "ts", "__and__", "ts"),
    "1 | s": (operator.or_, "1s", "bitwise_or", "s1"),
    "t < s": (operator.lt, "ts", "gt", "st"),
    "s == t": (operator.eq, "st", "__eq__", "st"),
    "t != s": (operator.ne, "ts", "ne", "st"),
    "s += t": (operator.iadd, "st", "add_", "st"),
    "t //= s": (operator.ifloordiv, "ts", "floor_divide_", "ts"),
}


@each_of(OPERATORS)
def test_an_operator_is_asked_for_as_the_method_that_pytorch_names(name):
    run, given, method, passed = OPERATORS[name]
    kind = noting(ebb.Tensor, "asked")
    values = {"s": a_tensor(kind), "t": ebb.ones(2), "1": 1}
    assert run(*(values[one] for one in given)) == "asked"
    [(func, args)] = kind.asked
    if method == "ne":  # which of two equal tensors comes first is no matter
        passed, args = sorted(passed), sorted(args, key=lambda one: type(one) is ebb.Tensor)
    assert func is vars(ebb.Tensor)[method]
    assert all(one is values[name] for one, name in zip(args, passed, strict=True))


FUNCTIONS = {
    "torch.add": 2,
    "torch.gt": 2,
    "torch.absolute": 1,
    "torch.einsum": ("i->i",),
    "torch.linalg.inv": 1,
    "torch.linalg.norm": 1,
    "torch.inverse": 1,
    "torch.special.expit": 1,
    "torch.fft.fft": 1,
    "torch.broadcast_tensors": 2,
    "torch.nn.functional.relu": 1,
    "torch.nn.functional.cross_entropy": 2,
    "torch.nn.functional.interpolate": 1,
    "torch.nn.functional.bilinear": 3,
    "torch.nn.init.uniform_": 1,
}


@each_of([(name, base) for name in FUNCTIONS for base in (ebb.Tensor, object)])
def test_a_function_is_asked_for_by_the_name_it_was_called_by(name, base):
    import torch

    cls = noting(base, "asked")
    one = cls() if base is object else a_tensor(cls)
    function = operator.attrgetter(name.removeprefix("torch."))(torch)
    count = FUNCTIONS[name]
    args = (*count, one) if isinstance(count, tuple) else (one,) * count
    assert function(*args) == "asked"
    assert [func for func, _ in cls.asked] == [function]


def test_super_makes_the_call_and_gives_the_result_the_class(torch):
    kind = noting(torch.Tensor)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x.as_subclass(kind) * 3).sum()
    assert type(y) is kind
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert torch.Tensor.mul in [func for func, _ in kind.asked]


def test_properties_ask_the_class(torch):
    kind = noting(torch.Tensor, "asked")
    assert a_tensor(kind).shape == "asked"
    assert kind.asked[0][0] == torch.Tensor.shape.__get__


def test_a_subclass_without_the_method_is_kept_by_operations(torch):
    class Kept(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Kept)
    for made in (x + 1, 1 + x, torch.ones(2) * x, x.exp(), torch.exp(x), x[0], x.view(2, 1)):
        assert type(made) is Kept
    assert type(torch.cat([torch.ones(1), x])) is Kept
    assert type(torch.max(x, 0).values) is Kept
    assert type(torch.nn.functional.softmax(x, 0)) is Kept


def test_parameters_are_not_kept(torch):
    assert type(torch.nn.Parameter(torch.ones(1)) * 2) is torch.Tensor
    assert type(torch.nn.Buffer(torch.ones(1)) * 2) is torch.Tensor


def test_a_class_may_take_no_part(torch):
    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert type(torch.ones(1).as_subclass(Plain) + 1) is torch.Tensor


def test_a_subclass_of_before_is_kept_too():
    class Early(ebb.Tensor):
        pass

    x = ebb.ones(1).as_subclass(Early)
    from ebb.torch_compat import finder

    finder.uninstall()
    assert type(x + 1) is ebb.Tensor and type(ebb.exp(x)) is ebb.Tensor
    finder.install()
    assert type(x + 1) is Early and type(ebb.exp(x)) is Early


def test_the_protocol_is_switched_off_by_pytorchs_names(torch):
    x = a_tensor(noting(torch.Tensor, "asked"))
    with torch._C.DisableTorchFunctionSubclass():
        assert type(torch.exp(x)) is torch.Tensor
    assert torch.exp(x) == "asked"


def test_functions_of_programs_take_part_by_pytorchs_names(torch):
    from torch.overrides import (
        handle_torch_function,
        has_torch_function,
        has_torch_function_unary,
        has_torch_function_variadic,
        is_tensor_like,
        resolve_name,
    )

    one = noting(object, "asked")()

    def double(x):
        if has_torch_function((x,)):
            return handle_torch_function(double, (x,), x)
        return 2 * x

    assert double(one) == "asked" and double(1) == 2
    assert has_torch_function_unary(one) and has_torch_function_variadic(1, one)
    assert not has_torch_function_unary(torch.ones(1)) and is_tensor_like(one)
    assert resolve_name(torch.Tensor.add) == "torch.Tensor.add"


def test_classes_that_mix_the_method_in_take_part():
    class Mixin:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "mixed"

    class Mixed(Mixin, ebb.Tensor):
        pass

    assert a_tensor(Mixed) + 1 == "mixed" and ebb.exp(a_tensor(Mixed)) == "mixed"


def test_tensors_of_pytorch_are_not_asked():
    class Foreign:  # as PyTorch's tensors are
        __torch_dispatch__ = None

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "asked"

    with pytest.raises(TypeError, match="must be Tensor"):
        ebb.exp(Foreign())


def test_a_function_that_asks_again_is_refused():
    """As PyTorch's own functions do, which do not know what ebb has switched off."""
    x = ebb.ones(2)

    def foreign(one):
        return ebb.Tensor.__torch_function__(foreign, (ebb.Tensor,), (one,))

    assert foreign(x) is NotImplemented
    assert foreign(x) is NotImplemented  # and nothing stays of it
