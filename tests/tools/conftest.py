# tests/tools/conftest.py -- makes the tools importable, and small repositories to try them on.
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.check.repo import Repo  # noqa: E402


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
