# tests/python/opencl/test_leaks.py -- after many steps of training there are as many bytes, events,
# queues and programs as before.
import itertools

import numpy as np
import pytest

import ebb
from ebb import nn

RNG = np.random.default_rng(3)
INPUT = RNG.standard_normal((64, 16)).astype(np.float32)
TARGET = RNG.integers(0, 4, 64)


def steps():
    """Train a small network for ever; a loss is read and a stream changed now and then."""
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)).to("opencl")
    optimizer = ebb.optim.Adam(model.parameters(), lr=1e-3)
    side = ebb.Stream("opencl")
    event = ebb.Event("opencl")
    for step in itertools.count():
        x = ebb.tensor(INPUT).to("opencl", non_blocking=True)
        label = ebb.tensor(TARGET).to("opencl")
        event.record()
        side.wait_event(event)
        with ebb.stream(side if step % 3 == 0 else ebb.current_stream("opencl")):
            loss = nn.functional.cross_entropy(model(x), label)
        ebb.current_stream("opencl").wait_stream(side)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield loss.item() if step % 50 == 0 else None


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.long)])
def test_steps_leave_nothing_behind(count, layer):
    running = steps()
    losses = [next(running) for _ in range(20)]  # all kernels are made
    before = layer.settled()
    for _ in range(20):
        losses.append(next(running))
    device = ebb.device("opencl")
    reserved = ebb._C._reserved_device_bytes(device)[0]
    launches = layer.calls("clEnqueueNDRangeKernel")
    for _ in range(count):
        losses.append(next(running))
    ebb.synchronize(device)
    assert layer.calls("clEnqueueNDRangeKernel") >= launches + 20 * count
    assert ebb._C._reserved_device_bytes(device)[0] <= 1.5 * reserved
    assert layer.settled() == before
    read = [loss for loss in losses if loss is not None]
    assert read[-1] < read[0]
    running.close()
