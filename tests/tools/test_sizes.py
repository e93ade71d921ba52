# tests/tools/test_sizes.py -- long files, functions and lines are found, and only they.
from tools.check import sizes


def body(lines: int) -> str:
    return "  step();\n" * lines


def test_a_file_of_601_lines_is_too_long():
    assert sizes.long_files("a.h", "\n" * 600) == []
    [problem] = sizes.long_files("a.h", "\n" * 601)
    assert "at most 600 lines, got 601" in problem.text


def test_a_line_of_101_columns_is_too_wide_unless_it_holds_an_address():
    [problem] = sizes.long_lines("a.h", "\n" + "x" * 101)
    assert (problem.line, problem.text) == (2, "line needs at most 100 columns, got 101")
    assert sizes.long_lines("a.h", "// https://" + "x" * 100) == []


def test_a_line_of_a_readme_of_161_columns_is_too_long(make_repo):
    repo = make_repo({"a/README.md": "# a\n" + "x" * 160 + "\n" + "x" * 161, "b.md": "x" * 161})
    [problem] = sizes.check(repo)
    assert (problem.path, problem.line) == ("a/README.md", 3)
    assert "at most 160 columns, got 161" in problem.text


def test_a_cpp_function_of_61_lines_is_too_long():
    code = "namespace a {\nvoid f() {\n" + body(59) + "}\nvoid g() {\n" + body(58) + "}\n}\n"
    [problem] = sizes.long_functions("a.cpp", code)
    assert (problem.line, problem.text) == (2, "function a::f needs at most 60 lines, got 61")


def test_a_javascript_function_of_61_lines_is_too_long():
    code = "class A {\n  f(x) {\n" + body(59) + "  }\n}\n"
    [problem] = sizes.long_functions("a.js", code)
    assert problem.text == "function f needs at most 60 lines, got 61"


def test_a_python_docstring_does_not_count():
    docstring = '    """Say.\n' + "    more\n" * 50 + '    """\n'
    code = "def f():\n" + docstring + "    step()\n" * 59
    assert sizes.long_python_functions("a.py", code) == []
    [problem] = sizes.long_python_functions("a.py", code + "    step()\n")
    assert problem.text == "function f needs at most 60 lines, got 61"


def test_check_reads_the_repository(make_repo):
    names = ("a.cpp", "b.txt", "docs/c.md", "CHANGELOG.md")
    repo = make_repo(dict.fromkeys(names, "\n" * 601))
    assert [problem.path for problem in sizes.check(repo)] == ["a.cpp", "docs/c.md"]
