# satellites/torch/tests/test_switched_off.py -- what programs ask of devices and compilers in
# passing.

import pytest

import ebb


@pytest.mark.skipif(ebb.cuda.is_available(), reason="of a machine without CUDA")
def test_states_of_devices_that_are_not_there_are_none(torch):
    assert torch.cuda.get_rng_state_all() == [] and torch.cuda.default_generators == ()
    before = ebb.get_rng_state()
    torch.cuda.set_rng_state_all([])
    torch.cuda.set_rng_state(ebb.Generator().get_state())
    assert ebb.equal(ebb.get_rng_state(), before)
    assert torch.cuda.memory_stats() == {} and torch.cuda.memory.memory_cached() == 0
    assert not torch.cuda.is_current_stream_capturing() and torch.cuda.get_arch_list() == []
    for name in ("get_rng_state", "initial_seed"):
        with pytest.raises(RuntimeError, match=f"{name}: needs a device of CUDA"):
            getattr(torch.cuda.random, name)()


@pytest.mark.usefixtures("cpu_only")
def test_accelerators_take_no_memory_where_there_are_none(torch):
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved",
                 "max_memory_reserved"):  # fmt: skip
        assert getattr(torch.accelerator, name)() == 0
    torch.accelerator.reset_peak_memory_stats()
    assert torch.cpu.current_device() == "cpu" and torch.cpu.is_initialized()
    torch.cpu.synchronize()


def test_nothing_is_a_compiled_module(torch):
    net = torch.jit.script(torch.nn.Linear(1, 1))
    for kind in ("ScriptModule", "RecursiveScriptModule", "TracedModule", "ScriptFunction"):
        assert not isinstance(net, getattr(torch.jit, kind))

    class Own(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
            return x + 1

    assert Own()(ebb.ones(1)).item() == 2
    assert issubclass(torch.jit.TracerWarning, Warning)


def test_switches_of_cuda_are_kept(torch):
    torch.backends.cuda.enable_cudnn_sdp(False)
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(True)
    assert torch.backends.cuda.SDPBackend.MATH is ebb.nn.attention.SDPBackend.MATH
    with pytest.raises(TypeError, match="enable_cudnn_sdp: enabled needs a bool"):
        torch.backends.cuda.enable_cudnn_sdp("no")


def test_the_installation_is_shown_without_an_import_of_its_module(torch):
    assert "ebb" in torch.__config__.show()
    assert torch.multiprocessing.SpawnContext is ebb.multiprocessing.ProcessContext
    assert torch.onnx.OperatorExportTypes.ONNX.name == "ONNX"
    with pytest.raises(AttributeError, match="__path_of_nothing__"):
        torch.__path_of_nothing__  # noqa: B018
