# tests/python/data/test_dataloader_failures.py -- workers that fail, die, hang or are no longer
# wanted.
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import ebb
from ebb import data
from tests.python.held import mappings, open_files

# The sanitizers make processes slow to start and to end, and little of this is C++.
pytestmark = pytest.mark.nosan
KINDS = ["process", "thread"]


class Failing(data.Dataset):
    """Does something odd at one index."""

    def __init__(self, act, at=5, count=12):
        self.act = act
        self.at = at
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index == self.at:
            self.act()
        return index


class OddError(Exception):
    """Cannot be unpickled: it needs two arguments, and hands on one."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


def fail_deep_down():
    raise KeyError("deep down")


def fail_oddly():
    raise OddError("very", "odd")


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


def stop_iteration():
    raise StopIteration


def take_until_error(loader):
    """Return the values until an exception, and the exception without its frames."""
    values = []
    try:
        for batch in loader:
            values.append(batch.item())
    except Exception as error:
        return values, error.with_traceback(None)
    pytest.fail("no exception")


def children() -> set:
    """The processes that this one has started; what earlier tests keep of theirs has gone."""
    gc.collect()
    return set(multiprocessing.active_children())


def data_threads() -> int:
    return sum(thread.name.startswith("ebb data") for thread in threading.enumerate())


def wait_until(condition, seconds=120.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_keeps_its_type_and_brings_the_traceback(kind):
    loader = data.DataLoader(Failing(fail_deep_down), 1, num_workers=2, worker_type=kind)
    values, error = take_until_error(loader)
    assert values == [0, 1, 2, 3, 4]
    assert type(error) is KeyError and error.args == ("deep down",)
    (note,) = error.__notes__
    assert "in DataLoader worker 1:" in note and "in fail_deep_down" in note


def test_the_loop_may_go_on_after_an_exception():
    iterator = iter(data.DataLoader(Failing(fail_deep_down), 1, num_workers=2))
    values = []
    while True:
        try:
            values.append(next(iterator).item())
        except KeyError:
            values.append(None)
        except StopIteration:
            break
    assert values == [0, 1, 2, 3, 4, None, 6, 7, 8, 9, 10, 11]


def test_an_exception_that_cannot_travel_is_told_as_text():
    _, error = take_until_error(data.DataLoader(Failing(fail_oddly), 1, num_workers=1))
    assert isinstance(error, ebb.Error) and str(error) == "OddError: very odd"
    assert "fail_oddly" in error.__notes__[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stray_stop_iteration_does_not_end_the_loop(kind):
    loader = data.DataLoader(Failing(stop_iteration), 1, num_workers=1, worker_type=kind)
    values, error = take_until_error(loader)
    assert values == [0, 1, 2, 3, 4] and type(error) is RuntimeError
    assert "needs a sample, got StopIteration" in str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_start_is_reported(kind):
    def init(number):
        raise OSError(f"no disk for {number}")

    loader = data.DataLoader(range(3), 1, num_workers=1, worker_type=kind, worker_init_fn=init)
    iterator = iter(loader)
    with pytest.raises(OSError, match="no disk for 0"):
        next(iterator)
    with pytest.raises(ebb.Error, match="needs worker_init_fn to work") as caught:
        next(iterator)
    assert "no disk for 0" in caught.value.__notes__[0]


def test_a_batch_that_cannot_be_sent_is_reported():
    loader = data.DataLoader(range(3), 1, num_workers=1, collate_fn=lambda batch: lambda: batch)
    with pytest.raises(Exception, match="pickle") as caught:
        next(iter(loader))
    assert "in DataLoader worker 0, sending a batch" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "act, text", [(kill, "was killed by SIGKILL"), (leave, "exited with status 3")]
)
def test_a_worker_that_dies_is_an_error_at_once(act, text):
    loader = data.DataLoader(Failing(act), 1, num_workers=2)
    values, error = take_until_error(loader)
    assert values == [0, 1, 2, 3, 4]
    assert isinstance(error, ebb.Error) and "needs all workers, got worker 1 (pid" in str(error)
    assert text in str(error)
    assert ("hint: the system kills" in str(error)) == (act is kill)


def test_a_persistent_worker_that_dies_is_reported_in_the_next_round_too():
    loader = data.DataLoader(Failing(kill), 1, num_workers=1, persistent_workers=True)
    for expected in ([0, 1, 2, 3, 4], []):
        values, error = take_until_error(loader)
        assert values == expected and "was killed by SIGKILL" in str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_hangs_is_an_error_after_the_timeout(kind):
    before = children()
    released = threading.Event()
    dataset = Failing(lambda: released.wait(60), 1)
    loader = data.DataLoader(dataset, 1, num_workers=1, worker_type=kind, timeout=0.3)
    values, error = take_until_error(loader)
    released.set()  # a thread cannot be stopped from outside
    assert values in ([0], [])  # a busy machine may take so long to start it
    assert "DataLoader: needs a batch within 0.3 seconds, got none" in str(error)
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.parametrize("kind", KINDS)
def test_a_break_ends_the_workers_and_leaves_nothing(kind):
    loader = data.DataLoader(range(100), 1, num_workers=2, worker_type=kind)
    list(loader)  # what is imported once is open now
    others = children()
    wait_until(lambda: data_threads() == 0)
    before = open_files()
    for _ in range(3):
        for batch in loader:
            if batch.item() == 3:
                break
    del batch
    assert children() <= others
    wait_until(lambda: data_threads() == 0)
    assert open_files() <= before


def test_an_exception_that_is_gone_leaves_no_worker_to_the_garbage_collector():
    before = children()
    gc.disable()
    try:
        take_until_error(data.DataLoader(Failing(fail_deep_down), 1, num_workers=2))
        assert set(multiprocessing.active_children()) <= before
    finally:
        gc.enable()


def test_batches_that_are_kept_take_no_descriptors():
    class Large(data.Dataset):
        def __len__(self):
            return 60

        def __getitem__(self, index):
            return ebb.full((2000,), float(index))

    before = open_files()
    kept = list(data.DataLoader(Large(), 1, num_workers=2))
    gc.collect()
    assert len(open_files() - before) <= 1
    assert [batch[0, 0].item() for batch in kept] == list(range(60))


def test_shared_memory_is_given_back():
    class Large(data.Dataset):
        def __len__(self):
            return 20

        def __getitem__(self, index):
            return ebb.full((5000,), float(index))

    before = mappings("memfd:ebb_data")
    loader = data.DataLoader(Large(), 1, num_workers=1)
    kept = list(loader)
    mine = mappings("memfd:ebb_data") - before
    assert len(mine) == 20
    row = kept[7][0]
    del kept
    gc.collect()
    assert len(mine & mappings("memfd:ebb_data")) == 1 and row.sum().item() == 35000.0
    del row
    gc.collect()
    assert not mine & mappings("memfd:ebb_data")
    assert [name for name in os.listdir("/dev/shm") if "ebb" in name] == []


def test_too_few_file_descriptors_are_an_error_with_a_hint():
    script = """
        import resource, ebb
        from ebb import data
        class Large(data.Dataset):
            def __len__(self): return 9
            def __getitem__(self, index): return ebb.ones(5000)
        iterator = iter(data.DataLoader(Large(), 1, num_workers=1))
        next(iterator)
        kept = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
        try:
            while True: kept.append(open("/dev/null"))
        except OSError:
            pass
        try:
            list(iterator)
        except OSError as error:
            for file in kept: file.close()
            print(error)
    """
    output, errors = run_script(script).communicate(timeout=120)
    assert output.startswith("DataLoader: needs a free file descriptor, got none"), errors


def test_processes_of_a_worker_do_not_hide_its_death(tmp_path):
    note = tmp_path / "child"

    def leave_a_child():
        child = os.fork()
        if child == 0:  # inherits the worker's socket, and lives on
            time.sleep(280)
            os._exit(0)
        note.write_text(str(child))
        kill()

    _, error = take_until_error(data.DataLoader(Failing(leave_a_child, 1), 1, num_workers=1))
    os.kill(int(note.read_text()), signal.SIGKILL)  # fails if the child was waited for
    assert "was killed by SIGKILL" in str(error)


def run_script(script, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


ENDLESS = """
    import os, time, ebb
    from ebb import data
    class Slow(data.Dataset):
        def __len__(self): return 10**6
        def __getitem__(self, index):
            time.sleep({pause})
            return ebb.ones(10_000)
    if __name__ == "__main__":
        loader = data.DataLoader(Slow(), 1, num_workers=3)
        iterator = iter(loader)
        {first}
        print(*[process.pid for process in iterator._workers._processes], flush=True)
        for batch in iterator: pass
"""


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("pause", [0.01, 30])
def test_ctrl_c_ends_everything_quickly_and_quietly(pause):
    first = "next(iterator)" if pause < 1 else "time.sleep(0.2)"
    child = run_script(ENDLESS.format(pause=pause, first=first))
    workers = [int(word) for word in child.stdout.readline().split()]
    assert len(workers) == 3
    time.sleep(0.1)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, errors = child.communicate(timeout=120)
    assert child.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1 and "KeyboardInterrupt" in errors
    wait_until(lambda: not any(map(is_alive, workers)))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_a_main_process_that_is_killed(number):
    child = run_script(ENDLESS.format(pause=0.01, first="next(iterator)"))
    workers = [int(word) for word in child.stdout.readline().split()]
    child.send_signal(number)
    child.communicate(timeout=120)
    wait_until(lambda: not any(map(is_alive, workers)))


def test_an_iterator_that_is_alive_at_exit_hangs_nothing():
    script = """
        import ebb
        from ebb import data
        kept = [iter(data.DataLoader(range(10**6), 1, num_workers=2, worker_type=kind))
                for kind in ("process", "thread")]
        print([next(one).item() for one in kept])
    """
    child = run_script(script)
    output, errors = child.communicate(timeout=120)
    assert (child.returncode, output, errors) == (0, "[0, 0]\n", "")
