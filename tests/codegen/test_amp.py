# tests/codegen/test_amp.py -- every op that computes is on a list of autocast.
import pytest

from codegen.emit.common import amp_lists
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of

ROW = """\
- op: half(Tensor input) -> Tensor out
  doc: A test.
  impl: true
  amp: lower
  grad: {input: grad_out}
  jvp: linear
  test: {none: a test}
"""
POINTWISE = """\
- op: half(Tensor input) -> Tensor out
  doc: A test.
  dtype: promote
  kernel: UnaryKernel half
  grad: {input: grad_out}
  test: {none: a test}
"""


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("  amp: lower\n", "", "needs `amp`, one of none, lower, float32, widest, first"),
        ("amp: lower", "amp: wide", "`amp` needs one of none, lower, .*, got 'wide'"),
        ("  grad: {input: grad_out}\n  jvp: linear\n", "  grad: none\n", "`amp` is for recorded"),
    ],
)
def test_a_mistake_is_told_with_the_op(tmp_path, old, new, error):
    with pytest.raises(SchemaError, match=f"half: {error}"):
        family_of(tmp_path, ROW.replace(old, new, 1))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ROW, "lower"),
        (ROW.replace("amp: lower", "cost: view"), "none"),
        (ROW.replace("amp: lower", "cost: product"), "lower"),
        (ROW.replace("amp: lower", "python: private"), "none"),
        (POINTWISE, "widest"),
    ],
)
def test_other_keys_may_tell_the_list(tmp_path, text, found):
    assert [op.amp for op in family_of(tmp_path, text).ops] == [found]


def test_overloads_of_an_op_must_be_on_one_list(tmp_path):
    second = ROW.replace("half(Tensor input)", "half.Scalar(Tensor input, Scalar other)")
    text = ROW + second.replace("amp: lower", "amp: float32")
    with pytest.raises(SchemaError, match=r"half.Scalar: `amp` is float32, and lower of half"):
        amp_lists([family_of(tmp_path, text)])
