# tests/tools/test_op_names.py -- the check that finds what is decided by the name of an op.
import pytest

from tools.check import op_names
from tools.check.op_names import in_cpp, in_python, in_template, in_texts, names_of

TABLE = {
    "ops/shape.yaml": "- op: view(Tensor input) -> Tensor out\n- op: >-\n    flip.dims(int a)\n"
}
NAMES = names_of(TABLE)


def test_names_of_ops_overloads_and_families_are_read():
    assert {"shape", "view", "flip", "flip.dims"} <= NAMES


@pytest.mark.parametrize(
    "text",
    [
        'if row.op == "view": pass',
        'if self.op.name in ("flip", "other"): pass',
        'if row.data["family"] != "shape": pass',
        'VIEWS = {"view": "why"}\nif op.full_name in VIEWS: pass',
        'if row.name.startswith("vie"): pass',
    ],
)
def test_a_decision_by_name_is_found(text):
    assert in_python(text, NAMES) == [text.count("\n") + 1]


@pytest.mark.parametrize(
    "text",
    [
        'if row.data["cost"] == "view": pass',
        'if event.name == "view": pass',
        'VIEWS = ("view",)\nfor name in VIEWS: pass',
        'if row.name.endswith("_"): pass',
        "if op.name == other.name: pass",
    ],
)
def test_other_questions_are_not(text):
    assert in_python(text, NAMES) == []


def test_a_text_that_lists_names_is_found():
    assert in_texts('x = 1\nnames = "view flip shape".split()', NAMES) == [2]
    assert in_texts('names = "view flip shape view other".split()', NAMES) == [1]
    assert in_texts('names = "view flip".split(), "view the shape"', NAMES) == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ('if (node.name() == "view") {', True),
        ('if ("flip" != call.op) {', True),
        ('if (node.name() == "FlipDimsBackward") {', True),
        ('if (std::string_view(name) == "view") {', True),
        ('return std::strcmp(rule.name, "flip") == 0;', True),
        ('return op.starts_with("view");', True),
        ('const char* kViews[] = {"view", "flip"};', True),
        ('for (auto one : {"other",\n"view", "flip"}) {', True),
        ('throw ShapeError(str("view: needs sizes"));', False),
        ('if (mode == "view") {', False),
        ('if (name == "other") {', False),
        ('infer::check_index("view", "shape", index);', False),
        ('const Row row{"view", "text"};', False),
    ],
)
def test_decisions_by_name_are_found_in_cpp(text, is_found):
    assert in_cpp("\n" + text, NAMES) == ([2] if is_found else [])


def test_templates_are_searched_too():
    assert in_template("{% if op.cost == 'view' %}\n{% if op.name == 'flip' %}") == [2]


def test_the_check_reads_the_table_and_finds_the_line(make_repo):
    decides = '# codegen/a.py\nif op.name == "view":\n    pass\n'
    [problem] = op_names.check(make_repo({**TABLE, "codegen/a.py": decides}))
    assert (problem.path, problem.line) == ("codegen/a.py", 2)
