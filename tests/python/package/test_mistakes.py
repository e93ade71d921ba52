# tests/python/package/test_mistakes.py -- what newcomers get wrong: each error says what to type.
#
# A row is a mistake and the words of its message that a reader would type or look at next.
import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional


class WithoutInit(nn.Module):
    def __init__(self):
        self.inner = nn.Linear(1, 1)


class WithoutForward(nn.Module):
    pass


def leaf():
    return ebb.ones(3, requires_grad=True)


def twice():
    loss = (leaf() * 2).square().sum()
    loss.backward()
    loss.backward()


def under_no_grad():
    with ebb.no_grad():
        loss = leaf().sum()
    loss.backward()


def writes_what_was_saved():
    y = leaf().exp()
    y.add_(1)
    y.sum().backward()


def optimizes_a_used_generator():
    parameters = nn.Linear(1, 1).parameters()
    list(parameters)
    ebb.optim.SGD(parameters, lr=0.1)


MISTAKES = {
    # Devices.
    "model.to('cuda')": (lambda: nn.Linear(1, 1).to("cuda"), "hint: leave it on 'cpu'"),
    "x.cuda()": (lambda: ebb.ones(1).cuda(), "hint: leave it on 'cpu'"),
    "device='gpu'": (lambda: ebb.ones(1, device="gpu"), "or the name of a loaded plug-in"),
    # Dtypes.
    "float64 data": (
        lambda: nn.Linear(2, 2)(ebb.tensor(np.ones((1, 2)))),
        "hint: cast one of them: input.to(ebb.float32)",
    ),
    "an integer @ floats": (
        lambda: ebb.ones(2, 2, dtype=ebb.int64) @ ebb.ones(2, 2),
        "hint: cast one of them: input.to(ebb.float32)",
    ),
    "mean of integers": (lambda: ebb.arange(3).mean(), "hint: pass dtype=float32"),
    "integers with a gradient": (
        lambda: ebb.arange(3).requires_grad_(),
        "needs a floating or complex dtype",
    ),
    "float indices": (
        lambda: nn.Embedding(3, 2)(ebb.ones(2)),
        "hint: cast it: .to(ebb.int64)",
    ),
    "integer probabilities": (
        lambda: F.binary_cross_entropy(ebb.full((2,), 0.5), ebb.ones(2, dtype=ebb.int64)),
        "hint: cast it: .to(ebb.float32)",
    ),
    # Shapes.
    "a layer of another size": (
        lambda: nn.Linear(3, 2)(ebb.ones(1, 4)),
        "hint: this input needs nn.Linear(4, 2)",
    ),
    "channels last": (
        lambda: nn.Conv2d(3, 4, 3)(ebb.ones(1, 28, 28, 3)),
        "[out, channels / groups, kernel...]",
    ),
    "shapes that do not broadcast": (
        lambda: ebb.ones(3) + ebb.ones(4),
        "sizes 3 and 4 differ in dim -1",
    ),
    "classes as a column": (
        lambda: F.cross_entropy(ebb.ones(2, 3), ebb.ones(2, 1, dtype=ebb.int64)),
        "hint: pass target.squeeze(1)",
    ),
    "classes as floats": (
        lambda: F.cross_entropy(ebb.ones(2, 3), ebb.ones(2)),
        "hint: target.long() makes classes of it",
    ),
    "a class too many": (
        lambda: F.cross_entropy(ebb.ones(2, 3), ebb.tensor([1, 3])),
        "a class from 0 to 2",
    ),
    "batches of other sizes": (
        lambda: next(iter(ebb.data.DataLoader([ebb.ones(1), ebb.ones(2)], batch_size=2))),
        "hint: pass a collate_fn that pads them",
    ),
    # Gradients.
    "no gradient asked for": (
        lambda: ebb.ones(3).sum().backward(),
        "hint: ebb.explain(output, input) tells where the path is cut",
    ),
    "computed under no_grad": (under_no_grad, "its history was cut under no_grad at"),
    "a second backward": (twice, "hint: pass retain_graph=True to the first backward()"),
    "backward of many numbers": (
        lambda: (leaf() * 2).backward(),
        "hint: pass its gradient, such as ones_like(it)",
    ),
    "in place on a leaf": (
        lambda: leaf().add_(1),
        "hint: write it under no_grad, or write a clone()",
    ),
    "in place on what was saved": (writes_what_was_saved, "hint: use the out-of-place form"),
    "NumPy of what has a gradient": (
        lambda: leaf().numpy(),
        "hint: use tensor.detach().numpy()",
    ),
    # Modules, optimizers, states.
    "no super().__init__()": (WithoutInit, "needs super().__init__() before"),
    "no forward()": (lambda: WithoutForward()(1), "forward: needs a definition"),
    "no parameters": (
        lambda: ebb.optim.SGD([], lr=0.1),
        "hint: a generator is empty once it was read",
    ),
    "a used generator": (optimizes_a_used_generator, "pass model.parameters() itself"),
    "no leaf to optimize": (
        lambda: ebb.optim.SGD([leaf() * 2], lr=0.1),
        "hint: optimize the tensor that it was computed from",
    ),
    "a state with a part less": (
        lambda: nn.Linear(1, 1).load_state_dict({"weight": ebb.ones(1, 1)}),
        "hint: strict=False passes over missing and unexpected keys",
    ),
    "a tensor as a parameter": (
        lambda: setattr(nn.Linear(1, 1), "weight", ebb.ones(1, 1)),
        "needs a parameter or None for 'weight'",
    ),
    # Numbers of tensors.
    "if of several": (lambda: bool(ebb.ones(2) > 0), "hint: ask x.any() or x.all()"),
    "item of several": (lambda: ebb.ones(2).item(), "hint: reduce it first, as by x.mean()"),
    "float of several": (lambda: float(ebb.ones(2)), "or take all by x.tolist()"),
    "a list for from_numpy": (lambda: ebb.from_numpy([1, 2]), "needs a numpy.ndarray, got list"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_error_says_what_to_type(mistake):
    make, words = MISTAKES[mistake]
    with pytest.raises((ebb.errors.Error, AttributeError)) as caught:
        make()
    assert words in str(caught.value)
    assert str(caught.value).count("\nhint: ") <= 1


def test_hints_fit_what_was_given():
    with pytest.raises(ebb.errors.ShapeError) as caught:
        F.cross_entropy(ebb.ones(2, 3), ebb.ones(3, dtype=ebb.int64))
    assert "squeeze" not in str(caught.value)
    with pytest.raises(ebb.errors.ValueError) as caught:
        nn.Linear(1, 1).load_state_dict({"weight": ebb.ones(2, 1), "bias": ebb.ones(1)})
    assert "strict" not in str(caught.value)
