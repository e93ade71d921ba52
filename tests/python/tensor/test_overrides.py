# tests/python/tensor/test_overrides.py -- __ebb_function__: classes that take part in ebb's
# functions.
import copy
import gc
import re
import weakref
from typing import ClassVar

import pytest

import ebb
from ebb import overrides
from tests.cases import each_of
from tests.python.threads import on_threads


class Logged(ebb.Tensor):
    """Notes every call that it is asked about, and makes it."""

    calls: ClassVar[list] = []

    @classmethod
    def __ebb_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(overrides.resolve_name(func))
        return super().__ebb_function__(func, types, args, kwargs)


class LoggedMore(Logged):
    pass


class Diagonal:
    """No tensor, but acts like one."""

    def __init__(self, size, value):
        self.size, self.value = size, value

    @classmethod
    def __ebb_function__(cls, func, types, args=(), kwargs=None):
        if func is ebb.mean:
            return args[0].value / args[0].size
        if func in (ebb.add, ebb.Tensor.__add__, ebb.Tensor.__radd__, ebb.Tensor.__iadd__):
            return "added"
        if func in (ebb.cat, ebb.matmul, ebb.Tensor.__matmul__, ebb.Tensor.add):
            return overrides.resolve_name(func)
        return NotImplemented


class Plain(ebb.Tensor):
    pass


def logged(*values, **options):
    Logged.calls = LoggedMore.calls = []
    return ebb.tensor(list(values), **options).as_subclass(Logged)


@pytest.fixture
def x():
    x = logged(1.0, 2.0, 3.0)
    Logged.calls.clear()
    return x


CALLS = {
    "ebb.exp": lambda x: ebb.exp(x),
    "ebb.add": lambda x: ebb.add(ebb.ones(3), x),
    "ebb.sum": lambda x: ebb.sum(x, 0, keepdim=True),
    "ebb.cat": lambda x: ebb.cat([ebb.ones(1), x]),
    "ebb.where": lambda x: ebb.where(ebb.ones(3) > 0, x, ebb.zeros(3)),
    "ebb.Tensor.exp": lambda x: x.exp(),
    "ebb.Tensor.add": lambda x: ebb.ones(3).add(x),
    "ebb.Tensor.sum": lambda x: x.sum(dim=0),
    "ebb.Tensor.__add__": lambda x: x + 1,
    "ebb.Tensor.__radd__": lambda x: ebb.ones(3) + x,
    "ebb.Tensor.__rsub__": lambda x: 1 - x,
    "ebb.Tensor.__neg__": lambda x: -x,
    "ebb.Tensor.__gt__": lambda x: x > 1,
    "ebb.Tensor.__matmul__": lambda x: x @ x,
    "ebb.Tensor.__getitem__": lambda x: x[0],
    "ebb.Tensor.clone": lambda x: x.clone(),
    "ebb.Tensor.new_tensor": lambda x: x.new_tensor([1.0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_methods_and_operators_ask_the_class(x, name):
    result = CALLS[name](x)
    assert Logged.calls == [name] or name == "ebb.Tensor.new_tensor"
    assert name.rsplit(".", 1)[1] in Logged.calls[0]
    assert type(result) is Logged


@pytest.mark.parametrize("name", ["shape", "dtype", "requires_grad", "grad", "is_leaf", "ndim"])
def test_properties_ask_the_class(x, name):
    assert getattr(x, name) == getattr(ebb.ones(3), name)
    assert Logged.calls == [f"ebb.Tensor.{name}.__get__"]


def test_properties_can_be_set(x):
    x.requires_grad = True
    assert Logged.calls == ["ebb.Tensor.requires_grad.__set__"]
    assert x.requires_grad
    with pytest.raises(AttributeError):
        x.shape = (1,)


def test_the_protocol_gets_function_types_args_and_kwargs():
    seen = []

    class Spy(ebb.Tensor):
        @classmethod
        def __ebb_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, types, args[1:], kwargs))
            return "spied"

    spy = ebb.ones(2).as_subclass(Spy)
    assert ebb.sum(spy, 0, keepdim=True) == "spied"
    assert spy.sum(dim=0) == "spied"
    assert seen == [
        (ebb.sum, (Spy,), (0,), {"keepdim": True}),
        (ebb.Tensor.sum, (Spy,), (), {"dim": 0}),
    ]


def test_results_keep_values_history_and_class(x):
    w = logged(2.0, 2.0, 2.0, requires_grad=True)
    y = (w * x).sum()
    assert type(y) is Logged and y.requires_grad
    y.backward()
    assert w.is_leaf is False  # as_subclass is recorded
    leaf = ebb.tensor([2.0, 3.0], requires_grad=True)
    (leaf.as_subclass(Logged) * 3.0).sum().backward()
    assert leaf.grad.tolist() == [3.0, 3.0]


def test_results_that_were_there_before_keep_their_class(x):
    plain = ebb.ones(3)
    result = plain.add_(x)
    assert type(plain) is ebb.Tensor and type(result) is Logged
    assert plain.tolist() == [2.0, 3.0, 4.0]


def test_several_results_are_converted(x):
    values, indices = ebb.max(x, 0)
    assert type(values) is Logged and type(indices) is Logged
    parts = ebb.split(x, 1)
    assert [type(part) for part in parts] == [Logged] * 3


def test_a_subclass_is_asked_before_its_base(x):
    order = []

    class Base(ebb.Tensor):
        @classmethod
        def __ebb_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    class Derived(Base):
        pass

    class Other:
        @classmethod
        def __ebb_function__(cls, func, types, args=(), kwargs=None):
            order.append("Other")
            return "answered"

    base, derived = ebb.ones(1).as_subclass(Base), ebb.ones(1).as_subclass(Derived)
    assert ebb.cat([base, derived, base, Other()]) == "answered"
    assert order == ["Derived", "Base", "Other"]


def test_classes_that_all_refuse_are_named():
    with pytest.raises(TypeError, match=r"ebb\.sin: no implementation found .*, got Diagonal"):
        ebb.sin(Diagonal(3, 1.0))


def test_objects_that_are_no_tensors_take_part():
    d = Diagonal(4, 2.0)
    assert ebb.mean(d) == 0.5
    assert ebb.add(ebb.ones(2), d) == "added"
    assert ebb.ones(2).add(d) == "ebb.Tensor.add"
    assert ebb.ones(2) + d == "added" and d + ebb.ones(2) == "added"
    assert ebb.ones(2, 2) @ d == "ebb.Tensor.__matmul__"
    assert ebb.matmul(d, ebb.ones(2)) == "ebb.matmul"
    assert ebb.cat([ebb.ones(2), d]) == "ebb.cat"
    y = ebb.ones(2)
    y += d
    assert y == "added"


def parameters_of(function):
    """The names in the first line of a docstring: f($module, a, b=1)."""
    words = re.findall(r"(\w+)(?=[,=)])", (function.__doc__ or "").split("\n")[0])
    return [word for word in words if not word.isdigit() and word not in ("None", "True", "False")]


WRITTEN_BY_HAND = {
    "backward": lambda d: ebb.ones(2, requires_grad=True).sum().backward(gradient=d),
    "requires_grad_": lambda d: ebb.ones(2).requires_grad_(d),
    "grad": lambda d: ebb.autograd.grad(ebb.ones(2), ebb.ones(2), allow_unused=d),
    "tensor": lambda d: ebb.tensor(1, dtype=d),
    "as_tensor": lambda d: ebb.as_tensor(1, device=d),
    "size": lambda d: ebb.ones(2).size(d),
    "Tensor": lambda d: ebb.Tensor(2, dtype=d),
}


@pytest.mark.parametrize("name", WRITTEN_BY_HAND)
def test_functions_outside_the_op_table_ask_the_class(name):
    class Named:
        @classmethod
        def __ebb_function__(cls, function, types, args=(), kwargs=None):
            return function.__name__

    assert WRITTEN_BY_HAND[name](Named()) == name


PUBLIC = {
    f"{owner.__name__}.{name}": getattr(owner, name)
    for owner in (ebb._C, ebb.Tensor, ebb.autograd)
    for name in dir(owner)
    if callable(getattr(owner, name)) and not name.startswith("_")
}


@each_of(PUBLIC)
def test_any_argument_may_have_a_class_that_takes_part(name):
    function, d = PUBLIC[name], Diagonal(3, 1.0)
    calls = [((ebb.ones(2),) * before + (d,), {}) for before in range(4)]
    calls += [((ebb.ones(2),), {word: d}) for word in parameters_of(function)]
    for args, kwargs in calls:
        try:
            function(*args, **kwargs)
        except ebb.InternalError:
            raise
        except (TypeError, ValueError, AttributeError, RuntimeError):
            pass
        finally:  # what switches a mode for good
            for switch in ("set_detect_anomaly", "set_check_nan_inf", "set_trace_cuts"):
                getattr(ebb.autograd, switch)(False)


def test_nn_functional_asks_through_its_ops(x):
    assert type(ebb.nn.functional.relu(x)) is Logged
    linear = ebb.nn.Linear(3, 2)
    assert type(linear(x)) is Logged


def test_the_protocol_can_be_switched_off_for_a_thread(x):
    with overrides.DisableEbbFunctionSubclass():
        assert type(ebb.exp(x)) is ebb.Tensor and type(x + 1) is ebb.Tensor
        assert not overrides.has_ebb_function([x])
        types = []
        on_threads(lambda: types.append(type(ebb.exp(x))))
    assert types == [Logged]
    assert overrides.has_ebb_function([1, x])


def test_an_error_leaves_the_protocol_on(x):
    with pytest.raises(ValueError):
        ebb.reshape(x, [7])
    assert type(ebb.exp(x)) is Logged


def test_plain_subclasses_take_no_part():
    p = ebb.ones(2, requires_grad=True).as_subclass(Plain)
    assert type(p) is Plain and p.requires_grad
    assert type(p + 1) is ebb.Tensor and type(ebb.exp(p)) is ebb.Tensor
    assert not overrides.has_ebb_function([p, ebb.nn.Parameter(ebb.ones(1))])


def test_none_takes_a_class_out_again():
    class Quiet(Logged):
        __ebb_function__ = None

    quiet = ebb.ones(2).as_subclass(Quiet)
    assert type(ebb.exp(quiet)) is ebb.Tensor and type(quiet + 1) is ebb.Tensor


def test_a_method_of_the_class_itself_wins():
    class Own(Logged):
        def exp(self):
            return "mine"

    class OwnMore(Own):
        @classmethod
        def __ebb_function__(cls, func, types, args=(), kwargs=None):
            return "asked"

    assert ebb.ones(1).as_subclass(Own).exp() == "mine"
    assert ebb.ones(1).as_subclass(OwnMore).exp() == "mine"
    assert ebb.ones(1).as_subclass(OwnMore).sin() == "asked"


def test_mixed_classes_meet(x):
    more = ebb.ones(3).as_subclass(LoggedMore)
    assert type(x + more) is LoggedMore and type(ebb.add(x, more)) is LoggedMore


def test_functions_of_users_can_take_part(x):
    @overrides.wrap_ebb_function(lambda a, b: (a, b))
    def combine(a, b):
        return "plain"

    assert combine(1, ebb.ones(1)) == "plain"
    Logged.calls.clear()
    assert combine(1, x) == "plain"
    assert Logged.calls[0].endswith("combine")


def test_what_makes_tensors_of_numbers_asks_nobody():
    ignored = ebb.overrides.get_ignored_functions()
    assert {ebb.zeros, ebb.randint, ebb.hann_window, ebb.tensor} <= ignored
    assert not {ebb.zeros_like, ebb.normal, ebb.add} & ignored


def test_what_can_be_overridden_is_listed():
    found = overrides.get_overridable_functions()
    assert ebb.matmul in found[ebb] and ebb.zeros not in found[ebb]
    assert ebb.Tensor.add in found[ebb.Tensor]
    assert ebb.Tensor.shape.__get__ in found[ebb.Tensor]
    assert overrides.is_tensor_method_or_property(ebb.Tensor.add)
    assert not overrides.is_tensor_method_or_property(ebb.add)
    assert overrides.is_tensor_like(Diagonal(1, 1.0)) and not overrides.is_tensor_like(1)


def test_every_listed_function_of_one_tensor_asks(x):
    asked = []

    class Asked(ebb.Tensor):
        @classmethod
        def __ebb_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return "asked"

    one = ebb.ones(2, 2).as_subclass(Asked)
    for member in overrides.get_overridable_functions()[ebb.Tensor]:
        if getattr(member, "__name__", "") == "__get__":
            assert getattr(one, overrides.resolve_name(member).split(".")[2]) == "asked"
            assert asked[-1] == member


def test_results_are_collected_and_copied_like_other_objects(x):
    y = x + 1
    y.note = "kept"
    again = copy.deepcopy(y)
    assert type(again) is Logged and again.note == "kept"
    watched = weakref.ref(y)
    y.self = y
    del y
    gc.collect()
    assert watched() is None
