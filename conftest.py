# conftest.py -- what all Python tests need of the process they run in.
"""Ctrl-C must mean an interrupt, also where the tests were started in the background.

A shell without job control lets such processes ignore the signal, and theirs inherit that. The
head of a report names the seed of the fresh draws, which all worker processes inherit. Each test
starts from one random state, number of threads and default dtype, so that a run tells of the code
and not of the numbers drawn, nor of the tests before.
"""

import collections
import gc
import itertools
import random
import signal
import sys

import pytest

import ebb
from tests.fuzz import seeds

signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="of the cases of each test function, run the first and every N-th after it",
    )
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run the files, and each file's tests, in an order drawn from SEED",
    )


def pytest_collection_modifyitems(config, items):
    every = config.getoption("every")
    places = collections.Counter()
    kept, left_out = [], []
    for item in items:
        function = item.nodeid.split("[")[0]
        is_whole = hasattr(getattr(item, "function", None), "samples_itself")  # cases.py
        (left_out if places[function] % every and not is_whole else kept).append(item)
        places[function] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
    if (seed := config.getoption("shuffle")) is not None:
        draws = random.Random(seed)
        files = {item.path: draws.random() for item in items}
        # File by file, since many share what they are slow to make, such as a browser.
        items.sort(key=lambda item: (files[item.path], draws.random()))


def pytest_report_header():
    return f"{seeds.VARIABLE}={seeds.fresh_seed()} (the draws of tests marked long)"


TESTS = itertools.count()
THREADS = ebb.get_num_threads()
BETWEEN_FREEZES = 500


def pytest_runtest_setup():
    # The tests themselves are no garbage, nor is what pytest keeps of those that ran: to walk
    # thousands of them costs each gc.collect() a part of a second.
    if next(TESTS) % BETWEEN_FREEZES == 0:
        gc.collect()
        gc.freeze()
    ebb.manual_seed(0)
    ebb.set_num_threads(THREADS)
    ebb.set_default_dtype(ebb.float32)
    without_torch_compat()


def without_torch_compat():
    """Undo what importing ebb.torch_compat does, as some files do when they are collected."""
    finder = sys.modules.get("ebb.torch_compat.finder")
    if finder is not None and any(isinstance(one, finder.TorchFinder) for one in sys.meta_path):
        finder.uninstall()


@pytest.fixture
def eager_teams():
    """Other threads join backward() whenever they can, on however small a machine."""
    ebb._C._set_eager_teams(True)
    yield
    ebb._C._set_eager_teams(False)


@pytest.fixture
def cpu_only(monkeypatch):
    """A machine without devices, even where another test of this process has loaded a plug-in."""
    monkeypatch.setattr(ebb._C, "devices", lambda: [ebb.device("cpu")])
