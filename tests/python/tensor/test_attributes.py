# tests/python/tensor/test_attributes.py -- asking any public object for any of its attributes.
#
# What an object has not in its state (nnz of a dense tensor, saved values of a freed graph) is an
# AttributeError besides what it was: so hasattr(), getattr() with a default and
# inspect.getmembers() work. Objects in all states stand in STATES.
"""Attributes of objects in every state."""

import inspect
import types
import warnings

import pytest

import ebb
from ebb.autograd import Function, forward_ad


def recorded():
    return (ebb.ones(2, requires_grad=True) * ebb.ones(2)).sum()


def freed():
    loss = recorded()
    node = loss.grad_fn.next_functions[0][0]
    loss.backward()
    return node


class Keep(Function):
    contexts: list = []  # noqa: RUF012

    @staticmethod
    def forward(ctx, x):
        Keep.contexts.append(ctx)
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad


def context(runs, keeps):
    Keep.contexts.clear()
    out = Keep.apply(ebb.ones(2, requires_grad=True))
    if runs:
        out.sum().backward()
    return (Keep.contexts.pop(), out if keeps else None)[0]


def dual():
    with forward_ad.dual_level():
        return forward_ad.make_dual(ebb.ones(2), ebb.ones(2))


STATES = {
    "0-d": lambda: ebb.tensor(1.0),
    "1-d": lambda: ebb.ones(3),
    "matrix": lambda: ebb.ones(2, 3),
    "3-d": lambda: ebb.ones(2, 3, 4),
    "empty": lambda: ebb.ones(0),
    "complex": lambda: ebb.ones(2, dtype=ebb.complex64),
    "integer": lambda: ebb.arange(3),
    "bool": lambda: ebb.ones(2) > 0,
    "leaf": lambda: ebb.ones(2, requires_grad=True),
    "result": lambda: ebb.ones(2, requires_grad=True) * 2,
    "view": lambda: (ebb.ones(2, requires_grad=True) * 2)[0],
    "sparse": lambda: ebb.eye(2).to_sparse(),
    "csr": lambda: ebb.eye(2).to_sparse_csr(),
    "selected rows": lambda: ebb.selected_rows([0], ebb.ones(1, 2), (3, 2)),
    "parameter": lambda: ebb.nn.Parameter(ebb.ones(2)),
    "dual": dual,
    "node": lambda: recorded().grad_fn,
    "accumulator": lambda: recorded().grad_fn.next_functions[0][0].next_functions[0][0],
    "freed node": freed,
    "context": lambda: context(False, True),
    "context that ran": lambda: context(True, True),
    "context that is gone": lambda: context(False, False),
    "module": lambda: ebb.nn.Linear(2, 2),
    "container": lambda: ebb.nn.Sequential(ebb.nn.Linear(2, 2)),
    "lstm": lambda: ebb.nn.LSTM(2, 2),
    "optimizer": lambda: ebb.optim.Adam([ebb.nn.Parameter(ebb.ones(2))]),
    "graph": lambda: ebb.graph(recorded()),
    "graph node": lambda: ebb.graph(recorded()).nodes[0],
    "explanation": lambda: ebb.explain(recorded(), ebb.nn.Linear(1, 1)),
    "dtype": lambda: ebb.float32,
    "device": lambda: ebb.device("cpu"),
    "size": lambda: ebb.ones(2).shape,
    "generator": lambda: ebb.Generator(),
    "loader": lambda: ebb.data.DataLoader(ebb.data.TensorDataset(ebb.ones(2))),
    "profile": lambda: ebb.profiler.profile(),
    "module of functions": lambda: ebb.nn.functional,
    "package": lambda: ebb,
}


@pytest.mark.parametrize("state", STATES)
def test_every_attribute_can_be_asked_for(state):
    thing = STATES[state]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inspect.getmembers(thing)
        for name in dir(thing):
            getattr(thing, name, None)
            hasattr(thing, name)


@pytest.mark.parametrize("state", STATES)
def test_an_attribute_that_is_not_there_raises_one_of_ebbs_errors_too(state):
    thing = STATES[state]()
    if isinstance(thing, types.ModuleType):
        return
    for name in dir(thing):
        if name.startswith("__"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                getattr(thing, name)
            except AttributeError as error:
                is_pythons = "object has no attribute" in str(error)
                assert isinstance(error, ebb.Error) or is_pythons, (name, error)


def test_what_is_missing_keeps_its_class():
    matrix = ebb.ones(2, 3)
    cases = {"nnz": ebb.errors.NotImplementedError,
             "rows": ebb.errors.NotImplementedError, "imag": ebb.DTypeError}  # fmt: skip
    for name, kind in cases.items():
        assert not hasattr(matrix, name) and getattr(matrix, name, 7) == 7
        with pytest.raises(kind, match=f"^{name}: ") as caught:
            getattr(matrix, name)
        assert isinstance(caught.value, AttributeError)
    with pytest.raises(ebb.ShapeError, match=r"^mT: needs at least 2 dims"):
        ebb.ones(2).mT.sum()
    with pytest.raises(ebb.AutogradError, match="MulBackward") as caught:
        freed().saved_other.sum()
    assert isinstance(caught.value, AttributeError)


def test_transposes_of_few_and_many_dims_are_pytorchs():
    for shape in ((), (3,), (2, 3)):
        x = ebb.rand(shape, requires_grad=True)
        assert x.T.tolist() == x.detach().numpy().T.tolist() and x.T._base is x
    with pytest.warns(UserWarning, match=r"^T: reverses all dims .* got shape \[2, 3, 4\]\nhint"):
        turned = (cube := ebb.rand(2, 3, 4)).T
    assert turned.tolist() == cube.numpy().T.tolist() and turned.stride() == (1, 4, 12)
    made = ebb.ones(2, requires_grad=True) * 2
    assert made.T.requires_grad and made.T.tolist() == [2.0, 2.0]
    number = ebb.tensor(1 + 2j)
    assert [number.mT.item(), number.H.item(), number.mH.item()] == [1 + 2j, 1 - 2j, 1 - 2j]
    line = ebb.rand(3)
    for name in ("mT", "H", "mH"):
        with pytest.raises(ebb.ShapeError, match=f"^{name}: needs"):
            getattr(line, name)
