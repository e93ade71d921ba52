# tests/python/devices/test_devices.py -- devices from Python, on the simulated device of
# tests/device.
"""Tensors on a device: placing, transfers, fallback, streams, modules and files."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest

import ebb
from ebb import nn, optim
from ebb.autograd import forward_ad
from tests.python.devices import sim_device
from tests.python.fresh import printed
from tests.python.threads import on_threads

SIM = "sim:0"


def test_a_plugin_gives_its_devices_names():
    assert ebb.device("sim") == ebb.device("sim:0") != ebb.device("sim:1")
    assert repr(ebb.device("sim:1")) == "device(type='sim', index=1)"
    assert str(ebb.device("sim:1")) == "sim:1"
    assert ebb.device("sim:1").type == "sim" and ebb.device("sim:1").index == 1
    found = [one for one in ebb.devices() if one.type not in ("cuda", "opencl")]
    assert found == [ebb.device("cpu"), ebb.device("sim:0"), ebb.device("sim:1")]
    assert ebb.device_count("sim") == 2
    assert ebb.load_device_plugin(sim_device.path()) == ebb.device("sim:0")


def test_what_is_no_plugin_is_refused():
    with pytest.raises(OSError, match="load_device_plugin"):
        ebb.load_device_plugin("/nowhere.so")
    with pytest.raises(ValueError, match="needs a function ebb_device_plugin"):
        ebb.load_device_plugin("libm.so.6")
    with pytest.raises(ValueError, match="sim:7, and there are 2 of sim"):
        ebb.zeros(2, device="sim:7")
    names = "needs 'cpu', 'cuda', 'meta', 'opencl', 'sim' or the name"
    with pytest.raises(ValueError, match=names):
        ebb.zeros(2).to("teapot")


def test_tensors_travel_and_come_back():
    x = ebb.arange(6.0).reshape(2, 3)
    y = x.to(SIM)
    assert y.device == ebb.device(SIM) and not y.is_cpu
    assert y.cpu().tolist() == x.tolist() == y.tolist()
    assert y.to(SIM) is y or y.to(SIM).data_ptr() == y.data_ptr()
    assert x.cpu() is x
    assert y.to("sim:1").device == ebb.device("sim:1")
    assert y.T.cpu().tolist() == x.T.tolist()
    assert y.to_device("cpu").is_cpu
    assert y.to("cpu", ebb.float64).dtype is ebb.float64
    assert x.to(device=SIM, dtype=ebb.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ebb.zeros(2, dtype=ebb.float64).to(y).device == y.device
    assert x.to(SIM, non_blocking=True).device == y.device


def test_device_and_dtype_may_change_in_one_step():
    x = ebb.tensor([[1.5, -2.5], [3.5, 4.0]]).t()
    there = x.to(SIM, ebb.float64)
    for two_steps in (x.to(SIM).to(ebb.float64), x.to(ebb.float64).to(SIM)):
        assert two_steps.tolist() == there.tolist() == x.tolist()
        assert two_steps.dtype is there.dtype and two_steps.device == there.device
    assert x.to(SIM, ebb.int64).tolist() == [[1, 3], [-2, 4]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ebb.zeros(3, device=SIM),
        lambda: ebb.ones(3, device=SIM),
        lambda: ebb.empty(3, device=SIM),
        lambda: ebb.full((3,), 2.0, device=SIM),
        lambda: ebb.arange(3, device=SIM),
        lambda: ebb.linspace(0, 1, 3, device=SIM),
        lambda: ebb.eye(3, device=SIM),
        lambda: ebb.rand(3, device=SIM),
        lambda: ebb.randn(3, device=SIM),
        lambda: ebb.randint(0, 5, (3,), device=SIM),
        lambda: ebb.randperm(3, device=SIM),
        lambda: ebb.tensor([1.0, 2.0], device=SIM),
        lambda: ebb.as_tensor(np.ones(2), device=SIM),
        lambda: ebb.Tensor([1.0], device=SIM),
        lambda: ebb.zeros_like(ebb.zeros(3, device=SIM)),
        lambda: ebb.rand_like(ebb.zeros(3, device=SIM)),
        lambda: ebb.zeros(3, device=SIM).new_ones(2),
        lambda: ebb.zeros(3, device=SIM).new_tensor([1]),
    ],
)
def test_creation_functions_place_tensors(make):
    made = make()
    assert made.device == ebb.device(SIM)
    assert len(made.tolist()) == made.numel() or made.ndim == 2


def test_the_default_device_is_the_threads():
    with ebb.default_device(SIM) as device:
        assert device == ebb.device(SIM) == ebb.get_default_device()
        assert ebb.zeros(1).device == device and ebb.tensor([1]).device == device
        assert ebb.zeros(1, device="cpu").is_cpu
        seen = []
        on_threads(lambda: seen.append(ebb.zeros(1).is_cpu))
        assert seen == [True]
    assert ebb.zeros(1).is_cpu


def test_a_device_that_is_not_there_is_counted_and_no_default():
    # A process of its own: other tests may have a GPU, or what stands in for one.
    program = """
import ebb

assert ebb.device_count("cuda") == 0
try:
    ebb.set_default_device("cuda")
except ValueError as error:
    assert "needs a device that is there" in str(error)
else:
    raise AssertionError("the default device is not there")
"""
    printed(program, EBB_CUDA_LIBRARY="/nowhere")


def test_values_can_be_read_and_numpy_is_refused():
    x = ebb.tensor([[1.5]], device=SIM)
    assert x.item() == float(x) == 1.5 and bool(x)
    assert repr(x) == "tensor([[1.5000]], device='sim:0')"
    assert f"{x[0, 0]:.1f}" == "1.5"
    with pytest.raises(ValueError, match=r"(?s)numpy: needs .* sim:0.*hint: use tensor.cpu"):
        x.numpy()
    with pytest.raises(ValueError, match="numpy"):
        np.asarray(x)
    with pytest.raises(BufferError):
        memoryview(x)
    assert 1.5 in x


def test_indexing_takes_lists_and_tensors_of_the_cpu():
    x = ebb.arange(6.0, device=SIM).reshape(2, 3)
    assert x[1].tolist() == [3, 4, 5] and x[:, 1].tolist() == [1, 4]
    assert x[[1, 0], [2, 0]].tolist() == [5, 0]
    assert x[ebb.tensor([1])].tolist() == [[3, 4, 5]]
    assert x[x > 3].tolist() == [4, 5]
    x[0] = ebb.tensor([7.0, 8.0, 9.0])
    x[x == 5] = -1
    x[[1], [0]] = ebb.tensor(2.0)
    assert x.tolist() == [[7, 8, 9], [2, 4, -1]]


def test_views_share_memory_and_version():
    x = ebb.zeros(2, 3, device=SIM)
    version = x._version if hasattr(x, "_version") else None
    x[1].fill_(4)
    x.T[0].add_(1)
    assert x.tolist() == [[1, 0, 0], [5, 4, 4]]
    assert version is None or x._version == version + 2


def test_mixing_devices_names_both():
    x, y = ebb.ones(3, device=SIM), ebb.ones(3)
    for call in (lambda: x + y, lambda: x @ y, lambda: ebb.cat([x, y]), lambda: x.add_(y)):
        with pytest.raises(ValueError, match="on one device, got sim:0 and cpu"):
            call()
    with pytest.raises(ValueError, match="got sim:0 and sim:1"):
        x + y.to("sim:1")
    assert (x * ebb.tensor(2.0)).tolist() == [2, 2, 2]


def test_fallback_warns_once_per_op():
    ebb._C._forget_fallback_warnings()
    x = ebb.ones(3, device=SIM)
    with pytest.warns(UserWarning, match="sinh: no kernel on sim:0, running on the cpu"):
        x.sinh()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.sinh()
        x + x


def test_a_warning_can_be_an_error():
    ebb._C._forget_fallback_warnings()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="cosh: no kernel"):
            ebb.ones(3, device=SIM).cosh()


def test_fallback_can_be_refused():
    assert ebb.is_kernel_fallback_enabled()
    ebb.set_kernel_fallback(False)
    try:
        x = ebb.ones(3, device=SIM)
        assert (x + x).tolist() == [2, 2, 2]
        with pytest.raises(NotImplementedError, match="exp: no kernel for dtype float32 on sim:0"):
            x.exp()
        with pytest.raises(NotImplementedError, match=r"^cumprod: in cast, no kernel for"):
            x.cumprod(0)
    finally:
        ebb.set_kernel_fallback(True)


def test_gradients_return_to_where_the_leaf_is():
    x = ebb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = ebb.tensor(2.0, requires_grad=True)
    y = x.to(SIM)
    (y.exp() * y * w).sum().cpu().backward()
    assert x.grad.is_cpu and w.grad.is_cpu
    expected = ebb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (expected.exp() * expected * 2.0).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_one_copy_alone_passes_the_gradient_as_it_is():
    x = ebb.tensor([1.0, 2.0], requires_grad=True)
    (x.to(SIM) * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_backward_may_start_on_the_device():
    x = ebb.ones(2, 2, device=SIM, requires_grad=True)
    loss = (x @ x).tanh().sum()
    loss.backward()
    first = x.grad.tolist()
    (x @ x).tanh().sum().backward()
    assert x.grad.device == x.device
    assert x.grad.tolist() == (ebb.tensor(first) * 2).tolist()


def test_tangents_travel_with_a_transfer():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(ebb.ones(2), ebb.tensor([3.0, 4.0]))
        y = (x.to(SIM) * 2).exp().cpu()
        primal, tangent = forward_ad.unpack_dual(y)
        assert tangent.tolist() == (primal * ebb.tensor([6.0, 8.0])).tolist()


def make_model(seed):
    ebb.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 3)
    )


def train(device, make_optimizer):
    model = make_model(1).to(device)
    optimizer = make_optimizer(model.parameters())
    inputs = ebb.arange(24.0).reshape(6, 4).to(device) / 10
    target = ebb.tensor([0, 1, 2, 0, 1, 2], device=device)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.tolist() for name, value in model.state_dict().items()}


def test_a_scaler_goes_over_gradients_of_several_devices():
    weights = [ebb.ones(3).to(SIM).requires_grad_(), ebb.ones(2, requires_grad=True)]
    optimizer = optim.SGD(weights, lr=1.0)
    scaler = ebb.amp.GradScaler("sim", init_scale=4.0)
    for factor in (2.0, float("inf")):  # the second step is skipped, on both
        optimizer.zero_grad()
        scaler.scale((weights[0] * factor).sum()).backward()
        scaler.scale(weights[1].sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weights[0].tolist() == [-1.0] * 3 and weights[1].tolist() == [0.0] * 2
    assert scaler.get_scale() == 2.0


def test_masters_of_weights_on_a_device_are_there_too():
    found = []
    for device in ("cpu", SIM):
        weight = ebb.ones(3, dtype=ebb.bfloat16).to(device).requires_grad_()
        optimizer = optim.AdamW([weight], lr=1e-3, master_weights=True)
        for step in range(3):
            if step == 2:
                weight.data = ebb.tensor([2.0, 1.0, 1.0], dtype=ebb.bfloat16).to(device)
            weight.grad = ebb.ones(3, dtype=ebb.bfloat16).to(device)
            optimizer.step()
        master = optimizer.state[weight]["master_weight"]
        assert master.device == ebb.device(device) and master.dtype is ebb.float32
        found.append((weight.tolist(), master.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "make_optimizer",
    [
        lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9),
        lambda parameters: optim.Adam(parameters, lr=0.1),
    ],
)
def test_a_model_trains_on_the_device_as_on_the_cpu(make_optimizer):
    assert train(SIM, make_optimizer) == train("cpu", make_optimizer)


def test_modules_move_with_their_gradients():
    model = nn.Linear(2, 2)
    model(ebb.ones(1, 2)).sum().backward()
    weight = model.weight
    assert model.to(SIM) is model and model.weight is weight
    assert weight.device == weight.grad.device == ebb.device(SIM)
    assert weight.requires_grad and weight.is_leaf
    model(ebb.ones(1, 2, device=SIM)).sum().backward()
    assert weight.grad.tolist() == [[2, 2], [2, 2]]
    assert model.cpu().weight.is_cpu and weight.grad.is_cpu


def test_files_pickles_and_copies_keep_values(tmp_path):
    x = ebb.arange(4.0, device=SIM).reshape(2, 2).T
    ebb.save({"x": x}, tmp_path / "x.safetensors")
    assert ebb.load(tmp_path / "x.safetensors")["x"].tolist() == x.tolist()
    again = pickle.loads(pickle.dumps(x))
    assert again.device == x.device and again.tolist() == x.tolist()
    assert copy.deepcopy(x).device == x.device


def test_memory_is_counted_and_freed():
    gc.collect()
    before = ebb.device_memory_stats(SIM)["live"]
    x = ebb.zeros(1024, device=SIM)
    assert ebb.device_memory_stats(SIM)["live"] == before + 4096
    del x
    stats = ebb.device_memory_stats(SIM)
    assert stats["live"] == before and stats["peak"] >= before + 4096
    assert stats["total"] >= stats["free"] > 0
    ebb.reset_peak_device_memory(SIM)
    assert ebb.device_memory_stats(SIM)["peak"] == before


def test_full_memory_is_a_memory_error(sim):
    sim.ebb_sim_set_memory_limit.argtypes = [sim_device.ctypes.c_int64]
    sim.ebb_sim_set_memory_limit(1)
    try:
        with pytest.raises(MemoryError, match="sim:0 did not give"):
            ebb.zeros(10_000, device=SIM)
    finally:
        sim.ebb_sim_set_memory_limit(0)


def test_streams_and_events_order_work():
    side = ebb.Stream(SIM)
    x = ebb.ones(3, device=SIM)
    side.wait_stream(ebb.current_stream(SIM))
    with ebb.stream(side):
        assert ebb.current_stream(SIM) == side
        y = x + x
        x.record_stream(side)
    assert ebb.current_stream(SIM) != side
    event = side.record_event()
    event.wait()
    z = y * y
    event.synchronize()
    assert event.query()
    ebb.synchronize(SIM)
    assert side.query() and z.tolist() == [4, 4, 4]
    ebb.synchronize()
    with pytest.raises(ValueError, match="record_stream: needs a stream of sim:0"):
        x.record_stream(ebb.Stream("sim:1"))


def test_a_device_without_pinned_memory_changes_nothing():
    x = ebb.ones(2)
    assert x.pin_memory(SIM) is x and not x.is_pinned() and not x.is_pinned(SIM)
    made = x.to(SIM, non_blocking=True)
    x.fill_(2.0)
    assert made.tolist() == [1.0, 1.0]


def test_results_of_transforms_and_recurrent_layers_stay_on_the_device():
    x = ebb.tensor([1.0, 2.0, 4.0, 3.0], device=SIM, requires_grad=True)
    ebb.fft.irfft(ebb.fft.rfft(x) * 2).sum().backward()
    assert x.grad.device == x.device and x.grad.tolist() == pytest.approx([2.0] * 4)
    layer = nn.LSTM(2, 3, device=SIM)
    out, _ = layer(ebb.ones(4, 1, 2, device=SIM))
    out.sum().backward()
    assert out.device == x.device == layer.weight_hh_l0.grad.device


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_are_those_of_the_cpu_where_the_device_looks_at_no_index(mode):
    weight = ebb.linspace(-1, 1, 18).reshape(6, 3).cos()
    rows, offsets = ebb.tensor([1, 2, 0, 3, 3, 2, 5]), ebb.tensor([0, 2, 2, 5])
    given = [one.to(SIM) for one in (rows, weight, offsets)]
    got = nn.functional.embedding_bag(*given, mode=mode, padding_idx=2)
    want = nn.functional.embedding_bag(rows, weight, offsets, mode=mode, padding_idx=2)
    assert ebb.allclose(got.cpu(), want)
    text = r"steps between offsets must be at least 0, got -1 at position \[1\]$"
    with pytest.raises(ValueError, match=text):  # by the call itself
        nn.functional.embedding_bag(given[0], given[1], ebb.tensor([0, 3, 2]).to(SIM), mode=mode)
