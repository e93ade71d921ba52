# tests/python/systems/programs.py -- runs a program of this folder in a process of its own.
"""Programs of their own."""

from __future__ import annotations

from pathlib import Path

from tests.python.fresh import printed

ROOT = Path(__file__).parents[3]


def module(name: str, *arguments: object, **options: object) -> str:
    """Run a program of this folder without faulthandler; return what it prints."""
    code = f"import runpy; runpy.run_module('tests.python.systems.{name}', run_name='__main__')"
    return printed(code, *arguments, cwd=ROOT, PYTHONFAULTHANDLER="", **options)
