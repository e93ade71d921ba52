# tests/python/package/test_location.py -- every way of calling an op is put down to the user's
# line.
import functools
import weakref

import ebb
from tests.python.lines import line
from tests.python.threads import on_threads


def place(tensor):
    file, line, function = tensor.grad_fn.location
    return file.rpartition("/")[2], line, function.rpartition(".")[2]


X = ebb.ones(2, requires_grad=True)


def test_an_operator_a_method_and_a_function():
    for make in (lambda: X * 2, lambda: X.exp(), lambda: ebb.exp(X)):
        assert place(make()) == ("test_location.py", line() - 1, "<lambda>")


def test_lines_of_one_function_are_told_apart():
    a = X * 2
    b = X * 3
    assert place(b)[1] == place(a)[1] + 1 and place(a)[1] == line() - 2


def test_two_ops_in_one_line_share_it():
    a, b = X * 2, X * 3
    assert place(a) == place(b)


def test_inside_a_comprehension_a_generator_and_a_class():
    rows = [X * n for n in (1, 2)]
    (only,) = (X * n for n in (1,))

    class Body:
        y = X * 2

    assert place(rows[0])[1] == line() - 6 and place(only)[1] == line() - 5
    assert place(Body.y) == ("test_location.py", line() - 3, "Body")


def test_called_from_c():
    (y,) = map(X.mul, [ebb.ones(2)])
    assert place(y)[1] == line() - 1
    assert place(functools.reduce(ebb.add, [X, X]))[1] == line()
    assert place(sum([X, X]))[1] == line()


def test_in_another_thread():
    made = []
    on_threads(lambda: made.append(X * 2))
    assert place(made[0]) == ("test_location.py", line() - 1, "<lambda>")


def test_code_without_a_file():
    scope = {"X": X}
    exec(compile("\n\ny = X * 2", "<typed>", "exec"), scope)
    assert place(scope["y"]) == ("<typed>", 3, "<module>")


def test_code_that_is_gone_keeps_its_place():
    made = []
    for number in range(50):
        scope = {"X": X}
        exec(compile("\n" * number + "y = X * 2", f"<code {number}>", "exec"), scope)
        made.append(scope.pop("y"))
    assert [place(y)[:2] for y in made] == [(f"<code {n}>", n + 1) for n in range(50)]


def test_code_that_recorded_dies_with_its_last_owner():
    scope = {"X": X}
    code = compile("y = X * 2", "<dropped>", "exec")
    exec(code, scope)
    kept = weakref.ref(code)
    del code
    assert kept() is None
    assert place(scope["y"]) == ("<dropped>", 1, "<module>")


def test_without_the_interpreters_lock():
    big = ebb.ones(400, 400, requires_grad=True)
    y = big * big
    assert place(y)[1] == line() - 1


def test_a_gradients_computation_is_put_down_to_the_forward_op():
    y = X * X
    (gradient,) = ebb.autograd.grad(y.sum(), X, create_graph=True)
    assert place(gradient)[1] == line() - 2


def test_modules_are_put_down_to_their_call():
    layer = ebb.nn.Linear(2, 3)
    y = layer(X)
    assert place(y)[1] == line() - 1
