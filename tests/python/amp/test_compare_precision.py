# tests/python/amp/test_compare_precision.py -- ebb.compare_precision names the op that drifts, and
# leaves everything as it was.
import math
from pathlib import Path

import pytest

import ebb
from ebb import nn
from ebb.nn import functional
from tests.python.autograd.function_support import Cube


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        hidden = functional.dropout(self.norm(self.inner(x)), 0.2)
        return ((hidden + 500.0) - 500.0).square().mean()  # cancels what bfloat16 keeps of it


def net_and_step():
    ebb.manual_seed(3)
    net, x = Net(), ebb.rand(16, 8)
    optimizer = ebb.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = net(x)
        loss.backward()
        optimizer.step()
        return loss

    return net, optimizer, step


def test_the_first_op_that_drifts_is_named_with_its_module_and_line():
    net, _, _ = net_and_step()
    x = ebb.rand(16, 8)
    wide = ebb.autocast("cpu", level="O3")
    report = ebb.compare_precision(lambda: net(x), wide)
    first = report.first
    assert (first.name, first.module, first.is_backward) == ("sub", "", False)
    assert first.place.file.endswith("test_compare_precision.py")
    assert "- 500.0" in Path(first.place.file).read_text().splitlines()[first.place.line - 1]
    assert first.drift > 8 * first.explained and first.dtypes == ("bfloat16", "float32")
    assert f"the first to drift: sub in (outermost) at {first.place}" in str(report)


def test_a_well_behaved_step_drifts_no_more_than_roundings_explain():
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 4))
    x, target = ebb.rand(16, 8), ebb.arange(16) % 4
    for precisions in [(), ("float16", "float64"), (ebb.float32, ebb.float64)]:
        report = ebb.compare_precision(
            lambda: functional.cross_entropy(net(x), target), *precisions
        )
        assert report.first is None and "none drifts beyond roundings" in str(report)
        modules = {row.name: set() for row in report}
        for row in report:
            modules[row.name].add(row.module)
        assert modules["linear"] == {"0", "3"}
        names = {row.name for row in report if row.is_backward}
        assert {"LinearBackward", "gradient of 0.weight", "gradient of 3.bias"} <= names


def test_every_op_is_computed_in_float64_for_the_wide_run():
    x = ebb.rand(4, 4).requires_grad_()
    report = ebb.compare_precision(lambda: (x @ x).exp().mean(), "float32", "float64")
    dtypes = {row.name: row.dtypes for row in report}
    assert dtypes["matmul"] == dtypes["exp"] == dtypes["mean"] == ("float32", "float64")
    assert x.grad is None


def test_what_leaves_the_range_is_counted_and_its_op_named():
    x = ebb.tensor([300.0, 1.0, 1e-5], requires_grad=True)
    mode = ebb.autocast("cpu", ebb.float16, level="O3")
    report = ebb.compare_precision(lambda: (x * x).sum(), mode)
    first = report.first
    assert (first.name, first.overflowed, first.underflowed) == ("mul", 1, 1)
    assert first.drift == math.inf and "1 overflowed, 1 underflowed" in report.table()
    cast = ebb.compare_precision(lambda: (x * 1e3) @ x, "float16").first
    assert (cast.name, cast.overflowed) == ("amp_cast", 1)


def values_of(net, optimizer):
    state = [value.tolist() for value in net.state_dict().values()]
    momenta = [one["momentum_buffer"] for one in optimizer.state_dict()["state"].values()]
    grads = [one.grad if one.grad is None else one.grad.tolist() for one in net.parameters()]
    return state, [one.tolist() for one in momenta], grads, ebb.get_rng_state().tolist()


@pytest.mark.parametrize("is_first", [True, False])
def test_parameters_buffers_gradients_and_random_numbers_are_as_before(is_first):
    net, optimizer, step = net_and_step()
    if not is_first:
        step()
    before = values_of(net, optimizer)
    report = ebb.compare_precision(step, restore=[optimizer])
    assert values_of(net, optimizer) == before
    assert report.rows and report.unmatched == 0  # the same dropout, too


@pytest.mark.parametrize("fails_in", [0, 1])
def test_an_error_in_a_step_passes_and_leaves_everything_as_before(fails_in):
    net, optimizer, step = net_and_step()
    before, calls = values_of(net, optimizer), []

    def failing():
        step()
        calls.append(ebb.is_autocast_enabled("cpu"))
        if len(calls) > fails_in:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ebb.compare_precision(failing, restore=[optimizer])
    assert values_of(net, optimizer) == before
    assert not ebb.is_autocast_enabled("cpu")


def test_functions_and_checkpoints_are_looked_into():
    x = ebb.rand(4, 4).requires_grad_()

    def step():
        return ebb.utils.checkpoint.checkpoint(lambda y: Cube.apply(y @ y), x).sum()

    report = ebb.compare_precision(step)
    names = [row.name for row in report]
    assert names.count("mul") >= 2 and "MatmulBackward" in names and report.first is None
    assert "gradient of leaf 1" in names


def test_a_report_draws_itself(tmp_path):
    x = ebb.tensor([1000.0, 1000.5], requires_grad=True)
    report = ebb.compare_precision(lambda: (x @ ebb.eye(2) - 1000.0).sum())
    picture = report.to_svg(tmp_path / "drift.svg")
    assert (tmp_path / "drift.svg").read_text() == picture
    assert picture.count("#d01c8b") == 1 and "sub at" in picture
    assert (str(report) == str(report) and "11 results" in repr(report)) or "rows" in repr(report)


def test_precisions_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="'narrow' needs a dtype of less precision"):
        ebb.compare_precision(lambda: None, "float32", "bfloat16")
    with pytest.raises(ValueError, match="compare_precision: needs precisions among"):
        ebb.compare_precision(lambda: None, "int8")
    with pytest.raises(TypeError):
        ebb.compare_precision(3)
