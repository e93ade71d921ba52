# tests/tools/test_commits.py -- messages of recent commits are held to what CONTRIBUTING.md says.
import subprocess

import pytest

from tools.check import commits


@pytest.fixture
def commit(make_repo):
    """Return the repository, and a function that commits a file of so many lines."""
    repo = make_repo({"old.txt": "line\n" * 500})

    def commit(message, lines=0, name="new.txt"):
        (repo.root / name).parent.mkdir(parents=True, exist_ok=True)
        (repo.root / name).write_text("line\n" * lines)
        named = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*named, "add", "-A"], cwd=repo.root, check=True)
        subprocess.run([*named, "commit", "-qm", message], cwd=repo.root, check=True)
        return [problem.text for problem in commits.check(repo)]

    commit("Begin without a body")
    commit("Add the check", 1, "tools/check/commits.py")
    return commit


def test_a_large_commit_without_a_body_is_found(commit):
    assert commit("Add much", 101) == [
        "Add much: needs a body that says why, since it changes 101 lines"
    ]


@pytest.mark.parametrize(("message", "lines"), [("Add some", 100), ("Add much\n\nSince.", 101)])
def test_a_small_commit_and_one_with_a_body_pass(commit, message, lines):
    assert commit(message, lines) == []


def test_a_long_subject_is_found(commit):
    [text] = commit("A" * 61, 1)
    assert text.endswith("needs a subject of at most 60 characters, got 61")


def test_commits_before_the_last_release_are_left_alone(commit):
    assert len(commit("Add much", 101)) == 1
    assert commit("Release 0.9.0", 1) == []
    assert len(commit("Add much", 102)) == 1


def test_only_recent_commits_are_looked_at(commit, monkeypatch):
    monkeypatch.setattr(commits, "RECENT", 3)
    found = [commit("Add much", 101), *(commit(f"Add {count}", count) for count in (90, 80, 70))]
    assert [len(texts) for texts in found] == [1, 1, 1, 0]
