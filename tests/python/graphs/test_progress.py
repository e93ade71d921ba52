# tests/python/graphs/test_progress.py -- what the progress bar writes, on a terminal and in a log.
import io
import os
import re
import shutil

import pytest

import ebb
from ebb.data import progress


class Terminal(io.StringIO):
    """A text that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


@pytest.fixture
def columns(monkeypatch):
    """The width of the terminal, set by hand."""
    width = [120]
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((width[0], 24)))
    return width


def test_a_log_gets_ten_lines():
    log = io.StringIO()
    assert list(progress(range(1000), stream=log)) == list(range(1000))
    lines = log.getvalue().splitlines()
    assert len(lines) == 10 and "\r" not in log.getvalue()
    assert lines[0].startswith("[##......................]  10%  ")
    assert lines[-1].startswith(f"[{'#' * 24}] 100%  ")


@pytest.mark.parametrize("count", [1, 3, 10, 11, 19, 20])
def test_the_last_line_of_a_log_is_complete_and_comes_once(count):
    log = io.StringIO()
    for _ in progress(range(count), stream=log):
        pass
    lines = log.getvalue().splitlines()
    assert 1 <= len(lines) <= 11 and sum("100%" in line for line in lines) == 1


def test_rate_and_time_left_follow_the_clock(clock):
    log = io.StringIO()
    bar = progress(total=4000, title="train", unit="samples", stream=log)
    clock[0] += 2.0
    bar.update(1000, loss=ebb.tensor(0.25), name="x")
    clock[0] += 198.0
    bar.update(1000, loss=12345678.0)
    bar.close()
    first, second = log.getvalue().splitlines()
    bar_text, values = first.split("]")
    assert bar_text == "train [######.................."
    assert values == "  25%  loss 0.2500  name x        500 samples/s    6 s left"
    assert second.endswith("loss 1.23e+07  name x      10.00 samples/s  3:20 left")


def test_a_terminal_gets_one_line_that_is_drawn_over(clock, columns):
    terminal = Terminal()
    bar = progress(total=100, stream=terminal)
    for _ in range(100):
        clock[0] += 0.01
        bar.update()
    bar.close()
    bar.close()
    text = terminal.getvalue()
    assert text.count("\n") == 1 and text.endswith("\n")
    drawn = text.split("\r")[1:]
    assert 15 <= len(drawn) <= 25  # at most every 50 ms
    assert "100%" in drawn[-1] and all("\x1b[K" in line for line in drawn)


@pytest.mark.parametrize("width", [10, 30, 60, 200])
def test_a_line_never_wraps(columns, width):
    columns[0] = width
    terminal = Terminal()
    bar = progress(total=10, title="a title", stream=terminal)
    bar.set(loss=0.5, text="y" * 20)
    bar.update(10)
    bar.close()
    for line in terminal.getvalue().rstrip("\n").split("\r")[1:]:
        assert len(line.removesuffix("\x1b[K")) < max(width, 11)


def test_without_a_total_it_counts(clock):
    log = io.StringIO()
    bar = progress((i for i in range(200)), unit="lines", stream=log)
    for _ in bar:
        clock[0] += 1.0
    lines = log.getvalue().splitlines()
    assert 5 <= len(lines) <= 10  # the pauses double
    assert re.match(r"200 lines +1\.00 lines/s  3:20", lines[-1])
    with pytest.raises(TypeError, match="needs a known total"):
        len(bar)


def test_a_break_and_an_error_end_the_line():
    for end in ("break", "error"):
        terminal = Terminal()
        try:
            with progress(range(10), stream=terminal) as bar:
                for i in bar:
                    if i == 3 and end == "break":
                        break
                    if i == 3:
                        raise KeyError
        except KeyError:
            pass
        assert terminal.getvalue().endswith("\n") and terminal.getvalue().count("\n") == 1


def test_it_wraps_a_loader_and_writes_to_stderr(capsys):
    loader = ebb.data.DataLoader(range(4), 2)
    bar = progress(loader, "epoch 1")
    assert len(bar) == 2
    assert [batch.tolist() for batch in bar] == [[0, 1], [2, 3]]
    captured = capsys.readouterr()
    assert captured.out == "" and "epoch 1 [" in captured.err


def test_odd_streams_and_totals():
    class Plain:
        """A stream without isatty()."""

        def __init__(self):
            self.text = ""

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    stream = Plain()
    assert list(progress([], stream=stream)) == []
    for _ in progress(range(5), total=2, stream=stream):
        pass
    assert "100%" in stream.text
    with pytest.raises(TypeError, match="needs something to iterate over"):
        iter(progress(total=3)).__next__()
