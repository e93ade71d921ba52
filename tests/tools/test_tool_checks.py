# tests/tools/test_tool_checks.py -- checks that call a compiler or a formatter fail with it.
import shutil
from pathlib import Path

import pytest

from tools.check import cpp_format, headers, python_style, stub

ROOT = Path(__file__).resolve().parents[2]
needs_clang_format = pytest.mark.skipif(
    shutil.which(cpp_format.PROGRAM) is None, reason="clang-format-14 comes with tools/setup.sh dev"
)


def test_a_header_that_does_not_include_what_it_names_is_found(make_repo):
    repo = make_repo({"ebb/a.h": "#pragma once\nstd::string f();\n"})
    [problem] = headers.check(repo)
    assert problem.path == "ebb/a.h"
    assert "error" in problem.text


def test_a_header_is_compiled_again_when_one_that_it_includes_changes(make_repo):
    files = {"ebb/a.h": '#pragma once\n#include "ebb/b.h"\nB f();\n', "ebb/b.h": "struct B {};\n"}
    assert headers.check(make_repo(files)) == []
    headers._hashes.clear()  # a new process starts without them
    files["ebb/b.h"] = "struct C {};\n"
    assert [problem.path for problem in headers.check(make_repo(files))] == ["ebb/a.h"]


def test_an_unchanged_header_is_not_compiled_again(make_repo, monkeypatch):
    repo = make_repo({"ebb/a.h": "#pragma once\nint f();\n"})
    assert headers.check(repo) == []
    monkeypatch.setattr(headers, "compile_header", lambda *_: pytest.fail("compiled again"))
    assert headers.check(repo) == []


@needs_clang_format
def test_an_unformatted_file_is_found_and_stays_found(make_repo):
    style = (ROOT / ".clang-format").read_text()
    repo = make_repo({".clang-format": style, "a.h": "int  f( );\n", "b.h": "int f();\n"})
    for _ in range(2):  # a failure is never remembered as a pass
        assert [problem.path for problem in cpp_format.check(repo)] == ["a.h"]


def test_python_that_ruff_refuses_is_found(make_repo):
    repo = make_repo({"ruff.toml": "line-length = 100\n", "a.py": "import os\nx = [ 1 ]\n"})
    problems = python_style.check(repo)
    assert {problem.path for problem in problems} == {"a.py"}
    assert any("F401" in problem.text for problem in problems)
    assert any(problem.text == "not formatted" for problem in problems)


def test_two_python_tests_of_one_name_are_found(make_repo):
    twice = "def test_a(): ...\n\n\n"
    repo = make_repo({"ruff.toml": (ROOT / "ruff.toml").read_text(), "tests/a.py": twice * 2})
    assert any("F811" in problem.text for problem in python_style.check(repo))


def test_clean_python_passes(make_repo):
    repo = make_repo({"ruff.toml": "line-length = 100\n", "a.py": "x = [1]\n"})
    assert python_style.check(repo) == []


def test_a_stub_that_says_otherwise_is_found(tmp_path):
    (tmp_path / "thing.py").write_text("def f(a): ...\n")
    (tmp_path / "thing.pyi").write_text("def f(b: int) -> None: ...\n")
    [line] = stub.run(tmp_path, ["mypy.stubtest", "thing", "--concise"])
    assert 'stub parameter "b"' in line


def test_a_program_that_a_type_checker_refuses_is_found(tmp_path):
    package = tmp_path / "release" / "python"
    (package / "ebb").mkdir(parents=True)
    (package / "ebb" / "__init__.py").write_text("")
    (tmp_path / "program.py").write_text("import ebb\n\nebb.tensor\n")
    lines = stub.check_types(package, tmp_path / "program.py")
    assert 'has no attribute "tensor"' in lines[0]
