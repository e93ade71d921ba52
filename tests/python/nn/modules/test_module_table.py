# tests/python/nn/modules/test_module_table.py -- every module of ops/modules: what its row
# promises.
#
# The rows (generated/module_rows.json) come from codegen/emit/modules.py. The examples, whose
# numbers are written in the table, run here and in C++ (generated/tests/nn/module_table_test.cpp):
# that is how the two languages are held together.
import ast
import copy
import doctest
import inspect
import json
import pickle
import re
from pathlib import Path

import pytest

import ebb
from ebb import _C, nn

ROWS = json.loads((Path(_C.__file__).parents[2] / "generated" / "module_rows.json").read_text())
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["module"])
PARAMETERS = {  # of functions that are no ops, whose rows may name them otherwise
    row["function"]: list(inspect.signature(getattr(nn.functional, row["function"])).parameters)
    for row in ROWS
}
NUMBERS = ("Scalar", "float", "int", "int[]", "int[]?")


def made(row):
    """The module of the example, and the options that it was given."""
    options = row["example"].get("options", {})
    tensors = [one["name"] for one in row["options"] if one["type"] == "Tensor?"]
    given = {key: ebb.tensor(value) if key in tensors else value for key, value in options.items()}
    return getattr(nn, row["module"])(**given), given


def inputs(row):
    if "shapes" in row["example"]:
        return [ebb.ones(shape) for shape in row["example"]["shapes"]]
    return [ebb.tensor(values) for values in row["example"]["inputs"]]


def weights(row, module):
    """The parameters of a module, as its function takes them."""
    return {name: getattr(module, name) for name in row["parameters"]}


def by_function(row, name):
    """What the function calls a parameter of the row's signature for it."""
    known = PARAMETERS[row["function"]]
    return known[row["params"].index(name)] if name in row["params"] and not row["is_op"] else name


def kept_otherwise(row, module):
    """Options of which a module keeps something else than it was given."""
    return {one["name"]: getattr(module, one["attribute"]) for one in row["options"] if one["as"]}


def passed_on(row, given):
    """The options that its function has."""
    own = [one["name"] for one in row["options"] if one["own"]]
    return {name: value for name, value in given.items() if name not in own}


def checked(row, *types):
    return [one for one in row["options"] if one["checked"] and one["type"] in types]


@each_row
def test_a_module_gives_the_numbers_of_its_example(row):
    module, _ = made(row)
    result = module(*inputs(row))
    if "out_shape" in row["example"]:
        assert list(result.shape) == row["example"]["out_shape"]
        return
    expected = ebb.tensor(row["example"]["out"])
    assert result.shape == expected.shape
    assert (result - expected).abs().max().item() <= 5.1e-5


@each_row
def test_a_module_gives_what_its_function_gives(row):
    module, given = made(row)
    function = getattr(nn.functional, row["function"])
    options = {**passed_on(row, given), **kept_otherwise(row, module), **row["fixed"]}
    named = {by_function(row, name): value for name, value in options.items()}
    expected = function(*inputs(row), **named, **weights(row, module))
    assert module(*inputs(row)).tolist() == expected.tolist()


# A value of each type that no option has by default; numbers grow, as some bounds ask for.
OTHERS = {
    "Scalar": lambda place: 0.25 + place / 4,
    "float": lambda place: 0.25 + place / 4,
    "int": lambda place: place + 7,
    "int?": lambda place: place + 7,
    "int[]": lambda place: [place + 7],
    "int[]?": lambda place: [place + 7],
    "Tensor?": lambda place: ebb.full([1], place + 7),
}


def other_value(option, place):
    """A value that the option does not have by default."""
    if option["choices"]:
        return next(one for one in option["choices"] if one != option["default"])
    if option["type"] in ("bool", "bool?"):
        return option["default"] != "True"
    return OTHERS.get(option["type"], lambda place: f"word {place}")(place)


@each_row
def test_every_option_reaches_its_parameter(row, monkeypatch):
    calls = []
    signature = inspect.signature(getattr(nn.functional, row["function"]))
    monkeypatch.setattr(
        nn.functional, row["function"], lambda *args, **named: calls.append((args, named))
    )
    given = {one["name"]: other_value(one, place) for place, one in enumerate(row["options"])}
    # Parameters, and counts of dims, must fit the example's inputs.
    own = made(row)[1] if row["parameters"] or kept_otherwise(row, made(row)[0]) else {}
    given = {name: value for name, value in passed_on(row, given).items() if name not in own}
    module, tensors = getattr(nn, row["module"])(**given, **own), inputs(row)
    module(*tensors)
    ((args, named),) = calls
    passed = signature.bind(*args, **named).arguments
    options = {**passed_on(row, {**given, **own}), **kept_otherwise(row, module), **row["fixed"]}
    found = {name: passed.pop(by_function(row, name), None) for name in options}
    assert found == options
    assert all(passed.pop(name, None) is one for name, one in weights(row, module).items())
    assert passed.pop("training", True) is True
    assert [id(one) for one in passed.values()] == [id(one) for one in tensors]


@each_row
def test_the_docstring_names_each_option_and_its_example_runs(row):
    cls = getattr(nn, row["module"])
    doc = inspect.getdoc(cls)
    assert re.findall(r"^    (\w+): \S", doc, re.M) == [one["name"] for one in row["options"]]
    (example,) = doctest.DocTestFinder(recurse=False).find(cls, globs={"ebb": ebb})
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
    assert ">>> " in doc


@each_row
def test_the_signature_has_the_options_of_the_row(row):
    parameters = dict(inspect.signature(getattr(nn, row["module"])).parameters)
    if "size_average" in parameters:
        old = [parameters.pop(name) for name in ("size_average", "reduce")]
        assert all(one.default is None for one in old)
    assert list(parameters) == [one["name"] for one in row["options"]]
    for one, parameter in zip(row["options"], parameters.values(), strict=True):
        assert (parameter.kind is parameter.KEYWORD_ONLY) == one["keyword_only"]
        if one["default"] is None:
            assert parameter.default is parameter.empty
        else:
            is_word = one["type"] == "Reduction"
            default = one["default"] if is_word else ast.literal_eval(one["default"])
            assert parameter.default == default


@each_row
def test_options_are_attributes_and_shown(row):
    module, given = made(row)
    attributes = {one["name"]: one["attribute"] for one in row["options"]}
    kept = {one["name"] for one in row["options"] if one["kept"] and not one["as"]}
    for name in given.keys() & kept:
        assert getattr(module, attributes[name]) is given[name]
    text = repr(module)
    assert text.startswith(row["module"] + "(") and "\n" not in text
    shown = re.findall(r"(\w+)=", text)
    for name in shown:
        value = getattr(module, attributes.get(name, name))
        value = value is not None if name in row["parameters"] else value
        assert f"{name}={value!r}" in text
    always = [name for name in row["shown"] if name[-1] not in "?!"]
    assert [name for name in shown if name in always] == always
    assert {name.rstrip("?!") for name in row["shown"]} >= set(shown)


@each_row
def test_a_wrong_type_is_refused_by_the_name_of_class_and_argument(row):
    cls = getattr(nn, row["module"])
    _, given = made(row)
    for one in checked(row, *NUMBERS, "int?", "bool"):
        with pytest.raises(TypeError, match=f"{cls.__name__}: argument '{one['name']}' must be "):
            cls(**{**given, one["name"]: "no"})
    for one in checked(row, "str", "Tensor?"):
        with pytest.raises(TypeError, match=f"{cls.__name__}: .*'{one['name']}'"):
            cls(**{**given, one["name"]: 3})
    for one in row["options"]:
        if one["choices"]:
            with pytest.raises(ValueError, match=f"{cls.__name__}: {one['name']} must be one of"):
                cls(**{**given, one["name"]: "no"})


@pytest.mark.parametrize(
    "row", [one for one in ROWS if one["parameters"]], ids=lambda row: row["module"]
)
def test_parameters_are_where_and_of_the_dtype_that_is_asked_for(row):
    cls, given = getattr(nn, row["module"]), made(row)[1]
    module = cls(**given, device="meta", dtype=ebb.float64)
    assert list(module._parameters) == row["parameters"] and not module._buffers
    for one in module.parameters():
        assert one.device.type == "meta" and one.dtype is ebb.float64 and one.requires_grad
    again, state = cls(**given), made(row)[0].state_dict()
    again.load_state_dict(state)
    again.reset_parameters()
    assert [one.shape for one in again.parameters()] == [one.shape for one in state.values()]
    for name in [one["name"] for one in row["options"] if one["name"] in row["parameters"]]:
        without = cls(**{**given, name: False})
        assert without._parameters[name] is None and name not in without.state_dict()


@each_row
def test_a_copy_and_a_pickle_are_the_module_again(row):
    module, _ = made(row)
    module.eval()
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(again) is type(module) and repr(again) == repr(module)
        assert not again.training
        assert again(*inputs(row)).tolist() == module(*inputs(row)).tolist()


@each_row
def test_a_subclass_adds_state_of_its_own(row):
    class Counted(getattr(nn, row["module"])):
        calls = 0

        def get_extra_state(self):
            return {"calls": self.calls}

        def set_extra_state(self, state):
            self.calls = state["calls"]

    _, given = made(row)
    first, second = Counted(**given), Counted(**given)
    first.calls = 3
    second.load_state_dict(first.state_dict())
    assert second.calls == 3
    assert repr(first).startswith("Counted(")


@each_row
def test_an_option_that_is_no_parameter_is_refused(row):
    with pytest.raises(TypeError, match=rf"{row['module']}.*'colour'"):
        getattr(nn, row["module"])(**made(row)[1], colour="red")


def test_the_package_offers_every_module_of_the_table():
    assert {row["module"] for row in ROWS} <= set(nn.__all__)
    assert len(set(nn.__all__)) == len(nn.__all__)
