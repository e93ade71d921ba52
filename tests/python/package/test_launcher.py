# tests/python/package/test_launcher.py -- a process that a launcher started as one of several.
import contextlib
import importlib
import warnings

import pytest

import ebb
from ebb import distributed

LAUNCHERS = {
    "torchrun": {"WORLD_SIZE": "2", "RANK": "1"},
    "mpirun": {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"},
}
QUESTIONS = {
    "is_available": lambda: distributed.is_available(),
    "is_initialized": lambda: distributed.is_initialized(),
    "get_rank": lambda: distributed.get_rank(),
    "get_world_size": lambda: distributed.get_world_size(),
    "init_process_group": lambda: distributed.init_process_group("gloo"),
    "all_reduce": lambda: distributed.all_reduce(ebb.ones(1)),
}


@pytest.fixture(autouse=True)
def untold(monkeypatch):
    monkeypatch.setattr(importlib.import_module("ebb.distributed"), "_is_told", False)
    for names in LAUNCHERS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)


def asked(question):
    """The warnings of a question, whether or not it is refused."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with contextlib.suppress(NotImplementedError):
            QUESTIONS[question]()
    return [str(one.message) for one in seen]


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_one_of_several_processes_is_told_once(monkeypatch, launcher, question):
    for name, value in LAUNCHERS[launcher].items():
        monkeypatch.setenv(name, value)
    size, rank = LAUNCHERS[launcher].items()
    [text] = asked(question)
    assert text.startswith(f"distributed.{question}: ebb runs in one process, but a launcher set "
                           f"{size[0]}={size[1]} and {rank[0]}={rank[1]}")  # fmt: skip
    assert asked(question) == [] and asked("get_rank") == []


@pytest.mark.parametrize("size", ["1", "", "many"])
def test_the_only_process_is_told_nothing(monkeypatch, size):
    monkeypatch.setenv("WORLD_SIZE", size)
    assert asked("is_available") == []
