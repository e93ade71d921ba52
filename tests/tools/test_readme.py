# tests/tools/test_readme.py -- the examples in documents run and print what is printed there.
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def examples(language: str, document: str = "README.md") -> list[tuple[str, str]]:
    """Return each block in ``language`` with the ``text`` block that follows it, its output."""
    blocks = BLOCK.findall((ROOT / document).read_text())
    following = [*blocks[1:], ("", "")]
    return [
        (code, output if kind == "text" else "")
        for (name, code), (kind, output) in zip(blocks, following, strict=True)
        if name == language
    ]


def run(command: list[str], **options) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(("code", "output"), examples("python"))
def test_a_python_example_prints_what_the_readme_shows(code, output, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(RELEASE / "python")}
    script = tmp_path / "example.py"
    script.write_text(code)
    assert run([sys.executable, str(script)], cwd=tmp_path, env=environment) == output


def test_the_examples_of_the_graph_manual_print_what_it_shows(tmp_path):
    """They build on each other."""
    environment = os.environ | {"PYTHONPATH": str(RELEASE / "python")}
    blocks = examples("python", "docs/graph.md")
    script = tmp_path / "example.py"
    script.write_text("\n".join(code for code, _ in blocks))
    shown = "".join(output for _, output in blocks)
    assert run([sys.executable, str(script)], cwd=tmp_path, env=environment) == shown


@pytest.mark.parametrize(("code", "output"), [*examples("cpp"), *examples("cpp", "docs/graph.md")])
def test_a_cpp_example_prints_what_the_readme_shows(code, output, tmp_path):
    source, program = tmp_path / "example.cpp", tmp_path / "example"
    source.write_text(code)
    includes = [f"-I{ROOT}", f"-I{RELEASE / 'generated'}"]
    libraries = [f"-L{RELEASE / 'lib'}", "-lebb", f"-Wl,-rpath,{RELEASE / 'lib'}"]
    # The linker need not look for what libebb.so itself stands on.
    libraries.append("-Wl,--unresolved-symbols=ignore-in-shared-libs")
    run(["g++", "-std=c++20", *includes, str(source), *libraries, "-o", str(program)])
    assert run([str(program)]) == output
