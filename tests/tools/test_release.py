# tests/tools/test_release.py -- a release is refused, shown and made, on a small repository.
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.release import MAX_POINTS, ReleaseError, deprecations, overdue, read_unreleased, released

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = """# Changelog

Newest first.

## Unreleased

- A second change,
  of two lines.
- A first change.

### Points

- **One place**: because two differed.

### Upgrading

- Call `b`, not `a`.

## 0.1.0 (2026-01-01)

- The beginning.
"""
FILES = {
    "CHANGELOG.md": CHANGELOG,
    "CITATION.cff": "version: 0.1.0\ndate-released: 2026-01-01\n",
    "README.md": "12 held out; ebb 0.1.0\n",
    "python/ebb/__init__.py": '__version__ = "0.1.0"\n',
    "python/ebb/old.py": (
        '@deprecated("a", instead="b", since="0.2.0", removed="0.4.0")\ndef a(): ...\n'
    ),
    ".gitignore": "build/\n",
}


def git(root, *arguments):
    named = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *named, *arguments], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def root(make_repo):
    """A repository of one commit, which .ci/run passed."""
    root = make_repo(FILES).root
    git(root, "commit", "-q", "-m", "Begin")
    git(root, "config", "user.name", "a")
    git(root, "config", "user.email", "a@b")
    (root / "build").mkdir()
    (root / "build/green").write_text(git(root, "rev-parse", "HEAD") + "\n")
    return root


def release(root, *arguments):
    command = [sys.executable, "-m", "tools.release", *arguments, "--root", root]
    dated = [*command, "--date", "2026-02-03"]
    return subprocess.run(dated, cwd=ROOT, capture_output=True, text=True)


def test_a_release_folds_what_was_unreleased_and_is_tagged(root):
    done = release(root, "0.2.0")
    assert done.returncode == 0, done.stderr
    assert (
        (root / "CHANGELOG.md").read_text()
        == """# Changelog

Newest first.

## Unreleased

## 0.2.0 (2026-02-03)

- **One place**: because two differed.

### Upgrading

- Call `b`, not `a`.
- `a` is deprecated: use `b`. It goes in 0.4.0.

<details>
<summary>All 2 changes, newest first</summary>

- A second change,
  of two lines.
- A first change.

</details>

## 0.1.0 (2026-01-01)

- The beginning.
"""
    )
    assert git(root, "rev-parse", "v0.2.0^{commit}") == git(root, "rev-parse", "HEAD")
    assert git(root, "tag", "-l", "--format=%(contents)").endswith("Tried by .ci/run.")
    assert git(root, "status", "--porcelain") == ""


def test_the_version_is_written_wherever_it_stands(root):
    release(root, "0.2.0")
    shown = {name: (root / name).read_text() for name in FILES}
    assert shown["python/ebb/__init__.py"] == '__version__ = "0.2.0"\n'
    assert shown["README.md"] == "12 held out; ebb 0.2.0\n"
    assert shown["CITATION.cff"] == "version: 0.2.0\ndate-released: 2026-02-03\n"


def test_a_dry_run_shows_the_section_and_changes_nothing(root):
    done = release(root, "0.2.0", "--dry-run")
    assert done.returncode == 0 and done.stdout.startswith("## 0.2.0 (2026-02-03)\n")
    assert "would write: CHANGELOG.md, CITATION.cff, README.md" in done.stdout
    assert git(root, "status", "--porcelain") == "" and git(root, "tag") == ""


def test_a_checkout_with_changes_is_refused(root):
    (root / "README.md").write_text("changed\n")
    done = release(root, "0.2.0")
    assert done.returncode == 1 and "needs a clean checkout, got changes:\nM README" in done.stderr


def test_a_commit_that_was_not_tried_is_refused_unless_its_tag_says_why(root):
    (root / "build/green").unlink()
    done = release(root, "0.2.0")
    assert done.returncode == 1 and "needs a commit that .ci/run passed" in done.stderr
    assert release(root, "0.2.0", "--unproven", "no machine").returncode == 0
    told = git(root, "tag", "-l", "--format=%(contents)")
    assert told.endswith("Not tried by .ci/run: no machine")


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "1.0"])
def test_a_version_that_is_not_above_the_present_one_is_refused(root, version):
    done = release(root, version)
    assert done.returncode == 1 and "needs a version" in done.stderr


def test_a_version_that_should_lack_a_name_is_refused_while_it_is_there(root):
    assert overdue(deprecations(root), "0.3.9") == []
    done = release(root, "0.4.0")
    assert done.returncode == 1 and "removes to be gone, got\npython/ebb/old.py:1: a" in done.stderr


@pytest.mark.parametrize("count", [0, MAX_POINTS + 1])
def test_the_number_of_points_is_bounded(count):
    _, section, _ = read_unreleased(CHANGELOG)
    section = type(section)(["- x"] * count, [], section.lines)
    with pytest.raises(ReleaseError, match=f"needs 1 to 12 points .*got {count}"):
        released(section, "0.2.0", "2026-02-03", [])


def test_continuous_integration_notes_the_commit_that_it_passed(make_repo):
    files = {".ci/run": (ROOT / ".ci/run").read_text(), "bin/make": "#!/bin/sh\n"}
    root = make_repo(files | {".gitignore": "build/\n"}).root
    (root / "bin/make").chmod(0o755)
    git(root, "commit", "-q", "-a", "-m", "Begin")
    git(root, "commit", "-q", "--allow-empty", "-m", "Go on")
    paths = os.environ | {"PATH": f"{root}/bin:/usr/bin:/bin"}
    subprocess.run(["bash", ".ci/run"], cwd=root, env=paths, capture_output=True, check=True)
    assert (root / "build/green").read_text().strip() == git(root, "rev-parse", "HEAD")
