# tests/codegen/test_modules.py -- mistakes in the module table name file, line and class; and how
# options read in C++ and Python.
import ast

import pytest

from codegen.emit import modules
from codegen.generate import ROOT, load_all
from codegen.module_values import tensor_repr
from codegen.modules import load_modules
from codegen.signature import SchemaError

FAMILIES = load_all()
GOOD = """\
doc: some modules
args: {alpha: How much., dim: Which dim.}
modules:
  - module: ELU(alpha)
    op: elu
    doc: The ELU.
"""


def loaded(tmp_path, text):
    (tmp_path / "some.yaml").write_text(text)
    return load_modules(tmp_path, FAMILIES)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("op: elu", "op: elou", "ops/modules/some.yaml:4: ELU: needs `op` of the op table or "),
        ("(alpha)", "(beta)", "some.yaml:4: ELU: `beta` needs to be a parameter of its function"),
        ("(alpha)", "(dim)", "some.yaml:4: ELU: `dim` needs to be a parameter of its function"),
        (
            "    doc: The",
            "    dok: The",
            "some.yaml:4: ELU: unknown key `dok`, the nearest is `doc`",
        ),
        ("(alpha)", "", "some.yaml:4: ELU: needs `module: Name"),
        ("doc: some", "dok: some", "some.yaml:1: file: needs keys of doc, "),
        ("op: elu", "function: elu(Tensr input)", "some.yaml:4: ELU: op: needs parameters"),
        ("modules:", "modules: [", "some.yaml:1: yaml: "),
        ("op: elu", "op: elu\n    own: int", "some.yaml:4: ELU: op: needs parameters"),
        (
            "op: elu",
            "op: elu\n    parameters: {beta: {shape: 1, start: ones_()}}",
            "`beta` needs its",
        ),
        (
            "op: elu",
            "op: elu\n    parameters: {alpha: {shape: 1}}",
            "`alpha` needs its function to",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path, old, new, error):
    assert old in GOOD
    with pytest.raises(SchemaError) as caught:
        loaded(tmp_path, GOOD.replace(old, new, 1))
    assert error in str(caught.value)


def test_types_and_defaults_are_those_of_the_op(tmp_path):
    (family,) = loaded(tmp_path, GOOD)
    files = modules.emit([family])
    assert "def __init__(self, alpha: float = 1.0):" in files["python/ebb/nn/some.py"]
    assert "explicit ELU(double alpha = 1.0);" in files["ebb/nn/some.h"]
    assert "return ebb::elu(input, alpha_);" in files["ebb/nn/some.cpp"]


def test_a_module_of_a_function_is_not_in_cpp(tmp_path):
    text = GOOD.replace("op: elu", "function: celu(Tensor input, float alpha=2.0)")
    files = modules.emit(loaded(tmp_path, text))
    assert "return F.celu(input, self.alpha)" in files["python/ebb/nn/some.py"]
    assert "ebb/nn/some.h" not in files


def test_a_parameter_is_held_drawn_and_passed_and_its_module_not_in_cpp(tmp_path):
    row = """\
doc: some modules
modules:
  - module: Scale(size, bias, device, dtype)
    op: prelu
    doc: A scale.
    args: {size: How many., bias: Unused.}
    own: int size, bool bias=True
    parameters: {weight: {shape: "(size, 1)", if: bias, start: "uniform_(0, size)"}}
"""
    files = modules.emit(loaded(tmp_path, row))
    text = files["python/ebb/nn/some.py"]
    assert 'check.hold(self, "weight", (self.size, 1), device, dtype, bias)' in text
    assert "            init.uniform_(self.weight, 0, self.size)\n" in text
    assert "return F.prelu(input, self.weight)" in text and "self.bias: bool =" in text
    assert "size: int, bias: bool = True, device: Any = None, dtype: Any = None" in text
    assert "ebb/nn/some.h" not in files


def test_a_row_of_several_dims_is_a_module_for_each(tmp_path):
    row = """\
doc: some modules
args: {kernel_size: Size.}
modules:
  - module: Most{d}d(kernel_size)
    dims: [1, 3]
    op: "max_pool{d}d"
    doc: Most of the {dims}.
    example: {options: {kernel_size: {last: 2}}, inputs: [[[1.0, 2.0]]], out: [[2.0]]}
"""
    (family,) = loaded(tmp_path, row)
    one, three = family.modules
    assert (one.name, one.function, one.doc) == ("Most1d", "max_pool1d", "Most of the last dim.")
    assert (three.name, three.op.name) == ("Most3d", "max_pool3d")
    assert one.example == {"options": {"kernel_size": 2}, "inputs": [[[1.0, 2.0]]], "out": [[2.0]]}
    assert three.example == {"options": {"kernel_size": [1, 1, 2]},
                             "inputs": [[[[[1.0, 2.0]]]]], "out": [[[[2.0]]]]}  # fmt: skip


def test_the_generated_python_parses_and_is_no_wider_than_what_is_written():
    files = modules.emit(load_modules(ROOT / "ops" / "modules", FAMILIES))
    for name, text in files.items():
        if name.endswith(".py"):
            ast.parse(text)
            assert max(map(len, text.splitlines())) <= 100, name


def test_an_example_shows_what_a_tensor_prints():
    assert tensor_repr([-1.0, 12.0]) == "tensor([-1., 12.])"
    assert tensor_repr(8.5) == "tensor(8.5000)"
    assert tensor_repr([[1.0], [2.0]]) == "tensor([[1.],\n        [2.]])"
