# tests/python/ops/calls/test_spellings.py -- further keywords of parameters, and options that only
# ask for what is done anyway.
import pytest

import ebb
from tests.python.ops.op_rows import function_of, load_rows, make_arguments

ROWS = [
    row
    for row in load_rows()
    if row.data["spellings"]
    and "none" not in row.test
    and row.data["python"] != "method"
    and not row.is_inplace
]


def texts(found):
    parts = found if isinstance(found, tuple | list) else [found]
    return [str(one.tolist()) for one in parts]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_spelling_names_its_parameter(row):
    arguments = make_arguments(row, row.cases()[0], row.dtypes[-1])
    wanted = texts(function_of(row)(**arguments))
    for name, others in row.data["spellings"].items():
        for other in others:
            given = {other if key == name else key: one for key, one in arguments.items()}
            if name in arguments:
                assert texts(function_of(row)(**given)) == wanted, other


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_parameter_given_by_both_names_is_refused(row):
    arguments = make_arguments(row, row.cases()[0], row.dtypes[-1])
    for name, others in row.data["spellings"].items():
        if name in arguments:
            with pytest.raises(TypeError, match=f"{row.shown_name}\\(\\): "):
                function_of(row)(**arguments, **{others[0]: arguments[name]})


def test_methods_take_the_spellings_too():
    x = ebb.arange(6.0)
    assert x.view(size=(2, 3)).shape == (2, 3)
    assert x.view(2, 3).swapaxes(axis0=0, axis1=1).shape == (3, 2)
    assert ebb.zeros(6).copy_(other=x).tolist() == x.tolist()
    low, high = ebb.zeros(9).uniform_(**{"from": 2, "to": 3}).aminmax()
    assert 2 <= low.item() <= high.item() <= 3
    assert x.requires_grad_(mode=True).requires_grad


def test_a_keyword_that_nothing_knows_is_named_as_it_was_written():
    with pytest.raises(TypeError, match=r"linalg.det\(\): got an unexpected keyword .*'B'"):
        ebb.linalg.det(B=ebb.eye(2))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda **given: ebb.set_num_threads(**given), "num"),
        (lambda **given: ebb.set_default_dtype(**given), "d"),
        (lambda **given: ebb.set_rng_state(**given), "new_state"),
        (lambda **given: ebb.from_numpy(**given), "ndarray"),
    ],
)
def test_functions_of_one_argument_take_it_by_name(call, name):
    values = {
        "num": ebb.get_num_threads(),
        "d": ebb.get_default_dtype(),
        "new_state": ebb.get_rng_state(),
        "ndarray": ebb.zeros(2).numpy(),
    }
    call(**{name: values[name]})
    with pytest.raises(TypeError, match=rf"\(\): needs one argument, '{name}', got 0"):
        call()
    with pytest.raises(TypeError, match=r"\(\): got an unexpected keyword argument 'other'"):
        call(other=values[name])


def test_functions_of_one_argument_take_no_second():
    ebb.set_num_threads(ebb.get_num_threads())
    with pytest.raises(TypeError, match="needs one argument, 'num', got 2"):
        ebb.set_num_threads(1, 2)
