# tests/python/package/test_docs.py -- the Python examples of the user's pages run as they stand.
#
# The blocks of one section are one program, read from top to bottom; `import ebb` is all that is
# taken for granted. A `text` block right below is what the block prints, errors that it catches
# included; a block without one prints nothing. Pages whose output is mostly times may print more.
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import ebb
from tests.python.devices import sim_device

ROOT = Path(__file__).resolve().parents[3]
NAMES = (
    "semantics.md",
    "errors.md",
    "explain.md",
    "amp.md",
    "coming_from_pytorch.md",
    "devices.md",
    "torch_compat.md",
)
PAGES = [ROOT / "docs" / name for name in NAMES]
WHOLE_PAGES = ("profiler.md",)  # whose sections are one program together
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.M | re.S)


def sections(page):
    """Each section that has examples: its title, and its blocks with what they print."""
    for section in re.split(r"^## ", page.read_text(), flags=re.M):
        blocks = [(found[1], found[2] or "") for found in BLOCK.finditer(section)]
        if blocks:
            yield pytest.param(blocks, id=section.splitlines()[0])


def run(code, names):
    """Run one block and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*no kernel on sim")
        exec(compile(code, "example.py", "exec"), names)
    return printed.getvalue()


def run_section(blocks):
    """Run all blocks in a process of their own and return what each prints."""
    command = [sys.executable, "-m", "tests.python.package.test_docs"]
    done = subprocess.run(
        command, input=json.dumps(blocks), cwd=ROOT, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_shows_an_empty_output(page):
    assert "```text\n```" not in page.read_text()


@pytest.mark.parametrize("blocks", [one for page in PAGES for one in sections(page)])
def test_the_examples_of_a_section_do_what_the_reference_shows(blocks):
    if any('"sim:0"' in code for code, _ in blocks):
        sim_device.path()  # skips where it was not built
    if any('"opencl"' in code for code, _ in blocks) and "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip(
            "PoCL compiles code that the sanitizer does not see, as tests/python/opencl does"
        )
    assert run_section([code for code, _ in blocks]) == [output for _, output in blocks]


@pytest.mark.parametrize("page", WHOLE_PAGES)
def test_the_examples_of_a_page_do_what_it_shows(page):
    found = list(BLOCK.finditer((ROOT / "docs" / page).read_text()))
    printed = run_section([block[1] for block in found])
    shown = [(block[2], text) for block, text in zip(found, printed, strict=True) if block[2]]
    assert shown and all(expected == text for expected, text in shown), shown


def test_every_section_of_the_reference_has_examples():
    titles = re.findall(r"^## (.*)$", PAGES[0].read_text(), re.M)
    assert titles == [one.id for one in sections(PAGES[0])]


def main():
    blocks = json.load(sys.stdin)
    if any('"sim:0"' in code for code in blocks):
        sim_device.load()
    names = {"ebb": ebb, "__name__": "__main__"}
    json.dump([run(code, names) for code in blocks], sys.stdout)


if __name__ == "__main__":
    main()
