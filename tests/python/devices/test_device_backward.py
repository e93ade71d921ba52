# tests/python/devices/test_device_backward.py -- backward() on devices from Python: threads and
# warnings.
"""Nodes of a device run on its worker; what is Python's stays on the calling thread."""

import os
import signal
import threading
import warnings
from pathlib import Path

import pytest

import ebb
from tests.python.autograd.function_support import double, noting_double
from tests.python.devices import sim_device
from tests.python.fresh import finished
from tests.python.held import backward_threads
from tests.python.threads import on_threads

SIM = "sim:0"
ROOT = Path(__file__).resolve().parents[3]


def device_nodes():
    return backward_threads()["device_nodes"]


def test_nodes_of_a_device_run_on_its_worker_unless_threads_are_off():
    x = ebb.ones(3, device=SIM, requires_grad=True)
    before = device_nodes()
    (x * x).sum().backward()
    assert device_nodes() > before
    before = device_nodes()
    with ebb.autograd.set_multithreading_enabled(False):
        (x * x).sum().backward()
    assert device_nodes() == before
    assert x.grad.tolist() == [4, 4, 4]


def test_the_worker_of_a_device_computes_in_the_dtypes_of_forward():
    def gradient(forward, around):
        x = ebb.full((2, 2), 1.001, device=SIM).requires_grad_()
        with ebb.autocast("sim", enabled=forward):
            loss = (x @ x).float().sum()
        before = device_nodes()
        with ebb.autocast("sim", enabled=around):
            loss.backward()
        assert device_nodes() > before and x.grad.dtype is ebb.float32
        return x.grad.tolist()

    for forward in (False, True):
        assert gradient(forward, True) == gradient(forward, False)
    assert gradient(True, False) != gradient(False, False)


def test_hooks_and_custom_functions_stay_on_the_calling_thread():
    seen = []
    noting = noting_double(seen.append)
    x = ebb.ones(3, device=SIM, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: seen.append(threading.get_ident()))
    before = device_nodes()
    (noting(y) * 5).sum().backward()
    assert seen == [threading.get_ident()] * 2
    assert device_nodes() > before
    assert x.grad.tolist() == [30, 30, 30]


def test_an_error_in_the_middle_of_a_device_keeps_its_type():
    def fail(ctx, grad):
        raise KeyError("gone")

    x = ebb.ones(3, device=SIM, requires_grad=True)
    with pytest.raises(KeyError, match="gone"):
        (double(fail)(x * 2) * 2).sum().backward()
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_hook_may_run_backward_on_devices():
    inner = ebb.ones(3, device="sim:1", requires_grad=True)

    def nested(grad):
        with ebb.enable_grad():
            (inner * inner).sum().backward()

    x = ebb.ones(3, device=SIM, requires_grad=True)
    y = x * 2
    y.register_hook(nested)
    (y * 2).sum().backward()
    assert inner.grad.tolist() == [2, 2, 2]
    assert x.grad.tolist() == [4, 4, 4]


def warning_loss(x):
    """Return a loss whose backward needs ops that the device lacks; forward is not warned of."""
    loss = x.sinh().sum()
    ebb._C._forget_fallback_warnings()
    return loss


def test_warnings_of_workers_are_given_on_the_calling_thread():
    threads = []
    x = ebb.ones(3, device=SIM, requires_grad=True)
    loss = warning_loss(x)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *args, **kwargs: threads.append(threading.get_ident())
        before = device_nodes()
        loss.backward()
    assert device_nodes() > before
    assert threads and set(threads) == {threading.get_ident()}


def test_filters_of_the_caller_decide_about_warnings_of_workers():
    x = ebb.ones(3, device=SIM, requires_grad=True)
    loss = warning_loss(x)
    with pytest.warns(UserWarning, match="no kernel on sim:0"):
        loss.backward(retain_graph=True)
    x.grad = None
    loss = warning_loss(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="no kernel on sim:0"):
            loss.backward()
    assert x.grad is None


def test_many_threads_use_the_devices_at_once():
    shared = ebb.ones(3, device="sim:1", requires_grad=True)
    failures = []

    def work():
        try:
            for _ in range(10):
                x = ebb.ones(3, requires_grad=True)
                ((x.to(SIM) * 2).exp().to("sim:1") * shared).sum().backward()
                y = ebb.ones(3, requires_grad=True)
                ((y * 2).exp() * 1).sum().backward()
                assert x.grad.tolist() == y.grad.tolist()
        except Exception as error:
            failures.append(error)

    on_threads(*[work] * 5)
    assert failures == []
    assert shared.grad[0].item() == pytest.approx(50 * 7.3890561, rel=1e-5)


def test_ctrl_c_stops_a_backward_that_waits_for_a_device(sim):
    sim.ebb_sim_set_delay(sim_device.ctypes.c_int64(0), sim_device.ctypes.c_uint32(1))
    x = ebb.ones(3, device=SIM, requires_grad=True)
    value = x
    for _ in range(2000):
        value = value.tanh()
    loss = value.sum()
    sim.ebb_sim_set_delay(sim_device.ctypes.c_int64(5000), sim_device.ctypes.c_uint32(1))
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            loss.backward()
    finally:
        timer.join()
        sim.ebb_sim_set_delay(sim_device.ctypes.c_int64(100), sim_device.ctypes.c_uint32(3))
    assert x.grad is None


HEAD = f"""
import os, sys, threading, time, warnings
sys.path.insert(0, {str(ROOT)!r})
warnings.simplefilter("ignore")
import ebb
from tests.python.devices import sim_device
sim_device.load()

def run(x):
    y = x.to("sim:0")
    (y * y).exp().to("sim:1").sum().backward()
"""

EXIT = """
run(ebb.ones(10, requires_grad=True))
"""

EXIT_DURING = """
def work():
    x = ebb.ones(10, requires_grad=True)
    while True:
        run(x)

threading.Thread(target=work, daemon=True).start()
time.sleep(0.02 * int(sys.argv[1]))
"""

FORK = """
x = ebb.ones(10, requires_grad=True)
run(x)
ebb.synchronize()
for _ in range(5):
    child = os.fork()
    if child == 0:
        before = ebb._C._backward_threads()["device_nodes"]
        run(x)
        is_good = x.grad[0].item() > 10 and ebb._C._backward_threads()["device_nodes"] > before
        os._exit(0 if is_good else 1)
    assert os.waitpid(child, 0)[1] == 0
run(x)
"""


@pytest.mark.parametrize("code", [EXIT, FORK])
def test_workers_end_with_the_process_and_are_made_anew_by_its_children(code):
    done = finished(HEAD + code)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("attempt", range(4))
def test_the_interpreter_exits_while_a_daemon_thread_uses_a_device(attempt):
    done = finished(HEAD + EXIT_DURING, attempt)
    assert (done.returncode, done.stderr) == (0, "")


class Pair(ebb.nn.Module):
    """Two inputs, two outputs, several operations each."""

    def forward(self, x, y):
        return (x * y).exp() + x, y.tanh() * 3.0


@pytest.mark.parametrize("uses", ["both", "first"])
@pytest.mark.parametrize("other_stream", [False, True])
def test_module_hooks_replace_gradients_on_a_device(uses, other_stream):
    def gradients(device):
        module = Pair()
        module.register_full_backward_pre_hook(
            lambda m, outs: tuple(None if one is None else one * 2.0 for one in outs)
        )
        module.register_full_backward_hook(lambda m, ins, outs: tuple(one * 3.0 for one in ins))
        x = ebb.tensor([0.5, -1.0], device=device, requires_grad=True)
        y = ebb.tensor([0.25, 2.0], device=device, requires_grad=True)
        first, second = module(x * 2.0, y * 2.0)
        loss = (first * second if uses == "both" else first * first).sum()
        if other_stream and device == SIM:
            with ebb.stream(ebb.Stream(SIM)):
                loss.backward()
        else:
            loss.backward()
        ebb.synchronize(SIM)
        return [x.grad.cpu().tolist(), y.grad.cpu().tolist()]

    on_device, on_cpu = gradients(SIM), gradients("cpu")
    for one, other in zip(on_device, on_cpu, strict=True):
        assert one == pytest.approx(other)
