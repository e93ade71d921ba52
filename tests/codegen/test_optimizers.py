# tests/codegen/test_optimizers.py -- mistakes in the table of optimizers name file, line and class;
# and how options read in C++ and Python.
import ast

import pytest

from codegen.emit import optimizers
from codegen.generate import ROOT
from codegen.optimizers import load_optimizers
from codegen.signature import SchemaError

GOOD = """\
args: {lr: How far., betas: How fast., slow: Whether to wait.}
defaults: {foreach: None, slow: "True"}
pairs: {betas: [beta1, beta2]}
ranges: {beta2: below_one}
python_only: [foreach]
example: Make a {name}.
optimizers:
  - optimizer: Walk(lr=1e-2, betas=(0.5, 0.9), *, slow, foreach)
    doc: Steps.
    step: p -= lr * g.
    state: mean, count if slow, rate = lr
    by_hand: [factors]
"""


def loaded(tmp_path, text):
    (tmp_path / "some.yaml").write_text(text)
    return load_optimizers(tmp_path / "some.yaml")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("lr=1e-2", "lr", "ops/optim/some.yaml:8: Walk: `lr` needs a default, and a doc in `args`"),
        ("slow,", "fast=1,", "some.yaml:8: Walk: `fast` needs a default, and a doc in `args`"),
        ("lr=1e-2", "lr=high", "some.yaml:8: Walk: `lr` needs a literal as default, got high"),
        ("(0.5, 0.9)", "(0.5, 0.9, 1)", "Walk: `betas` needs its names in C++ in `pairs`"),
        ("    doc:", "    dok:", "some.yaml:8: Walk: unknown key `dok`, the nearest is `doc`"),
        ("Walk(", "Walk", "some.yaml:8: Walklr=1e-2, betas=: needs `optimizer: Name(option="),
        ("[factors]", "[factor]", "Walk: by_hand: needs some of factors, usable, got factor"),
        ("    step: p -= lr * g.\n", "", "Walk: needs both `step` and `state`, or neither"),
        ("if slow", "if fast", "Walk: state: needs `name if option` or `name = option`, got `c"),
        ("optimizers:", "optimizer:", "some.yaml:1: file: needs keys of doc, args, "),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path, old, new, error):
    assert old in GOOD
    with pytest.raises(SchemaError) as caught:
        loaded(tmp_path, GOOD.replace(old, new, 1))
    assert error in str(caught.value)


def test_options_read_as_fields_of_a_struct_and_as_parameters(tmp_path):
    files = optimizers.emit(loaded(tmp_path, GOOD))
    struct = files["ebb/kernels/optimizer_options.h"].partition("struct WalkOptions {\n")[2]
    assert [line.strip() for line in struct.splitlines()[:4]] == [
        "double lr = 1e-2;",
        "double beta1 = 0.5;",
        "double beta2 = 0.9;",
        "bool slow = true;",
    ]
    listed = files["ebb/optim/optimizer_table.cpp"]
    assert 'visit({"beta1", options.beta1});' in listed
    assert 'visit({"beta2", options.beta2, OptionRange::below_one});' in listed
    python = files["python/ebb/optim/walk.py"]
    assert "betas: tuple[float, float] = (0.5, 0.9), *, slow: bool = True" in " ".join(
        python.split()
    )
    assert "foreach: Taken for PyTorch's sake" in python and "Make a Walk." in python


def test_state_is_kept_and_begins_as_the_row_says(tmp_path):
    header = optimizers.emit(loaded(tmp_path, GOOD))["ebb/optim/walk.h"]
    assert "case 1: return options().slow;" in header
    assert "case 2: return options().lr;" in header
    assert "StepFactors factors(int64_t steps) const override;" in header
    assert "usable" not in header


def test_the_generated_python_parses_and_is_no_wider_than_what_is_written():
    files = optimizers.emit(load_optimizers(ROOT / "ops" / "optim" / "fused.yaml"))
    for name, text in files.items():
        if name.endswith(".py"):
            ast.parse(text)
            assert max(map(len, text.splitlines())) <= 100, name
