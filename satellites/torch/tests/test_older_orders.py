# satellites/torch/tests/test_older_orders.py -- PyTorch's older order of arguments, numbers in
# front of what they scale, as torch_calls.py reads it.
import pytest

import ebb
from ebb._base import seam

V, M, B = ebb.tensor([1.0, 2.0]), ebb.tensor([[1.0, 2.0], [3.0, 4.0]]), ebb.ones(1, 2, 2)
OLDER_ORDERS = {
    "add": ((V, 3, V), lambda: ebb.add(V, V, alpha=3)),
    "sub": ((V, 3.0, V), lambda: ebb.sub(V, V, alpha=3.0)),
    "addcmul": ((V, 0.5, V, V), lambda: ebb.addcmul(V, V, V, value=0.5)),
    "addcdiv": ((V, -0.5, V, V), lambda: ebb.addcdiv(V, V, V, value=-0.5)),
    "addmm": ((0.5, M, 2.0, M, M), lambda: ebb.addmm(M, M, M, beta=0.5, alpha=2.0)),
    "addmv": ((0.5, V, 2, M, V), lambda: ebb.addmv(V, M, V, beta=0.5, alpha=2)),
    "addr": ((0.5, M, 2, V, V), lambda: ebb.addr(M, V, V, beta=0.5, alpha=2)),
    "addbmm": ((2, M, 0.5, B, B), lambda: ebb.addbmm(M, B, B, beta=2, alpha=0.5)),
    "baddbmm": ((2, B, 0.5, B, B), lambda: ebb.baddbmm(B, B, B, beta=2, alpha=0.5)),
}


@pytest.mark.parametrize("name", OLDER_ORDERS)
def test_factors_may_stand_before_what_they_scale(name):
    """PyTorch's older order, which it still takes: x.add_(-lr, grad)."""
    arguments, wanted = OLDER_ORDERS[name]
    function, expected = getattr(ebb, name), wanted().tolist()
    tensors = [one for one in arguments if isinstance(one, ebb.Tensor)]
    rest = list(arguments)
    del rest[next(place for place, one in enumerate(arguments) if one is tensors[0])]
    assert function(*arguments).tolist() == expected
    assert function(*arguments, out=ebb.empty_like(wanted())).tolist() == expected
    assert getattr(tensors[0], name)(*rest).tolist() == expected
    assert getattr(tensors[0].clone(), name + "_")(*rest).tolist() == expected


@pytest.mark.parametrize("name", ["addmm", "addmv", "addr", "baddbmm"])
def test_beta_may_stand_there_alone(name):
    arguments, _ = OLDER_ORDERS[name]
    beta, first, _, *rest = arguments
    wanted = getattr(ebb, name)(first, *rest, beta=beta).tolist()
    assert getattr(ebb, name)(beta, first, *rest).tolist() == wanted
    assert getattr(first.clone(), name + "_")(beta, *rest).tolist() == wanted


@pytest.mark.parametrize(
    "call",
    [
        lambda: ebb.add(3, V, V),
        lambda: ebb.add(V, V, 3),
        lambda: ebb.add(V, 1, 2, V),
        lambda: ebb.addcmul(V, V, 2, V, V),
        lambda: ebb.addcmul(2, V, V, V),
        lambda: ebb.addmm(M, 2, M, M),
        lambda: ebb.addmm(1, M, 2, M, M, beta=3),
        lambda: ebb.mul(V, 3, V),
        lambda: ebb.masked_fill(V, 2.0, V > 1),
        lambda: V.masked_fill(2.0, V > 1),
        lambda: ebb.add(V, "3", V),
        lambda: ebb.add(V, None, V),
    ],
)
def test_other_orders_stay_errors(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("answer", [((V,), {"alpha": 3}), ((V, V), {"alpha": 2.5})])
def test_objects_that_are_not_of_the_call_are_not_taken(monkeypatch, answer):
    """Nobody would hold them while they are bound."""
    monkeypatch.setitem(seam._filled, "order_arguments", lambda *asked: answer)
    with pytest.raises(TypeError, match="add"):
        ebb.add(V, 2, V)


def test_an_order_that_is_none_is_told(monkeypatch):
    monkeypatch.setitem(seam._filled, "order_arguments", lambda *asked: 5)
    with pytest.raises(TypeError):
        ebb.add(V, 2, V)
