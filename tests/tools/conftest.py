# tests/tools/conftest.py -- small repositories to try the checks on.
import subprocess

import pytest

from tools.check.repo import Repo


@pytest.fixture
def make_repo(tmp_path):
    """Return a function that writes files into a fresh git repository and opens it."""

    def make(files: dict[str, str | bytes]) -> Repo:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
        return Repo.at(tmp_path)

    return make
