# tests/python/opencl/test_device.py -- the device opencl as a program sees it: names, copies,
# streams, memory, compiled programs on disk, several devices, forks.
import os
import warnings

import numpy as np
import pytest

import ebb
from ebb import nn
from tests.python import fresh
from tests.python.opencl.conftest import DEVICE, TYPE, opencl_only

RNG = np.random.default_rng(5)


def finished(code, **variables):
    """A fresh process that ran code; its programs are compiled anew unless a folder is named."""
    program = "import ebb\n" + code.replace('"opencl', f'"{TYPE}')
    return fresh.finished(program, EBB_KERNEL_FALLBACK="0", **variables)


def run_script(code, **variables):
    """What a fresh process prints that has no complaint."""
    done = finished(code, **variables)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


def test_the_device_is_there_by_name_alone(opencl):
    assert run_script('print(ebb.ones(3, device="opencl").sum().item())') == ["3.0"]
    assert str(ebb.device(TYPE)) == f"{TYPE}:0"
    with pytest.raises(ValueError, match=f"needs a device that is there, got {TYPE}:100"):
        ebb.ones(3, device=f"{TYPE}:100")


@opencl_only
def test_a_choice_of_devices_that_is_none_says_what_it_takes():
    script = """
try:
    ebb.ones(3, device="opencl")
except ValueError as error:
    print(str(error).partition("EBB_OPENCL")[1:])
"""
    for choice in ("9", "x", "0/", "0/1000", "-1", "0,"):
        printed = " ".join(run_script(script, EBB_OPENCL_DEVICES=choice))
        assert "EBB_OPENCL" in printed
        assert choice.split(",")[-1] in printed


def test_values_survive_the_way_there_and_back(opencl):
    for dtype in ("float32", "int64", "bool", "float16", "complex64", "uint8"):
        values = ebb.tensor(RNG.integers(0, 2, (3, 5))).to(getattr(ebb, dtype))
        for sent in (values, values.t(), values[1:, ::2], values[:0]):
            assert sent.to(opencl).cpu().tolist() == sent.tolist()


def test_what_is_copied_may_change_at_once(opencl):
    source = ebb.zeros(100_000)
    copies = []
    for value in range(20):
        source.fill_(value)
        copies.append(source.to(opencl))
    assert [one.amax().item() for one in copies] == list(range(20))
    assert [one.amin().item() for one in copies] == list(range(20))


def test_streams_run_on_their_own_and_wait_for_events(opencl):
    x = ebb.ones(1000, 1000, device=opencl)
    other = ebb.Stream(opencl)
    event = ebb.Event(opencl)
    assert event.query()  # never recorded
    for _ in range(20):
        x = x * 1.01
    event.record()
    with ebb.stream(other):
        other.wait_event(event)
        y = x + 1
    ebb.current_stream(opencl).wait_stream(other)
    assert y.amax().item() == pytest.approx(1.01**20 + 1, rel=1e-5)
    event.synchronize()
    assert event.query()
    other.synchronize()
    assert other.query()


def test_memory_goes_back_and_its_peak_is_known(opencl):
    ebb.synchronize()
    before = ebb.device_memory_stats(opencl)["live"]
    x = ebb.ones(1_000_000, device=opencl)
    y = x * 2
    assert ebb.device_memory_stats(opencl)["live"] == before + 8_000_000
    address = y.data_ptr()
    del y
    again = x * 3  # on the same stream, so that the block is free at once
    assert again.data_ptr() == address
    del x, again
    assert ebb.device_memory_stats(opencl)["live"] == before
    assert ebb.device_memory_stats(opencl)["peak"] >= before + 8_000_000


def test_too_large_a_tensor_is_refused_and_the_device_goes_on(opencl):
    with pytest.raises(
        MemoryError, match=rf"needs \d+ bytes, which {DEVICE} did not give.*Alloc: no"
    ):
        ebb.empty(1 << 44, device=opencl)
    assert ebb.ones(5, device=opencl).sum().item() == 5


def test_a_chain_trains_as_on_the_cpu(opencl):
    weight = ebb.tensor(RNG.standard_normal((50, 20)).astype(np.float32))
    bias = ebb.tensor(RNG.standard_normal(20).astype(np.float32))
    gradients = []
    for device in ("cpu", opencl):
        w = weight.detach().to(device).requires_grad_()
        b = bias.detach().to(device).requires_grad_()
        hidden = nn.functional.gelu((w * 2).sin() + b)
        loss = (hidden.tanh() * hidden.sigmoid()).mean() + hidden.relu().amax(0).sum()
        loss.backward()
        gradients.append((loss.item(), w.grad.cpu(), b.grad.cpu()))
    for found, wanted in zip(gradients[1], gradients[0], strict=True):
        ebb.testing.assert_close(found, wanted)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x * y).sin() + x / (y * y + 1),
        lambda x, y: nn.functional.gelu(x) * nn.functional.silu(y),
        lambda x, y: ebb.where(x > y, x.exp(), y.tanh()),
        lambda x, y: (x.square().mean(0) * y.sum(1, keepdim=True)).sigmoid(),
    ],
)
def test_first_and_second_derivatives(function, opencl):
    made = [ebb.tensor(RNG.uniform(-1, 1, (3, 3))).requires_grad_() for _ in range(2)]

    def there(x, y):
        return function(x.to(opencl), y.to(opencl)).cpu()  # gradcheck changes elements on the CPU

    assert ebb.autograd.gradcheck(there, made)
    assert ebb.autograd.gradgradcheck(there, made)


def test_reductions_are_the_same_bits_each_time(opencl):
    for shape, dim in (((3_000_000,), 0), ((7, 100_003), 1), ((100_003, 7), 0), ((1000, 1000), 0)):
        x = ebb.tensor(RNG.standard_normal(shape).astype(np.float32)).to(opencl)
        sums = [x.sum(dim).cpu().numpy().tobytes() for _ in range(3)]
        assert len(set(sums)) == 1
        wanted = x.cpu().to(ebb.float64).sum(dim)
        ebb.testing.assert_close(x.sum(dim).cpu().to(ebb.float64), wanted, rtol=1e-4, atol=2e-3)


def test_what_no_kernel_does_is_refused_by_name(opencl):
    x = ebb.ones(3, dtype=ebb.complex64).to(opencl)
    with pytest.raises(
        NotImplementedError, match=f"exp: no kernel for dtype complex64 on {DEVICE}"
    ):
        x.exp()


def test_programs_on_disk_are_used_again_and_made_anew_when_damaged(tmp_path):
    script = 'print((ebb.ones(3, device="opencl") * 2).sum().item())'
    assert run_script(script, EBB_KERNEL_CACHE=str(tmp_path)) == ["6.0"]
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3  # fill, mul, sum
    written = [file.stat().st_mtime_ns for file in files]
    assert run_script(script, EBB_KERNEL_CACHE=str(tmp_path)) == ["6.0"]
    assert [file.stat().st_mtime_ns for file in files] == written
    whole = [file.read_bytes() for file in files]
    files[0].write_bytes(whole[0][:-10])
    files[1].write_bytes(whole[1][:-10] + b"0123456789")
    files[2].write_bytes(b"")
    assert run_script(script, EBB_KERNEL_CACHE=str(tmp_path)) == ["6.0"]
    assert sorted(tmp_path.iterdir()) == files
    # Sound again: the next process takes them as they are. (PoCL's own cache changes their sizes.)
    written = [file.stat().st_mtime_ns for file in files]
    assert run_script(script, EBB_KERNEL_CACHE=str(tmp_path)) == ["6.0"]
    assert [file.stat().st_mtime_ns for file in files] == written
    assert all(file.stat().st_size > 1000 for file in files)


@opencl_only
@pytest.mark.parametrize(("kept", "compiled"), [("0", 3), ("kept", 6)])
def test_nothing_is_compiled_for_a_binary_that_is_not_kept(kept, compiled, opencl, tmp_path):
    folder = tmp_path / kept if kept != "0" else kept
    script = 'print((ebb.ones(3, device="opencl") * 2).sum().item())'
    variables = {"EBB_KERNEL_CACHE": str(folder), "POCL_CACHE_DIR": str(tmp_path / "pocl")}
    assert run_script(script, **variables) == ["6.0"]
    if not (tmp_path / "pocl").exists():
        pytest.skip("of PoCL, which compiles a binary apart from what it runs")
    assert len(list((tmp_path / "pocl").rglob("*.so"))) == compiled  # of fill, mul, sum


@opencl_only
def test_programs_on_disk_serve_each_of_several_devices(tmp_path):
    script = """
print([(ebb.ones(3, device=f"opencl:{index}") * 2).sum().item() for index in (0, 1)])
"""
    variables = {"EBB_KERNEL_CACHE": str(tmp_path), "POCL_DEVICES": "pthread pthread"}
    assert run_script(script, **variables) == ["[6.0,", "6.0]"]
    written = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert len(written) == 3  # fill, mul, sum
    assert run_script(script, **variables) == ["[6.0,", "6.0]"]
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == written


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path):
    (tmp_path / "file").write_text("")
    script = 'print((ebb.ones(3, device="opencl") * 2).sum().item())'
    assert run_script(script, EBB_KERNEL_CACHE=str(tmp_path / "file" / "below")) == ["6.0"]
    assert run_script(script, EBB_KERNEL_CACHE="0") == ["6.0"]


@opencl_only
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core cannot be cut in two")
def test_two_devices_at_once():
    script = """
x = ebb.ones(1000, device="opencl:0", requires_grad=True)
y = (x * 3).to("opencl:1") * ebb.full([1000], 2.0, device="opencl:1")
y.sum().backward()
print(x.grad.device, x.grad.cpu().amax().item(), y.device)
"""
    assert run_script(script, EBB_OPENCL_DEVICES="0/2") == ["opencl:0", "6.0", "opencl:1"]


def test_a_child_of_a_fork_gets_an_error():
    script = """
import os
x = ebb.ones(3, device="opencl")
uses = [lambda: x + 1, lambda: x.cpu(), lambda: ebb.ones(3).to("opencl"), lambda: x.tanh(),
        lambda: ebb.synchronize(x.device), lambda: ebb.Event(x.device).record(),
        lambda: ebb.empty(5, device=x.device), lambda: ebb.Stream(x.device)]
child = os.fork()
if child == 0:
    for use in uses:
        try:
            use()
            os._exit(2)
        except ebb.DeviceError as error:  # no MemoryError, after which programs ask for less
            if "child of a fork" not in str(error):
                os._exit(1)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), (x + 1).sum().item())
"""
    assert run_script(script) == ["7", "6.0"]


def test_a_program_may_end_while_its_kernels_are_compiled(opencl, tmp_path):
    run_script('(ebb.ones(3, device="opencl") + 1).exp().tanh()', POCL_CACHE_DIR=str(tmp_path))


def test_a_failure_that_nobody_waited_for_is_told_at_the_end(opencl):
    code = 'x = ebb.ones(3, device="opencl")\nx.index_select(0, ebb.tensor([7]).to("opencl"))'
    done = finished(code)
    assert done.returncode == 0 and "IndexError: index_select: " in done.stderr


@pytest.mark.parametrize("shape", [(3, 4), ()])
def test_real_numbers_are_written_over_complex_ones(shape, opencl):
    source = ebb.ones(shape, dtype=ebb.bool)
    there = ebb.zeros(shape[::-1], dtype=ebb.complex64).to(opencl)
    target = there.t() if shape else there
    with pytest.raises(NotImplementedError, match="copy_: no kernel for dtype complex64 on"):
        target.copy_(source.to(opencl))
    ebb.set_kernel_fallback(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        target.copy_(source.to(opencl))
        assert there.cpu().tolist() == ebb.ones(shape[::-1], dtype=ebb.complex64).tolist()
        assert target.eq_(1j).cpu().tolist() == ebb.zeros(shape, dtype=ebb.complex64).tolist()
