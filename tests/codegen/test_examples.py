# tests/codegen/test_examples.py -- the files of examples in the help of ops are read as written.
import pytest

from codegen.examples import examples_path, read_examples, write_examples
from codegen.generate import FAMILIES, ROOT, load_all
from codegen.python_function import python_functions
from codegen.signature import SchemaError


def test_what_is_written_is_read(tmp_path):
    examples = {"add": [">>> ebb.add(1, 2)", "3"], "add_inplace": [">>> x.add_(1)"]}
    path = tmp_path / "arithmetic.txt"
    write_examples(path, examples)
    assert read_examples(path) == examples
    assert path.read_text().startswith(f"# ops/{tmp_path.name}/arithmetic.txt -- ")
    assert read_examples(tmp_path / "none.txt") == {}


@pytest.mark.parametrize("text", ["add\n", "add\n3\n", "add\n>>> 1\n\nadd\n>>> 2\n"])
def test_a_block_without_a_name_and_a_session_is_refused(tmp_path, text):
    path = tmp_path / "arithmetic.txt"
    path.write_text(text)
    with pytest.raises(SchemaError, match=r"arithmetic.txt: needs a name and a session once"):
        read_examples(path)


def test_each_example_is_about_a_function_of_its_family():
    keys = {family.name: {one.key for one in python_functions(family)} for family in load_all()}
    paths = list((ROOT / "ops").rglob("*.txt"))
    assert set(paths) == {path for path in map(examples_path, FAMILIES) if path.exists()}
    for path in paths:
        assert set(read_examples(path)) <= keys[path.stem], path.name
