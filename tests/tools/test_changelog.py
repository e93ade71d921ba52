# tests/tools/test_changelog.py -- lines that a merge puts below a release are found.
import subprocess

from tools.check import changelog

RELEASED = (
    "## Unreleased\n\n## 0.2.0 (2026-02-03)\n\n- A point.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n"
)


def release(repo):
    named = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*named, "commit", "-qm", "Release 0.2.0"], cwd=repo.root, check=True)


def problems_of(repo, text):
    changelog_of = repo.root / "CHANGELOG.md"
    changelog_of.write_text(text)
    return [str(problem) for problem in changelog.check(type(repo).at(repo.root))]


def test_a_line_below_a_release_that_it_was_made_without_is_found(make_repo):
    repo = make_repo({"CHANGELOG.md": RELEASED})
    release(repo)
    late = RELEASED.replace("- A point.\n", "- A point.\n- Late.\n")
    assert problems_of(repo, late) == ["CHANGELOG.md:6: 0.2.0 was released without: - Late."]


def test_unreleased_lines_are_free(make_repo):
    repo = make_repo({"CHANGELOG.md": RELEASED})
    release(repo)
    assert problems_of(repo, RELEASED.replace("## Unreleased\n", "## Unreleased\n\n- New.\n")) == []


def test_without_a_history_nothing_is_compared(make_repo):
    repo = make_repo({"CHANGELOG.md": RELEASED})
    assert changelog.check(repo) == []
