# tests/python/utils/test_multiprocessing.py -- processes that are started together.
import os
import time

import pytest

import ebb
from ebb import multiprocessing as mp


def leave(number, path, wait=0.0):
    (path / str(number)).write_text(str(os.getpid()))
    time.sleep(wait)


def fail_first(number, wait):
    if number == 0:
        os._exit(3)
    time.sleep(wait)


@pytest.mark.parametrize("start", [mp.spawn, mp.start_processes])
def test_each_process_gets_its_number(tmp_path, start):
    assert start(leave, (tmp_path,), nprocs=3, start_method="fork") is None
    assert sorted(one.name for one in tmp_path.iterdir()) == ["0", "1", "2"]


def test_what_is_not_waited_for_can_be_later(tmp_path):
    context = mp.start_processes(leave, (tmp_path,), nprocs=2, join=False, start_method="fork")
    while not context.join():
        pass
    written = [int((tmp_path / str(number)).read_text()) for number in range(2)]
    assert context.pids() == written and len(context) == 2
    assert [one.exitcode for one in context] == [0, 0] and context.join()


def test_waiting_ends_in_time(tmp_path):
    context = mp.start_processes(leave, (tmp_path, 60), join=False, start_method="fork")
    assert not context.join(timeout=0.01)
    context.processes[0].terminate()
    with pytest.raises(mp.ProcessExitedException, match=r"processes \[0\] ended") as raised:
        context.join()
    assert raised.value.signal_name == "SIGTERM" and raised.value.exit_code == -15


@pytest.mark.parametrize("has_failed", [False, True])
@pytest.mark.parametrize("grace", [None, 0.05])
def test_one_that_fails_ends_the_others(grace, has_failed):
    context = mp.start_processes(fail_first, (600,), nprocs=2, join=False, start_method="fork")
    if has_failed:  # before anybody waits
        context.processes[0].join()
    with pytest.raises(mp.ProcessExitedException, match=r"processes \[0\] ended") as raised:
        context.join(grace_period=grace)
    assert raised.value.exit_code == 3 and raised.value.signal_name is None
    assert not any(one.is_alive() for one in context)


def fail_by_number(number):
    if number == 1:
        raise KeyError("the number \ud800" + "x" * 200_000)  # nor in UTF-8, nor short


def test_an_exception_of_a_process_is_told_from_its_end():
    with pytest.raises(mp.ProcessRaisedException, match=r"^spawn: processes \[1\] ended") as raised:
        mp.spawn(fail_by_number, nprocs=2)
    assert raised.value.error_index == 1 and raised.value.pid > 0
    assert isinstance(raised.value, mp.ProcessException) and isinstance(raised.value, RuntimeError)
    text = str(raised.value)
    assert "process 1:\nTraceback (most recent call last)" in text
    assert "in fail_by_number" in text and "KeyError: 'the number" in text


def test_the_number_of_processes_is_checked_by_the_name_called():
    with pytest.raises(ebb.errors.ValueError, match="start_processes: nprocs needs 1 to 4096"):
        mp.start_processes(print, nprocs=0)
