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
import traceback
import warnings
from pathlib import Path

import pytest

import ebb
from tests.python.devices import sim_device

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = (
    "semantics.md",
    "custom_functions.md",
    "finding_faults.md",
    "forward_mode.md",
    "functions.md",
    "threads.md",
)
NAMES = (
    *REFERENCE,
    "errors.md",
    "explain.md",
    "amp.md",
    "coming_from_pytorch.md",
    "devices.md",
    "torch_compat.md",
    "versions.md",
)
PAGES = [ROOT / "docs" / name for name in NAMES]
WHOLE_PAGES = ("profiler.md",)  # whose sections are one program together
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.M | re.S)


def sections(page):
    """Each section that has examples: its title, and its blocks with what they print."""
    for section in re.split(r"^## ", page.read_text(), flags=re.M):
        blocks = [(found[1], found[2] or "") for found in BLOCK.finditer(section)]
        if blocks:
            yield section.splitlines()[0], blocks


def run(code, names):
    """Run one block and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*no kernel on sim")
        exec(compile(code, "example.py", "exec"), names)
    return printed.getvalue()


def run_sections(sections):
    """Run each section in a process of its own: what its blocks print, or the error that ended it.

    Those processes are forked from one that has imported what they need.
    """
    command = [sys.executable, "-m", "tests.python.package.test_docs"]
    done = subprocess.run(
        command, input=json.dumps(sections), cwd=ROOT, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_shows_an_empty_output(page):
    assert "```text\n```" not in page.read_text()


SECTIONS = {f"{page.name}: {title}": blocks for page in PAGES for title, blocks in sections(page)}


@pytest.fixture(scope="module")
def printed():
    """What each section prints, but for those that the sanitizer cannot follow into PoCL."""
    has_pocl = "asan" not in os.environ.get("LD_PRELOAD", "")
    tried = {
        title: [code for code, _ in blocks]
        for title, blocks in SECTIONS.items()
        if has_pocl or not any('"opencl"' in code for code, _ in blocks)
    }
    return dict(zip(tried, run_sections(list(tried.values())), strict=True))


@pytest.mark.parametrize("title", SECTIONS)
def test_the_examples_of_a_section_do_what_the_reference_shows(title, printed):
    if any('"sim:0"' in code for code, _ in SECTIONS[title]):
        sim_device.path()  # skips where it was not built
    if title not in printed:
        pytest.skip("PoCL compiles code that the sanitizer does not see")
    assert printed[title] == [output for _, output in SECTIONS[title]], printed[title]


@pytest.mark.parametrize("page", WHOLE_PAGES)
def test_the_examples_of_a_page_do_what_it_shows(page):
    found = list(BLOCK.finditer((ROOT / "docs" / page).read_text()))
    (printed,) = run_sections([[block[1] for block in found]])
    shown = [(block[2], text) for block, text in zip(found, printed, strict=True) if block[2]]
    assert shown and all(expected == text for expected, text in shown), shown


@pytest.mark.parametrize("name", REFERENCE)
def test_every_section_of_the_reference_has_examples(name):
    page = ROOT / "docs" / name
    titles = re.findall(r"^## (.*)$", page.read_text(), re.M)
    assert titles and titles == [title for title, _ in sections(page)]


def run_blocks(blocks):
    if any('"sim:0"' in code for code in blocks):
        sim_device.load()
    names = {"ebb": ebb, "__name__": "__main__"}
    return [run(code, names) for code in blocks]


def main():
    for blocks in json.load(sys.stdin):
        if os.fork() == 0:
            try:
                found = run_blocks(blocks)
            except BaseException:
                found = traceback.format_exc()
            print(json.dumps(found), flush=True)
            os._exit(0)
        _, status = os.wait()
        if status != 0:
            print(json.dumps(f"ended with status {status}"), flush=True)


if __name__ == "__main__":
    main()
