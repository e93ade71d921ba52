# tests/python/package/test_log.py -- the log: which lines there are at which level, of which part,
# and where they go.
import logging
import os
import re
import subprocess
import sys

import ebb
from ebb import flags
from tests.python.threads import on_threads


def lines(caplog, part):
    """Take the lines that a part has written."""
    found = [one.getMessage() for one in caplog.records if one.name == f"ebb.{part}"]
    caplog.clear()
    return found


def run(code, log):
    """What a program writes to standard error."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("EBB_")}
    done = subprocess.run([sys.executable, "-c", f"import ebb; {code}"],
                          env=kept | {"EBB_LOG": log}, capture_output=True, text=True,
                          check=True)  # fmt: skip
    return done.stderr.splitlines()


def step():
    x = ebb.tensor([[1.0, 2.0]], requires_grad=True)
    (x @ ebb.ones(2, 3)).sum().backward()


def test_at_level_6_each_op_says_its_name_and_the_key_of_its_kernel(caplog):
    x = ebb.ones([2, 3])
    with flags.guard(log="op:6"):
        x.exp()
        x.add_(ebb.ones(3, dtype=ebb.float64))
        ebb.eq(x, 1)
        ebb.ones([2], dtype=ebb.int64).sqrt()
    at = rf" at .*test_log\.py:\d+ in {__name__.split('.')[-1]}|{__file__}:"
    found = lines(caplog, "op")
    assert [text.split(" at ")[0] for text in found] == [
        "exp (cpu, strided, float32)",
        "add_ (cpu, strided, float64)",  # what it computes in
        "eq (cpu, strided, float32)",
        "sqrt (cpu, strided, float32)",
    ]
    assert all(re.search(at, text) for text in found)


def test_at_level_7_it_says_operands_and_results_too(caplog):
    with flags.guard(log="op:7"):
        ebb.ones(2, 3) @ ebb.ones(3, 4)
        ebb.ones(2, 3).topk(1)
        ebb.cat([ebb.ones(2), ebb.ones(3, dtype=ebb.float64)])
    assert [text.split(" at ")[0].split(" of ")[1] for text in lines(caplog, "op")] == [
        "float32 [2, 3], float32 [3, 4] -> float32 [2, 4]",
        "float32 [2, 3] -> float32 [2, 1], int64 [2, 1]",
        "float32 [2], float64 [3] -> float64 [5]",
    ]


def test_the_engine_says_runs_at_level_3_nodes_at_6_and_their_gradients_at_7(caplog):
    w = ebb.ones([2], requires_grad=True)
    w.name = "w"

    def backward(level):
        loss = (w * 2.0).sum()
        with flags.guard(log=f"engine:{level}"):
            loss.backward()
        return [text.split(" recorded")[0].rstrip(",") for text in lines(caplog, "engine")]

    (run_line,) = backward(3)
    assert run_line.startswith("backward: a run from float32 [] made by SumBackward at ")
    nodes = ["SumBackward", "MulScalarBackward", "AccumulateGrad"]
    assert [text.split(",")[0].split(" ")[0] for text in backward(6)[1:]] == nodes
    with flags.guard(log="engine:7"):
        w.sum().backward()
    assert lines(caplog, "engine")[1].endswith(", of float32 []")


def test_casts_of_autocast_are_lines_at_level_5(caplog):
    weight = ebb.ones([3, 2], requires_grad=True)
    with flags.guard(log="amp:5"), ebb.autocast("cpu"):
        ebb.ones(4, 3) @ weight
    assert sorted(lines(caplog, "amp")) == [
        "matmul casts float32 [3, 2] to bfloat16",
        "matmul casts float32 [4, 3] to bfloat16",
    ]


def test_at_level_0_and_below_a_parts_own_there_is_nothing(caplog):
    for levels in ("0", "op:5,engine:2,amp:4", "general:9"):
        with flags.guard(log=levels), ebb.autocast("cpu"):
            step()
    assert not caplog.records


def test_a_level_without_parts_is_that_of_all(caplog):
    with flags.guard(log=6):
        step()
    assert {one.name for one in caplog.records} == {"ebb.op", "ebb.engine"}


def test_lines_have_the_severity_and_the_place_of_pythons_logging(caplog):
    with flags.guard(log="op:6,engine:3"):
        step()
    severities = {one.name: one.levelno for one in caplog.records}
    assert severities == {"ebb.op": logging.DEBUG, "ebb.engine": logging.INFO}
    assert caplog.records[0].funcName == "step" and caplog.records[0].pathname == __file__


def test_what_handles_a_line_may_call_ops(caplog):
    class Handler(logging.Handler):
        def emit(self, record):
            self.sums = [*getattr(self, "sums", []), (ebb.ones(2) * 2).sum().item()]

    handler = Handler()
    logging.getLogger("ebb.op").addHandler(handler)
    try:
        with flags.guard(log="op:6"):
            ebb.ones(2).exp()
    finally:
        logging.getLogger("ebb.op").removeHandler(handler)
    assert handler.sums == [4.0]


def test_a_handler_that_raises_does_not_harm_the_op(monkeypatch):
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: ignored.append(str(one.exc_value)))

    class Handler(logging.Handler):
        def emit(self, record):
            raise ValueError("mine")

    handler = Handler()
    logging.getLogger("ebb.op").addHandler(handler)
    try:
        with flags.guard(log="op:6"):
            assert ebb.ones(2).exp().sum().item() > 5
    finally:
        logging.getLogger("ebb.op").removeHandler(handler)
    assert ignored == ["mine", "mine"]


def test_without_handlers_lines_go_to_standard_error():
    code = "ebb.ones(2, requires_grad=True).exp().sum().backward()"
    found = run(code, "op:6,engine:3")
    assert found[0].startswith("[ebb.op 6] exp (cpu, strided, float32) at <string>:1")
    assert sum(text.startswith("[ebb.engine 3] backward: a run from ") for text in found) == 1
    assert run(code, "0") == []


def test_the_environment_names_what_is_no_level():
    assert any("EBB_LOG cannot be ops:3: it is 0" in text for text in run("pass", "ops:3"))


def test_threads_that_work_for_a_run_log_their_nodes(caplog):
    x = ebb.ones([4], requires_grad=True)
    branches = [x.exp().sin().cos() for _ in range(8)]
    loss = sum(branch.sum() for branch in branches)
    before = ebb._C._set_eager_teams(True)
    try:
        with flags.guard(log="engine:6"):
            loss.backward()
    finally:
        ebb._C._set_eager_teams(before or False)
    assert sum("ExpBackward" in text for text in lines(caplog, "engine")) == 8


def test_lines_are_of_the_thread_that_asked_for_them(caplog):
    with flags.guard(log="op:6"):
        on_threads(lambda: ebb.ones(2).exp())
    assert not caplog.records
