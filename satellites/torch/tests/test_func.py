# satellites/torch/tests/test_func.py -- derivatives of functions: nesting, structures, what is
# kept.
import pytest

import ebb
from ebb import func


def cube(x):
    return (x**3).sum()


X = ebb.tensor([1.0, 2.0], dtype=ebb.float64)


def test_derivatives_nest_to_any_order():
    f, x = lambda x: x**4, ebb.tensor(2.0)
    for wanted in (32.0, 48.0, 48.0, 24.0, 0.0):
        f = func.grad(f)
        assert f(x).item() == wanted
        assert not f(x).requires_grad


def test_a_function_inside_sees_the_variables_outside():
    inner = lambda x: func.grad(lambda y: x * y * y)(ebb.tensor(3.0))  # noqa: E731
    assert func.grad(inner)(ebb.tensor(1.0)).item() == 6.0


def test_results_are_recorded_for_arguments_that_require_a_gradient():
    x = ebb.tensor(2.0, requires_grad=True)
    func.grad(lambda t: t**3)(x).backward()
    assert x.grad.item() == 12.0


def test_structures_and_auxiliary_results_come_back():
    def loss(tree, scale):
        return scale * (tree["a"] * tree["b"][0]).sum(), {"seen": tree["a"]}

    tree = {"a": X, "b": [2 * X]}
    grads, (value, seen) = func.grad_and_value(loss, has_aux=True)(tree, 3.0)
    assert grads["a"].tolist() == [6.0, 12.0] and grads["b"][0].tolist() == [3.0, 6.0]
    assert value.item() == 30.0 and not seen["seen"].requires_grad
    first, second = func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(X, 2 * X)
    assert first.tolist() == [2.0, 4.0] and second.tolist() == [1.0, 2.0]


def test_what_does_not_count_has_a_gradient_of_0():
    assert func.grad(lambda x, y: y.sum(), argnums=0)(X, X).tolist() == [0.0, 0.0]
    assert func.grad(lambda x: ebb.tensor(1.0))(X).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("way", [func.hessian, lambda f: func.jacfwd(func.jacrev(f)),
                                 lambda f: func.jacrev(func.grad(f))])  # fmt: skip
def test_ways_to_a_hessian_agree(way):
    assert way(cube)(X).tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_products_with_a_jacobian():
    _, multiply = func.vjp(lambda x, y: (x * y, x), X, 2 * X)
    assert [one.tolist() for one in multiply((ebb.ones_like(X), X))] == [[3.0, 6.0], [1.0, 2.0]]
    assert [one.tolist() for one in multiply((X, X))] == [[3.0, 10.0], [1.0, 4.0]]
    values, moved = func.jvp(lambda x, y: x * y, (X, 2 * X), (X, X))
    assert values.tolist() == [2.0, 8.0] and moved.tolist() == [3.0, 12.0]
    value, push = func.linearize(lambda x: x**2, X)
    assert value.tolist() == [1.0, 4.0] and push(X).tolist() == [2.0, 8.0]


def test_a_module_is_called_with_other_parameters_and_keeps_its_own():
    layer = ebb.nn.Linear(2, 1).double()
    own = {name: one.detach().clone() for name, one in layer.named_parameters()}
    given = {"weight": ebb.zeros(1, 2, dtype=ebb.float64)}
    assert func.functional_call(layer, given, X).item() == own["bias"].item()
    with pytest.raises(ebb.Error):
        func.functional_call(layer, {"weight": ebb.zeros(3)}, X)
    assert all((one == own[name]).all() for name, one in layer.named_parameters())
    assert isinstance(layer.weight, ebb.nn.Parameter)
    loss = lambda p: func.functional_call(layer, p, X).square().sum()  # noqa: E731
    loss(dict(layer.named_parameters())).backward()
    grads = func.grad(loss)(own)
    assert all((grads[name] == one.grad).all() for name, one in layer.named_parameters())


def test_tied_weights_are_replaced_together():
    net = ebb.nn.Sequential(ebb.nn.Linear(2, 2, bias=False), ebb.nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    given = {"0.weight": 2 * ebb.eye(2)}
    assert func.functional_call(net, given, ebb.ones(2)).tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: func.grad(lambda x: x)(X), "must return a tensor of one element, got \\[2\\]"),
        (lambda: func.grad(cube, argnums=1)(X), "argnums must name one of 1 positional"),
        (lambda: func.grad(cube, has_aux=True)(X), "must return a pair"),
        (lambda: func.jvp(cube, (X,), ()), "needs tuples with a tangent for each primal"),
        (lambda: func.functional_call(ebb.nn.ReLU(), {"x": X}, X), "ReLU has no 'x'"),
        (lambda: func.stack_module_state([]), "needs at least one module"),
    ],
)
def test_misuse_is_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()
