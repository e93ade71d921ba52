# satellites/vision/tests/test_models.py -- ResNet, VGG, DenseNet: sizes, names of parts, weights.
import re
import sys

import pytest

import ebb
from ebb import hub
from ebb.vision import models
from ebb.vision.models.vgg import make_layers

COUNTS = {  # of parameters, as the papers' networks have them with 1000 classes
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnext50_32x4d": 25_028_904,
    "mobilenet_v2": 3_504_872,
    "densenet121": 7_978_856,
}
META = {  # the large ones, without memory
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
    "wide_resnet50_2": 68_883_240,
    "alexnet": 61_100_840,
    "vgg11": 132_863_336,
    "vgg13_bn": 133_053_736,
    "vgg16": 138_357_544,
    "vgg19_bn": 143_678_248,
    "densenet161": 28_681_000,
    "densenet169": 14_149_480,
    "densenet201": 20_013_928,
}


@pytest.mark.parametrize("name", COUNTS)
def test_networks_have_their_parameters_and_outputs(name):
    model = getattr(models, name)()
    assert sum(one.numel() for one in model.parameters()) == COUNTS[name]
    images = ebb.randn(2, 3, 32, 32, requires_grad=True)
    model(images).sum().backward()
    assert images.grad.shape == images.shape
    assert all(one.grad is not None for one in model.parameters())


@pytest.mark.parametrize("name", META)
def test_large_networks_have_their_parameters_too(name):
    with ebb.device("meta"):
        model = getattr(models, name)(**({"init_weights": False} if "vgg" in name else {}))
        out = model(ebb.zeros(1, 3, 64, 64))
    assert out.shape == (1, 1000)
    assert sum(one.numel() for one in model.parameters()) == META[name]


def test_parts_have_the_names_of_files_of_parameters():
    state = models.resnet50(num_classes=7).state_dict()
    assert state["fc.weight"].shape == (7, 2048)
    assert state["layer2.0.downsample.0.weight"].shape == (512, 256, 1, 1)
    assert state["layer4.2.bn3.running_var"].shape == (2048,)
    assert state["layer1.0.conv2.weight"].shape == (64, 64, 3, 3)


def test_vgg_has_its_stages():
    model = models.vgg16(num_classes=2, init_weights=False)
    poolings = [i for i, one in enumerate(model.features) if type(one).__name__ == "MaxPool2d"]
    assert poolings == [4, 9, 16, 23, 30]
    assert model.features(ebb.zeros(1, 3, 32, 32)).shape == (1, 512, 1, 1)
    assert model.classifier[6].weight.shape == (2, 4096)


def test_blocks_start_as_their_shortcut_if_asked():
    model = models.resnet18(num_classes=2, zero_init_residual=True).eval()
    block = model.layer1[0]
    x = ebb.rand(1, 64, 4, 4)
    assert ebb.equal(block(x), x)


def test_weights_come_from_a_file_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[hub.get_dir.__module__], "_chosen", str(tmp_path))
    chosen = models.ResNet18_Weights.DEFAULT
    assert chosen is models.ResNet18_Weights.IMAGENET1K_V1
    for asked in ({"weights": chosen}, {"weights": "DEFAULT"}, {"pretrained": True}):
        with pytest.raises(NotImplementedError, match=r"resnet18-f37072fd\.pth is not there"):
            models.resnet18(**asked)
    (tmp_path / "checkpoints").mkdir()
    first = models.resnet18()
    ebb.save(first.state_dict(), str(tmp_path / "checkpoints" / chosen.value))
    again = models.resnet18(weights=chosen)
    assert ebb.equal(again.fc.weight, first.fc.weight)


def test_bad_weights_and_layers_are_refused():
    with pytest.raises(ValueError, match="resnet18: weights must be one of IMAGENET1K_V1"):
        models.resnet18(weights="V9")
    with pytest.raises(TypeError, match="resnet18: weights must be of ResNet18_Weights"):
        models.resnet18(weights=models.ResNet34_Weights.DEFAULT)
    for make in (models.vgg11, models.alexnet, models.mobilenet_v2):
        with pytest.raises(TypeError, match=f"{make.__name__}: weights must be of .*, got 7"):
            make(weights=7, no_such_option=1)  # which comes to light once a network is made
    with pytest.raises(ValueError, match="ResNet: layers needs four counts"):
        models.ResNet(models.BasicBlock, [1, 2])


def small_densenet(**options):
    ebb.manual_seed(0)
    return models.DenseNet(4, (2, 1), 8, num_classes=2, **options)


def test_a_layer_of_densenet_sees_all_before_it():
    state = small_densenet().state_dict()
    assert state["features.denseblock1.denselayer2.norm1.weight"].shape == (8 + 4,)
    assert state["features.transition1.conv.weight"].shape == (8, 16, 1, 1)
    assert state["features.norm5.running_mean"].shape == (8 + 4,)
    assert state["classifier.weight"].shape == (2, 12)


def test_densenet_reads_files_older_than_its_names():
    model, other = small_densenet(), models.DenseNet(4, (2, 1), 8, num_classes=2)
    old = {
        re.sub(r"(denselayer\d+\.(norm|relu|conv))(\d)", r"\1.\3", name): value
        for name, value in model.state_dict().items()
    }
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    other.load_state_dict(old)
    images = ebb.rand(1, 3, 32, 32)
    assert ebb.equal(other.eval()(images), model.eval()(images))


def test_densenet_that_saves_memory_has_the_same_gradients():
    images = ebb.rand(2, 3, 32, 32)
    grads = []
    for saves in (False, True):
        model = small_densenet(memory_efficient=saves)
        model(images).pow(2).sum().backward()
        grads.append([one.grad for one in model.parameters()])
    assert all(ebb.equal(one, other) for one, other in zip(*grads, strict=True))


def test_a_densenet_without_blocks_is_refused():
    with pytest.raises(ValueError, match="DenseNet: needs a growth_rate of at least 1 and a block"):
        models.DenseNet(block_config=())


def test_layers_of_vgg_are_made_from_a_list():
    made = make_layers([4, "M", 8], batch_norm=True)
    assert [type(one).__name__ for one in made] == [
        "Conv2d", "BatchNorm2d", "ReLU", "MaxPool2d", "Conv2d", "BatchNorm2d", "ReLU"]  # fmt: skip
    assert made(ebb.zeros(1, 3, 4, 4)).shape == (1, 8, 2, 2)
