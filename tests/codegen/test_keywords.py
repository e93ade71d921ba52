# tests/codegen/test_keywords.py -- keywords that a Python function takes beside its parameters.
import pytest

from codegen.emit.python import emit as emit_python, emit_common
from codegen.emit.tests import row
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of

TABLE = """\
- op: turned(Tensor A, Tensor tau) -> Tensor out
  doc: A test.
  spellings: {A: input, tau: [input2, angle]}
  impl: true
  grad: none
  test: {none: a test}

- op: blank_like(Tensor input) -> Tensor out
  doc: A test.
  impl: true
  grad: none
  reads: geometry
  test: {none: a test}

- op: blank_like.format(Tensor input, *, str memory_format) -> Tensor out
  doc: A test.
  composite: true
  reads: geometry
  test: {none: a test}
"""


def test_spellings_stand_behind_the_overloads_of_a_function(family):
    text = emit_python(family)["python/ops_little.cpp"]
    pairs = '{"input", "A"}, {"input2", "tau"}, {"angle", "tau"}'
    assert f"const Spelling turned_spellings[] = {{{pairs}}};" in text
    assert 'OpSpec turned_spec{"turned", turned_overloads, turned_spellings};' in text
    assert '{"input2", ArgKind::' not in text
    assert row(family.ops[0])["spellings"] == {"A": ["input"], "tau": ["input2", "angle"]}
    assert "def turned(A: Tensor, tau: Tensor)" in emit_common([family])["python/_C.pyi"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("{A: input,", "{B: input,", "`spellings` names `B`, which is no parameter"),
        ("{A: input,", "{A: tau,", "`spellings` needs `parameter: other names`, got `A`"),
    ],
)
def test_spellings_of_nothing_and_of_another_parameter_are_mistakes(tmp_path, old, new, error):
    with pytest.raises(SchemaError, match=error):
        family_of(tmp_path, TABLE.replace(old, new))


def test_what_reads_no_values_may_make_a_leaf_and_takes_what_changes_nothing(family):
    text = emit_python(family)["python/ops_little.cpp"]
    options = "kLayoutOption | kPinOption | kFormatOption"
    assert f'OpSpec blank_like_spec{{"blank_like", blank_like_overloads, {{}}, {options}}};' in text
    assert '{"requires_grad", ArgKind::boolean, kHasDefault | kKeywordOnly},' in text
    assert '{"layout", ' not in text and '{"pin_memory", ' not in text
    assert "return created(run(is_heavy(input)" in text
    stub = emit_common([family])["python/_C.pyi"]
    shown = "layout: str | None = None, pin_memory: builtins.bool = False"
    assert stub.count(shown) == 2  # the function and the method
