# tests/tools/test_mutate.py -- which mutants there are, and how formulas are broken.
import pytest

from codegen.generate import load_all
from tools.mutate import formulas as mutate


def op_named(name):
    return next(op for family in load_all() for op in family.ops if op.full_name == name)


def test_every_gradient_formula_gets_a_wrong_sign_and_a_wrong_factor():
    families = load_all()
    formulas = {
        (op.full_name, param)
        for family in families
        for op in family.ops
        for param, formula in op.grad.items()
        if mutate.is_computed(formula) and formula != mutate.ZERO
    }
    mutants = mutate.break_formulas(families, mutate.choose(families, None, None))
    for kind in ("sign", "factor"):
        assert {(one.op, one.param) for one in mutants if one.kind == kind} == formulas
    assert [one.id for one in mutants] == list(range(1, len(mutants) + 1))


def test_a_gradient_of_zero_is_broken_by_one_that_is_not():
    (mutant,) = mutate.mutants_of(op_named("sign"), "input", mutate.ZERO, 1)
    assert (mutant.kind, mutant.formula) == ("nonzero", "grad_out")


def test_a_refusal_is_not_broken_since_it_gives_no_number():
    families = load_all()
    refused = {
        (op.full_name, param)
        for family in families
        for op in family.ops
        for param, formula in op.grad.items()
        if formula.startswith(mutate.REFUSAL)
    }
    mutants = mutate.break_formulas(families, {op for op, _ in refused})
    assert refused and mutants
    assert not refused & {(one.op, one.param) for one in mutants}


def test_ops_and_families_choose_what_is_broken():
    families = load_all()
    chosen = mutate.choose(families, "mul,exp", "sort")
    assert {"mul", "mul.Scalar", "exp", "topk"} <= chosen and "add" not in chosen
    assert mutate.choose(families, "nothing", None) == set()
    assert {one.op for one in mutate.break_formulas(families, {"mul", "exp"})} == {"mul", "exp"}


def test_all_mutants_of_a_formula_are_in_one_expression():
    families = load_all()
    mutate.break_formulas(families, mutate.choose(families, None, None))
    op = next(op for family in families for op in family.ops if op.full_name == "neg")
    assert op.grad["input"].count("EBB_MUTANT(") == 2
    assert op.grad["input"].endswith(" : neg(grad_out)")


@pytest.mark.parametrize(
    ("name", "param", "wanted"),
    [
        ("mul", "input", "grad_out * conj(input)"),
        ("exp", "input", "mul0(grad_out, conj(input))"),
        ("div", "other", "neg(mul0(div0(grad_out, conj(input)), conj(other / input)))"),
        ("neg", "input", None),
    ],
)
def test_operands_are_exchanged(name, param, wanted):
    op = op_named(name)
    assert mutate.swapped_operands(op, op.grad[param]) == wanted


@pytest.mark.parametrize(
    ("name", "param", "wanted"),
    [
        ("relu", "input", "relu_backward(out, grad_out)"),
        ("where", "input", "where(condition, 0, grad_out)"),
        ("exp", "input", "mul0(conj(out), grad_out)"),
        ("lerp", "weight", None),
        ("transpose", "input", None),
        ("mul.Scalar", "input", None),
    ],
)
def test_arguments_are_exchanged_where_that_matters(name, param, wanted):
    op = op_named(name)
    assert mutate.swapped_arguments(op, op.grad[param]) == wanted


def test_calls_are_split_at_their_own_commas():
    assert mutate.split_call("f(a, g(b, c))") == ("f", ["a", "g(b, c)"])
    assert mutate.split_call("f(a) * g(b)") is None
    assert mutate.split_call("grad_out") is None


def test_an_op_without_cases_is_tried_by_its_family():
    rows = mutate.rows_to_run(load_all())
    assert rows["mul"] == ["mul"]
    assert "index_box" in rows["index_box_backward"]
