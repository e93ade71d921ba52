# tests/codegen/test_formulas.py -- what a node saves is what its formulas name, and no more.
import pytest

from codegen.formulas import plan_node
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of


@pytest.fixture
def plan(tmp_path):
    """Return a function that plans the node of `f` from its signature and formulas."""

    def make(signature, grad, extra=""):
        text = (
            f"- op: {signature}\n  doc: A test.\n  impl: true\n  amp: none\n{extra}  grad: {grad}\n"
            "  test: {none: a test}\n"
        )
        return plan_node(family_of(tmp_path, text).ops[0])

    return make


def saved(plan):
    return {
        one.name: (one.kind, one.index, [rule.param.name for rule in one.needed_by])
        for one in plan.operands
    }


def test_an_operand_is_saved_for_the_input_whose_formula_names_it(plan):
    node = plan("f(Tensor a, Tensor b) -> Tensor out", '{a: grad_out * b, b: "mul(grad_out, a)"}')
    assert saved(node) == {"b": ("input", 1, ["a"]), "a": ("input", 0, ["b"])}


def test_a_pass_through_saves_nothing(plan):
    node = plan("f(Tensor a, Tensor b) -> Tensor out", "{a: grad_out, b: neg(grad_out)}")
    assert saved(node) == {}
    assert [rule.is_pass_through for rule in node.rules] == [True, False]


def test_a_result_is_saved_as_output(plan):
    node = plan("f(Tensor a) -> Tensor out", "{a: grad_out * out}")
    assert saved(node) == {"out": ("output", 0, ["a"])}


def test_an_input_without_gradient_is_saved_as_constant_and_has_no_edge(plan):
    node = plan(
        "f(Tensor a, Tensor index) -> Tensor out", '{a: "pick(grad_out, index)", index: none}'
    )
    assert saved(node) == {"index": ("constant", 0, ["a"])}
    assert node.edges == 1


def test_the_shape_of_the_own_input_is_asked_of_the_edge(plan):
    node = plan("f(Tensor a) -> Tensor out", '{a: "expand(grad_out, a.shape())"}')
    assert saved(node) == {}
    assert node.sizes == []
    assert node.rules[0].own_sizes
    assert node.rules[0].text == "expand(grad_out, a_sizes)"


def test_the_shape_of_another_input_is_saved_without_its_data(plan):
    node = plan(
        "f(Tensor a, Tensor b) -> Tensor out",
        '{a: "expand(grad_out, b.shape())", b: "cast(grad_out, a.dtype())"}',
    )
    assert saved(node) == {}
    assert (node.sizes, node.dtypes) == (["b"], ["a"])


def test_attributes_are_saved_only_if_named(plan):
    node = plan(
        "f(Tensor a, int dim, int[] shape, bool keepdim) -> Tensor out", '{a: "g(grad_out, dim)"}'
    )
    assert [param.name for param in node.attributes] == ["dim"]


def test_members_of_other_objects_are_not_parameters(plan):
    node = plan(
        "f(Tensor a, Tensor dim) -> Tensor out", '{a: "g(grad_out.dim, x::dim)", dim: none}'
    )
    assert saved(node) == {}


def test_naming_a_list_is_a_mistake(plan):
    with pytest.raises(SchemaError, match=r"little\.yaml:1: f: `grad` names the list `all`; use"):
        plan("f(Tensor[] all) -> Tensor out", '{all: "g(grad_out, all)"}')


def test_a_list_may_be_described_by_a_saved_value(plan):
    node = plan(
        "f(Tensor[] all) -> Tensor out",
        '{all: "g(grad_out, sizes, position)"}',
        '  save: {"int[] sizes": "sizes_of(all)"}\n',
    )
    assert [value.name for value in node.values] == ["sizes"]
    assert node.edges == 0


def test_what_a_joint_expression_names_is_saved_for_each_formula_that_uses_it(plan):
    node = plan(
        "f(Tensor a, Tensor b, Tensor c) -> Tensor out",
        '{a: "joint[0]", b: "joint[1]", c: grad_out}',
        '  joint: "f_backward(grad_out, a, out, a.shape(), wanted)"\n',
    )
    assert saved(node) == {"a": ("input", 0, ["a", "b"]), "out": ("output", 0, ["a", "b"])}
    assert node.joint == "f_backward(grad_out, a, out, a_sizes, wanted)"
    assert node.sizes == ["a"]  # not asked of one edge, since the other gradient needs them too
    assert [rule.uses_joint for rule in node.rules] == [True, True, False]


def test_a_joint_expression_and_its_name_come_together(plan):
    with pytest.raises(SchemaError, match="`grad` names `joint`, which needs a key of its own"):
        plan("f(Tensor a) -> Tensor out", '{a: "joint[0]"}')
    with pytest.raises(SchemaError, match="`joint` needs a formula in `grad` that names it"):
        plan("f(Tensor a) -> Tensor out", "{a: grad_out}", '  joint: "g(a)"\n')
