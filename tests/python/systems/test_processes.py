# tests/python/systems/test_processes.py -- forks, the end of a process and limits on its memory,
# amid ops on each engine.
import pytest

from tests.python.fresh import finished
from tests.python.systems.programs import ROOT, module

ENDS = {"return": 0, "raise": 3, "exit": 3}


def ends_well(way, seconds):
    done = finished(
        "import runpy; runpy.run_module('tests.python.systems.ending', run_name='__main__')",
        *(way, seconds),
        cwd=ROOT,
        PYTHONFAULTHANDLER="",
    )
    assert (done.returncode, done.stderr) == (ENDS[way], ""), done.stderr


# ThreadSanitizer allows no threads in the child of a process with threads, and sanitizers take
# address space by the terabyte.
pytestmark = pytest.mark.nosan


def test_a_child_that_is_forked_amid_ops_can_use_all_engines():
    assert module("beside_forks", 3) == ""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_forty_children_that_are_forked_amid_ops_can_use_all_engines():
    assert module("beside_forks", 40, timeout=800) == ""


@pytest.mark.parametrize("way", ENDS)
def test_a_process_ends_as_it_should_amid_ops_of_daemon_threads(way):
    ends_well(way, 0.2)


@pytest.mark.long
@pytest.mark.parametrize("way", ENDS)
def test_a_process_ends_as_it_should_at_any_moment_of_ops_of_daemon_threads(way):
    for step in range(25):
        ends_well(way, 0.05 + step * 0.02)


def test_a_limit_on_memory_makes_errors_that_say_so_and_leaves_all_engines_usable():
    assert module("limited", 3) == ""


@pytest.mark.long
def test_many_limits_on_memory_make_errors_that_say_so():
    assert module("limited", 100) == ""
