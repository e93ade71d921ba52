# tests/codegen/test_namespaces.py -- rows whose Python functions live in ebb.linalg and its like.
import pytest

from codegen.emit.python import emit as emit_python, emit_common
from codegen.emit.tests import row
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of

TABLE = """\
- op: linalg_twist(Tensor input, Tensor other) -> Tensor out
  doc: A test.
  namespace: linalg
  impl: true
  grad: none
  aliases: [twist, special.turn]
  test: {none: a test}
"""


def test_a_row_with_a_namespace_is_a_function_of_that_module_only(family):
    text = emit_python(family)["python/ops_little.cpp"]
    assert '{"linalg", {"twist", as_method(linalg_twist_function), kFast' in text
    assert '"linalg_twist"},' in text  # where overrides and tests find it
    assert '{"linalg_twist", as_method(' not in text
    assert 'OpSpec linalg_twist_spec{"linalg.twist"' in text
    assert "= ebb::linalg_twist(" in text or "ebb::linalg_twist(input, other)" in text
    files = emit_common([family])
    assert (
        "def twist(input: Tensor, other: Tensor) -> Tensor: ..." in files["python/ebb/_linalg.pyi"]
    )
    assert "linalg_twist" not in files["python/_C.pyi"]
    assert row(family.ops[0])["namespace"] == "linalg"


def test_aliases_are_functions_and_methods_or_stand_in_a_namespace(family):
    text = emit_python(family)["python/ops_little.cpp"]
    assert '{"twist", as_method(twist_as_function), kFast' in text
    assert '{"twist", as_method(twist_as_method), kFast' in text
    assert '{"special", {"turn", as_method(special_turn_as_function), kFast' in text
    assert 'return renamed("special.turn", linalg_twist_function(' in text
    files = emit_common([family])
    assert "    def twist(self, other: Tensor) -> Tensor: ..." in files["python/_C.pyi"]
    assert (
        "def turn(input: Tensor, other: Tensor) -> Tensor: ..." in files["python/ebb/_special.pyi"]
    )


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("namespace: linalg", "namespace: lapack", "`namespace` needs one of"),
        ("namespace: linalg", "namespace: fft", "`namespace: fft` needs a name that starts with"),
        ("special.turn", "nn.turn", "`aliases` needs a namespace before the point, got nn.turn"),
        ("grad: none", "grad: none\n  inplace: true", "`inplace` is not for functions of a name"),
    ],
)
def test_a_wrong_namespace_is_told_with_its_place(tmp_path, old, new, error):
    with pytest.raises(SchemaError, match=rf"ops/little.yaml:\d: linalg_twist: {error}"):
        family_of(tmp_path, TABLE.replace(old, new))
