# tests/python/ops/test_saved.py -- an operand is saved only if an input that needs it for its
# gradient requires one. Seen by whether its memory is freed while the graph lives on.
import gc
import itertools

import pytest

import ebb
from codegen.formulas import plan_node
from codegen.generate import load_all
from tests.python.held import live
from tests.python.ops.op_rows import Array, call, load_rows, make_arguments

OPS = {op.full_name: op for family in load_all() for op in family.ops}


def single_tensors(row):
    """Parameters with a gradient that are one tensor each."""
    return [name for name in row.data["differentiable"] if name in row.tensors]


ROWS = [row for row in load_rows() if single_tensors(row) and "inputs" in row.test]
ROWS = [row for row in ROWS if not row.is_inplace and not OPS[row.op].skip]


def first_case(row):
    """A case with all tensors, none of them empty."""
    cases = [case for case in row.cases() if all_filled(case)]
    return max(cases, key=lambda case: len(case.arguments))


def all_filled(case):
    return all(0 not in v.shape for v in case.arguments.values() if isinstance(v, Array))


def cases():
    for row in ROWS:
        names = [name for name in single_tensors(row) if name in first_case(row).arguments]
        for count in range(1, len(names) + 1):
            for wanted in itertools.combinations(names, count):
                yield row, wanted


def frees(holder, name):
    """Drop one tensor; whether its elements went with it, and not just the handle."""
    data = holder[name].nbytes
    alias = holder[name].detach()
    before = live()
    del alias
    handle = before - live()
    before = live()
    del holder[name]
    return before - live() >= handle + data


def expected_operands(op, wanted):
    """What the node must keep, by the names in the formulas."""
    return {
        one.name
        for one in plan_node(op).operands
        if any(rule.param.name in wanted for rule in one.needed_by)
    }


def record(row, wanted):
    """Arguments of a recorded call, and the end of a graph that keeps its node alive."""
    arguments = make_arguments(row, first_case(row), "float64")
    for name in wanted:
        arguments[name] = arguments[name].detach().clone().requires_grad_()
    results = call(row, arguments)
    results = list(results) if isinstance(results, tuple | list) else [results]
    holder = {name: value for name, value in arguments.items() if isinstance(value, ebb.Tensor)}
    holder["the result"] = results[0]
    return holder, [one.sum() for one in results if one.requires_grad]


@pytest.mark.parametrize(
    ("row", "wanted"), list(cases()), ids=lambda one: str(one).replace("'", "")
)
def test_only_what_a_gradient_needs_is_saved(row, wanted):
    op = OPS[row.op]
    expected = expected_operands(op, wanted)
    gc.collect()
    is_view = row.data["cost"] in ("view", "copy")
    names = [name for name in row.tensors if name in first_case(row).arguments]
    if not is_view and [result.name for result in op.results] == ["out"]:
        holder, _graph = record(row, wanted)
        assert frees(holder, "the result") == ("out" not in expected)
    for name in names:
        holder, _graph = record(row, wanted)
        if is_view:
            del holder["the result"]
        assert frees(holder, name) == (name not in expected), name


def test_nothing_is_saved_without_recording():
    x = ebb.ones([64], requires_grad=True)
    for mode in (ebb.no_grad, ebb.enable_grad):
        holder = {"x": ebb.ones([64])}
        with mode():
            out = holder["x"] * (x if mode is ebb.no_grad else 2.0)
        assert frees(holder, "x")
        assert not out.requires_grad


def test_a_gradient_run_frees_what_was_saved():
    holder = {"x": ebb.ones([64], requires_grad=True)}
    out = (holder["x"] * holder["x"]).sum()
    ebb.autograd.grad([out], [holder["x"]])
    assert frees(holder, "x")
    assert out.item() == 64.0


RESULTS = {
    "1 / x": lambda x: 1 / x, "2 - x": lambda x: 2 - x, "x / 2": lambda x: x / 2,
    "x ** 2": lambda x: x**2, "x ** -0.5": lambda x: x**-0.5, "x * x": lambda x: x * x,
    "x / (x + 1)": lambda x: x / (x + 1), "x.square()": lambda x: x.square(),
    "x.log()": lambda x: x.log(), "x.sin()": lambda x: x.sin(), "x.abs()": lambda x: x.abs(),
    "x.clamp(0.2, 0.6)": lambda x: x.clamp(0.2, 0.6), "x @ x": lambda x: x @ x,
    "x.erf()": lambda x: x.erf(), "x.mean(0)": lambda x: x.mean(0),
}  # fmt: skip


@pytest.mark.parametrize("text", RESULTS)
def test_a_result_may_be_written_to_where_pytorch_lets_it(text):
    x = ebb.tensor([[0.1, 0.7], [0.4, 0.9]], requires_grad=True)
    (RESULTS[text](x) * 3).sum().backward()
    wanted, x.grad = x.grad, None
    result = RESULTS[text](x)
    result.mul_(3)
    result.sum().backward()
    assert ebb.allclose(x.grad, wanted)
