# tests/codegen/test_devices.py -- the `device` key: rows of expressions, and mistakes in them.
import pytest

from codegen.emit.devices import emit
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of

TABLE = """\
- op: halved(Tensor input, Scalar alpha) -> Tensor out
  doc: A test.
  dtypes: standard
  dtype: promote
  kernel: BinaryKernel halved
  device: "masked_product(input, K(0.5)) + (C)alpha"
  grad: none
  test: {none: a test}

- op: turned(Tensor input) -> Tensor out
  doc: A test.
  dtypes: numeric
  dtype: promote
  kernel: UnaryKernel turned
  device: {floating: -input, integer: "~input"}
  grad: none
  test: {none: a test}
"""


def test_a_row_per_kernel_has_its_expressions_by_kind(tmp_path):
    text = emit([family_of(tmp_path, TABLE)])["ebb/devices/common/pointwise/pointwise_rows.cpp"]
    product = '"masked_product(input, K(0.5)) + (C)alpha"'
    assert f'"input, alpha",\n     {product}, {product}, {product}, erased(&binary_row<0>)' in text
    assert '"-input", "~input", nullptr, erased(&unary_row<1>)' in text


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "(C)alpha",
            "(C)beta",
            r"ops/little.yaml:6: halved: `device` names `beta`, which is no op",
        ),
        ("masked_product(", "product(", "`device` names `product`, which is no operand of halved"),
        ("K(0.5))", "K(0.5)", "`device` needs an expression, got 'masked_product"),
        ("{floating: -input,", "{real: -input,", "`device` needs keys among floating, integer, b"),
        (
            '"~input"}',
            '"~input", bool: input}',
            "has an expression for bool, which the kernel turn",
        ),
        (
            "UnaryKernel turned",
            "CastKernel turned",
            "`device` is for rows of one kernel, one of Un",
        ),
    ],
)
def test_mistakes_name_file_line_and_op(tmp_path, old, new, error):
    with pytest.raises(SchemaError, match=error):
        family_of(tmp_path, TABLE.replace(old, new))


def test_a_kernel_has_one_expression(tmp_path):
    twice = TABLE.replace("UnaryKernel turned", "BinaryKernel halved(input, input)")
    twice = twice.replace("numeric", "standard").replace("floating: -input", "floating: input")
    with pytest.raises(
        SchemaError, match="turned: `device` for kernel `halved` is another one in halved"
    ):
        emit([family_of(tmp_path, twice)])
