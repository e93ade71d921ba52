# tests/codegen/test_jvp.py -- forward-mode rules of ops with several results.
import pytest

from codegen.emit.jvp import emit
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of

TABLE = """\
- op: halves(Tensor a, Tensor? b) -> (Tensor low, Tensor high, Tensor where)
  doc: A test.
  impl: true
  amp: none
  not_differentiable: where
  grad: {a: "grads[0]", b: "grads[1]"}
  jvp: {joint: "rules::halves_jvp(a_tangent, b_tangent, where)"}
  test: {none: a test}
"""


def emitted(tmp_path, table):
    return emit(family_of(tmp_path, table))["ebb/autograd/jvp/little.cpp"]


def test_a_joint_rule_gives_the_tangents_of_all_differentiable_results(tmp_path):
    text = emitted(tmp_path, TABLE)
    assert "std::vector<Tensor> tangent_of_halves(" in text
    assert "const Tensor outs[] = {low, high};" in text
    call = "rules::halves_jvp(a_tangent, b_tangent, where)"
    assert f"return autograd::conform_tangents(autograd::as_list({call}), outs);" in text


def test_several_results_need_a_joint_rule(tmp_path):
    table = TABLE.replace("{joint: ", "{a: ")
    with pytest.raises(SchemaError, match="halves: `jvp` of several results needs `joint`"):
        emitted(tmp_path, table)
