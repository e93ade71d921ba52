# satellites/torch/tests/test_torch_compat.py -- programs that import torch run on ebb, unchanged,
# and
# what they would miss is named. Each runs in a process of its own: the hook stays in one.
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ebb
from tests.python.fresh import printed

TRAINING = """
    import argparse
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    import torch.backends.cudnn as cudnn
    from torch.autograd import Variable
    from torch.nn.modules.loss import CrossEntropyLoss
    from torch.optim.lr_scheduler import StepLR, _LRScheduler
    from torch.utils.data import DataLoader, TensorDataset
    from torch.utils.data.dataset import Dataset
    from torch.utils.data._utils.collate import collate, default_collate_fn_map

    cudnn.benchmark = True
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int)
    epochs = parser.parse_args().epochs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    model = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = StepLR(optimizer, 10)
    x = torch.randn(64, 4)
    data = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=16)
    for _ in range(epochs):
        for inputs, targets in data:
            optimizer.zero_grad()
            loss = CrossEntropyLoss()(model(Variable(inputs)), targets)
            loss.backward()
            optimizer.step()
        scheduler.step()
    assert isinstance(inputs, torch.FloatTensor) and isinstance(model, torch.nn.Module)
    assert collate([1.5], collate_fn_map=default_collate_fn_map).dtype is torch.float64
    print(loss.item() < 0.3, torch.__version__)
"""


def run(*arguments, code=None):
    command = [sys.executable, *arguments] if code is None else [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(TRAINING))
    return path


def test_an_unchanged_training_program_runs(script):
    done = run("-m", "ebb.torch_compat", str(script), "--epochs", "20")
    assert done.stdout.split() == ["True", "2.15.0"], done.stderr


def test_processes_that_a_program_spawns_find_ebb_too(tmp_path):
    script = tmp_path / "spawn.py"
    script.write_text(
        "import torch, multiprocessing, sys\n"
        "def work(queue): queue.put(torch.ones(2).sum().item())\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    queue = context.Queue()\n"
        "    child = context.Process(target=work, args=(queue,))\n"
        "    child.start(); print(queue.get(timeout=120), sys.argv[1:]); child.join()\n"
    )
    done = run("-m", "ebb.torch_compat", str(script), "--report", "-m")
    assert done.stdout == "2.0 ['--report', '-m']\n", done.stderr


def test_a_module_runs_too(script, monkeypatch):
    package = str(Path(ebb.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([package, str(script.parent)]))
    done = run("-m", "ebb.torch_compat", "-m", "train", "--epochs", "20")
    assert done.stdout.split() == ["True", "2.15.0"], done.stderr


def test_modules_show_what_ebb_has():
    done = run(
        code="""if True:
        import ebb, ebb.torch_compat, torch, torch.nn.functional as F, torch.utils.data as data
        from torch import *
        assert torch.nn.Linear is ebb.nn.Linear and F.relu is ebb.nn.functional.relu
        assert data.DataLoader is ebb.data.DataLoader and torch.nn is __import__("torch.nn").nn
        assert torch.Tensor is ebb.Tensor and matmul is ebb.matmul
        from torchvision import datasets, transforms
        assert datasets.MNIST is ebb.vision.datasets.MNIST
        assert torch.nn.modules.dropout.Dropout is torch.nn.modules.Dropout is ebb.nn.Dropout
        assert torch.nn.modules.linear.NonDynamicallyQuantizableLinear is ebb.nn.Linear
        import torchvision.transforms as T, torchvision.models as models
        assert models.__dict__["resnet18"] is vars(models)["resnet18"] is ebb.vision.models.resnet18
        assert vars(torch)["add"] is ebb.add and "Linear" in vars(torch.nn)
        assert T is transforms and T.ToTensor is ebb.vision.transforms.ToTensor
        torch.relu = 3
        assert ebb.relu is not torch.relu
        assert all(hasattr(torch.optim, name) for name in dir(torch.optim))
        assert "Linear" in dir(torch.nn) and torch.fft.rfft is ebb.fft.rfft
        print("good")"""
    )
    assert done.stdout == "good\n", done.stderr


def test_switches_are_ebbs_and_what_else_is_assigned_is_not():
    done = run(
        code="""if True:
        import ebb, ebb.torch_compat, torch
        before = ebb.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = not before
        assert ebb.backends.cudnn.benchmark is not before
        with ebb.backends.cudnn.flags(benchmark=before):
            assert torch.backends.cudnn.benchmark is before
        assert torch.backends.cudnn.benchmark is not before
        torch.relu = torch.nn.extra = 3
        assert callable(ebb.relu) and not hasattr(ebb.nn, "extra")
        print("good")"""
    )
    assert done.stdout == "good\n", done.stderr


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import torch; torch.export", "AttributeError: torch.export: ebb has no such name"),
        ("import torch.quantization", "torch.quantization: ebb has no such name"),
        ("import torch.onnx; torch.onnx.export(1)", "NotImplementedError: onnx.export: ebb writes"),
        ("import torchvision.prototype", "torchvision.prototype: ebb has no such name"),
        ("from torchvision import models as m; m.inception_v3", "there are ResNet, VGG, AlexNet"),
        ("import torch.nn as nn; nn.Nothing(3)", "AttributeError: torch.nn.Nothing: ebb has no"),
        ("import torch; torch.distributed.all_reduce()", "all_reduce: ebb runs in one process"),
    ],
)
def test_what_is_missing_is_named_with_the_way_out(code, error):
    done = run(code=f"import ebb.torch_compat; {code}")
    assert error in done.stderr
    assert "hint: " in done.stderr


@pytest.mark.parametrize(
    ("line", "name", "kind"),
    [
        ("import torch.export", "torch.export", "ImportError"),
        ("from torch import export", "torch.export", "ImportError"),
        ("from torch.nn import Linaer", "torch.nn.Linaer", "ImportError"),
        ("from torch.nn.modules import Linaer", "torch.nn.modules.Linaer", "ImportError"),
        ("torch.nn.functional.rleu", "torch.nn.functional.rleu", "AttributeError"),
    ],
)
def test_the_error_has_the_name_the_line_and_the_way_out(tmp_path, line, name, kind):
    script = tmp_path / "train.py"
    script.write_text(f"import torch\ntry:\n    {line}\nexcept {kind} as e:\n    print(e)\n")
    done = run("-m", "ebb.torch_compat", str(script))
    first, hint = done.stdout.splitlines()
    assert first == f"{name}: ebb has no such name, wanted at {script}:3: {line}", done.stderr
    parent = name.rpartition(".")[0]
    close = {"Linaer": f"there is {parent}.Linear", "rleu": f"there is {parent}.relu"}
    way = close.get(name.rpartition(".")[2], "save parameters with")
    assert hint.startswith(f"hint: {way}")
    assert hint.endswith("python -m ebb.torch_compat --report PATH lists all such names")


def test_pytorch_that_is_imported_already_is_an_error():
    done = run(
        code="""if True:
        import sys, types
        sys.modules["torch"] = types.ModuleType("torch")
        import ebb.torch_compat"""
    )
    assert "torch_compat: PyTorch  is imported already" in done.stderr


def test_pytorch_that_is_installed_is_hidden_and_the_log_says_so(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("is_pytorch = True\n")
    done = run(
        code=f"""if True:
        import logging, sys
        logging.basicConfig()
        sys.path.insert(0, {str(tmp_path)!r})
        from ebb import torch_compat
        import torch
        assert not hasattr(torch, "is_pytorch")
        torch_compat.uninstall()
        import torch
        assert torch.is_pytorch"""
    )
    assert done.returncode == 0, done.stderr
    assert "`import torch` is ebb; PyTorch at" in done.stderr


def test_a_report_lists_missing_names_without_running(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "one.py").write_text(
        "from torch import export, nn as net\nimport torch as t\nt.export(1)\nnet.Linear\n"
        "net.Nil(2)\nt.tensor([1]).whatever()\nraise SystemExit\n"
    )
    (tmp_path / "inner" / "two.py").write_text(
        "from torch import optim\ndef step(t, optim):\n    optim.zero_grad()\n"
    )
    (tmp_path / "broken.py").write_text("print 'Python 2'\n")
    done = run("-m", "ebb.torch_compat", "--report", str(tmp_path))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    one = tmp_path / "inner" / "one.py"
    assert lines[0] == f"torch.export  2x  {one}:1, {one}:3"
    assert lines[1].startswith("    save parameters with")  # the way out
    assert lines[2:] == [f"torch.nn.Nil  1x  {one}:5", "2 names of PyTorch are missing"]


@pytest.mark.usefixtures("cpu_only")
def test_the_modes_that_programs_ask_for_change_nothing():
    assert ebb.jit.script(len) is len and ebb.compile(mode="max-autotune")(len) is len
    assert ebb.distributed.get_world_size() == 1 and not ebb.distributed.is_initialized()
    assert not any(
        one.is_available() for one in (ebb.cuda, ebb.mps, ebb.xpu, ebb.accelerator, ebb.distributed)
    )
    before = ebb.backends.cudnn.benchmark
    with ebb.backends.cudnn.flags(enabled=True, benchmark=not before):
        assert ebb.backends.cudnn.benchmark is not before
    assert ebb.backends.cudnn.benchmark is before
    ebb.cuda.synchronize()
    ebb.cuda.empty_cache()
    assert ebb.cuda.memory_allocated() == 0
    with pytest.raises(ebb.DeviceError, match="get_device_name: needs a device of CUDA, got none"):
        ebb.cuda.get_device_name(0)


def test_names_that_libraries_look_for_are_there():
    code = (
        "import ebb.torch_compat, torch; from torch._subclasses.fake_tensor import is_fake; "
        "from torch.fx.experimental.proxy_tensor import get_proxy_mode; "
        "from torch.serialization import MAP_LOCATION; from torch.futures import Future; "
        "from torch.distributions.utils import _sum_rightmost; "
        "print(torch.torch is torch, is_fake(torch.ones(1)), get_proxy_mode(), "
        "torch._C._get_tracing_state(), torch.Future is Future, "
        "_sum_rightmost(torch.ones(2, 3), 1).tolist(), "
        "torch.distributions.transforms._InverseTransform.__name__)"
    )
    assert printed(code) == "True False None None True [3.0, 3.0] _InverseTransform\n"


def test_names_in_annotations_of_large_libraries_are_there():
    code = (
        "import ebb.torch_compat, torch; from torch.nn.attention.flex_attention import BlockMask; "
        "from torch.distributed.tensor import DTensor; import torch.distributed.device_mesh; "
        "from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex; "
        "from torch.utils._pytree import _dict_flatten, _dict_flatten_with_keys, _dict_unflatten; "
        "parts, keys = _dict_flatten({'a': 1}); "
        "print(_dict_unflatten(parts, keys), _dict_flatten_with_keys({'a': 1})[1], "
        "torch.cuda.CUDAGraph.__name__, torch.distributed.device_mesh.DeviceMesh.__name__, "
        "torch.distributed.ProcessGroup.__name__, torch.overrides.TorchFunctionMode.__name__, "
        "torch.finfo(torch.float8_e4m3fn).max, torch.finfo(torch.float8_e5m2).max)"
    )
    names = "CUDAGraph DeviceMesh ProcessGroup TorchFunctionMode"
    assert printed(code) == f"{{'a': 1}} ['a'] {names} 448.0 57344.0\n"
