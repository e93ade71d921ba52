# tests/codegen/test_model.py -- mistakes in the op table are reported with file, line and op.
import re

import pytest

from codegen.signature import SchemaError, parse_signature
from tests.codegen.little_table import family_of

GOOD = """\
- op: half(Tensor input) -> Tensor out
  doc: Half of it.
  dtype: promote
  kernel: UnaryKernel half
  grad: {input: grad_out * 0.5}
  test: {numpy: input / 2}
"""


def test_a_good_entry_loads_with_its_defaults(tmp_path):
    [op] = family_of(tmp_path, GOOD).ops
    assert (op.full_name, op.node_name, op.jvp) == ("half", "HalfBackward", "auto")
    assert op.forms == ("plain",)
    assert op.kernels[0].operands == ("input",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "kernel:",
            "kernal:",
            "ops/little.yaml:4: half: unknown key `kernal`, the nearest is `kernel`",
        ),
        ("  doc: Half of it.\n", "", "ops/little.yaml:1: half: needs `doc`, such as `doc: "),
        (
            "Tensor input",
            "Tensr input",
            "ops/little.yaml:1: half: op: needs parameters `Type name[",
        ),
        ("-> Tensor out", "", "ops/little.yaml:1: half: op: needs `name(Type name, ...) -> Tensor"),
        ("promote", "demote", "ops/little.yaml:3: half: `dtype` needs one of promote, promote_flo"),
        (
            "  doc: Half",
            "  defaults: {x: 1}\n  doc: Half",
            "ops/little.yaml:2: half: `defaults` names `x`, which is no parameter",
        ),
        ("UnaryKernel", "OneKernel", "ops/little.yaml:4: half: unknown kernel type `OneKernel`, "),
        ("half\n", "half(x)\n", "ops/little.yaml:4: half: `kernel` names `x`, which is no operand"),
        ("{input: grad", "{x: grad", "ops/little.yaml:5: half: `grad` names `x`, which is no tens"),
        (
            "{input: grad_out * 0.5}",
            "{}",
            "ops/little.yaml:5: half: `grad` needs a formula or `none` for `input`",
        ),
        (
            "  grad: {input: grad_out * 0.5}\n",
            "",
            "ops/little.yaml:1: half: needs `grad: none`, `grad: refused` or a formula per tensor",
        ),
        (
            "  test: {numpy: input / 2}\n",
            "",
            "ops/little.yaml:1: half: needs `test`, such as `test: {numpy: np.exp(input), ",
        ),
        (
            "doc:",
            "dtypes: floats\n  doc:",
            "ops/little.yaml:2: half: unknown dtype class `floats`, the nearest is `float",
        ),
        (
            "doc:",
            "inplace: maybe\n  doc:",
            "ops/little.yaml:2: half: `inplace` needs true or false, or one of copy, got 'maybe'",
        ),
        (
            "doc:",
            "cost: vew\n  doc:",
            "ops/little.yaml:2: half: `cost` needs one of elements, view, copy, product, "
            "product_transposed, got 'vew', the nearest is `view`",
        ),
        (
            "doc:",
            "spellings: {imput: x}\n  doc:",
            "ops/little.yaml:2: half: `spellings` names `imput`, which is no parameter, the "
            "nearest is `input`",
        ),
        (
            "doc:",
            "method: [x]\n  doc:",
            "ops/little.yaml:2: half: `method` needs true or false, go",
        ),
        (
            "doc:",
            "operator: [1]\n  doc:",
            "ops/little.yaml:2: half: `operator` needs text, or a list of texts, got [1]",
        ),
        ("doc:", "doc: Twice.\n  doc:", "ops/little.yaml:3: half: key `doc` is given twice"),
        (
            "doc:",
            "impl: true\n  doc:",
            "ops/little.yaml:4: half: `dtype` is for pointwise, reduce and scan rows, got it i",
        ),
        (
            "doc:",
            "not_differentiable: indices\n  doc:",
            "ops/little.yaml:2: half: `not_differentiable` is for impl rows, got it in one of poin",
        ),
        (
            "  dtype: promote\n  kernel: UnaryKernel half\n  grad: {input: grad_out * 0.5}\n",
            "  composite: input / 2\n  check: min_rank(input, 1)\n",
            "ops/little.yaml:4: half: a composite knows `check: same_dtype(a, b)` alone; its body",
        ),
        ("numpy:", "nunpy:", "ops/little.yaml:6: half: unknown key `nunpy` of `test`, the n"),
        (
            "input / 2}",
            "input / 2, domain: small}",
            "ops/little.yaml:6: half: `test.domain` needs one of real, positive, above_one, unit, ",
        ),
        (
            "input / 2}",
            "input / 2, special: {gradients: it has none}}",
            "ops/little.yaml:6: half: `test.special` needs keys among values, nan, gradient, ",
        ),
    ],
)
def test_a_mistake_names_file_line_and_op(tmp_path, old, new, message):
    with pytest.raises(SchemaError, match="^" + re.escape(message)):
        family_of(tmp_path, GOOD.replace(old, new, 1))


def test_an_op_defined_twice_names_the_first_line(tmp_path):
    with pytest.raises(SchemaError, match=r"^ops/little\.yaml:7: half: already defined in line 1$"):
        family_of(tmp_path, GOOD + GOOD)


def test_broken_yaml_names_the_line(tmp_path):
    with pytest.raises(SchemaError, match=r"^ops/little\.yaml:3: yaml: "):
        family_of(tmp_path, "- op: x\n  doc: 'open\n")


def test_signatures_keep_order_defaults_and_keywords():
    signature = parse_signature(
        "sum.dim(Tensor input, int[]? dim=None, *, dtype? dtype=None) -> (Tensor a, Tensor b)"
    )
    assert signature.full_name == "sum.dim"
    assert [param.name for param in signature.params] == ["input", "dim", "dtype"]
    assert [param.keyword_only for param in signature.params] == [False, False, True]
    assert [param.cpp_default for param in signature.params] == [None, *["std::nullopt"] * 2]
    assert [result.name for result in signature.results] == ["a", "b"]


def test_a_parameter_may_not_take_a_name_of_formulas():
    with pytest.raises(SchemaError, match="a parameter name that formulas do not use"):
        parse_signature("f(Tensor grad_out) -> Tensor out")


def test_a_text_has_a_literal_default_and_is_kept_by_value():
    signature = parse_signature("f(Tensor a, *, str mode='none', str? other=None) -> Tensor out")
    mode, other = signature.params[1:]
    assert (mode.type.argument, mode.type.stored) == ("std::string_view", "std::string")
    assert (mode.cpp_default, mode.python_default) == ('"none"', "'none'")
    assert (other.cpp_default, other.python_default) == ("std::nullopt", "None")


@pytest.mark.parametrize("default", ["none", '"none"', "'a\\n'", "3"])
def test_a_text_without_a_plain_literal_is_refused(default):
    with pytest.raises(SchemaError, match="needs a default in single quotes for a str"):
        parse_signature(f"f(Tensor a, str mode={default}) -> Tensor out")


def test_optional_numbers_may_have_a_default():
    signature = parse_signature("f(Tensor a, float? p=0.5, bool? on=True) -> Tensor out")
    assert [param.cpp_default for param in signature.params] == [None, "0.5", "true"]
