# tests/codegen/test_added_rows.py -- a view, an operator or a random op is its row and its body.
import pytest

from codegen.emit.operators import emit as emit_operators
from codegen.emit.python import emit as emit_python, emit_common
from codegen.emit.tests import row
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of

TABLE = """\
- op: twist(Tensor input, Tensor other) -> Tensor out
  doc: A test.
  impl: true
  grad: none
  inplace: true
  operator: input @ other
  cost: product
  test: {none: a test}

- op: twist.Scalar(Tensor input, Scalar other) -> Tensor out
  doc: A test.
  impl: true
  grad: none
  inplace: true
  operator: [input @ other, other @ input]
  test: {none: a test}

- op: window(Tensor input, int width) -> Tensor out
  doc: A test.
  impl: true
  grad: none
  cost: view
  test: {none: a test}

- op: noise(Tensor input) -> Tensor out
  doc: A test.
  impl: true
  grad: none
  generator: true
  reads: geometry
  test: {none: a test}
"""


def test_an_operator_of_a_row_is_an_operator_of_python(family):
    slots = emit_operators([family])["python/operators.cpp"]
    assert "return ebb::twist(input, other); }" in slots
    assert "static Tensor left(const Scalar& other, const Tensor& input)" in slots
    assert "{Py_nb_matrix_multiply, as_slot(binary<Matmul>)}," in slots
    assert "{Py_nb_inplace_matrix_multiply, as_slot(write_binary<Matmul>)}," in slots
    assert "return is_heavy_product(lhs, rhs); }" in slots
    stub = emit_common([family])["python/_C.pyi"]
    assert "    def __matmul__(self, other: Tensor | _Number, /) -> Tensor: ..." in stub
    assert "    def __rmatmul__(self, other: _Number, /) -> Tensor: ..." in stub


def test_an_operator_of_a_row_is_one_of_cpp_if_cpp_has_it(tmp_path):
    assert "@" not in emit_operators([family_of(tmp_path, TABLE)])["ebb/autograd/operators.h"]
    header = emit_operators([family_of(tmp_path, TABLE.replace("@", "%"))])[
        "ebb/autograd/operators.h"
    ]
    assert "operator%(const Tensor& input, const Tensor& other) { return twist(" in header
    assert "operator%(const Scalar& other, const Tensor& input) { return twist(" in header
    assert "operator%=(const Tensor& self, const Scalar& other) { return twist_(" in header


def test_a_view_of_a_row_keeps_the_interpreter(family):
    text = emit_python(family)["python/ops_little.cpp"]
    assert "run(false, [&](const Tensor& input) { return ebb::window(" in text
    assert row(family.ops[2])["cost"] == "view"


def test_a_random_op_of_a_row_takes_a_generator(family):
    text = emit_python(family)["python/ops_little.cpp"]
    assert "const DrawFrom source(arguments.object(1));" in text
    assert row(family.ops[3])["generator"] is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("input @@ other", "`operator` needs one of"),
        ("input @ input", "`operator` needs each of input, other once"),
        ("input", "`operator` needs an expression"),
    ],
)
def test_a_wrong_operator_is_told_with_its_place(tmp_path, text, error):
    with pytest.raises(SchemaError, match=rf"ops/little.yaml:6: twist: {error}"):
        family_of(tmp_path, TABLE.replace("operator: input @ other", f"operator: {text}"))


def test_two_rows_of_one_operator_are_refused(tmp_path):
    second = TABLE + TABLE.replace("twist", "other_twist").split("\n\n")[0]
    with pytest.raises(SchemaError, match="other_twist: `operator` `@` is twist already"):
        emit_operators([family_of(tmp_path, second)])
