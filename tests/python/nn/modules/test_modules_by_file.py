# tests/python/nn/modules/test_modules_by_file.py -- ebb.nn.modules and ebb.utils.data as programs
# import from PyTorch's files.
import importlib
import sys

import pytest

import ebb
from ebb import nn

FILES = {
    "nn.modules.batchnorm": "_BatchNorm _NormBase BatchNorm2d SyncBatchNorm",
    "nn.modules.conv": "_ConvNd _ConvTransposeNd Conv2d _pair _single",
    "nn.modules.dropout": "_DropoutNd Dropout",
    "nn.modules.instancenorm": "_InstanceNorm InstanceNorm1d",
    "nn.modules.linear": "Linear NonDynamicallyQuantizableLinear",
    "nn.modules.loss": "_Loss _WeightedLoss CrossEntropyLoss",
    "nn.modules.module": "Module _IncompatibleKeys",
    "nn.modules.padding": "_ReflectionPadNd ZeroPad2d _pair",
    "nn.modules.pooling": "_MaxPoolNd _AvgPoolNd MaxPool2d MaxUnpool1d",
    "nn.modules.rnn": "RNNBase LSTM RNNCellBase",
    "nn.modules.utils": "_ntuple _pair _reverse_repeat_tuple _list_with_default",
    "nn.modules.container": "Sequential ModuleList ParameterDict",
    "utils.data.dataloader": "DataLoader default_collate _BaseDataLoaderIter",
    "utils.data.dataset": "Dataset IterableDataset random_split",
    "utils.data.sampler": "Sampler WeightedRandomSampler",
    "utils.data.distributed": "DistributedSampler",
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_pytorchs_has_what_programs_import_from_it(file):
    module = importlib.import_module(f"ebb.{file}")
    for name in FILES[file].split():
        assert hasattr(module, name), name


def test_classes_are_the_same_by_every_name():
    from ebb.nn.modules.loss import MSELoss
    from ebb.utils.data.dataset import Dataset

    assert MSELoss is nn.MSELoss and nn.modules.Conv2d is nn.Conv2d
    assert Dataset is ebb.data.Dataset
    assert sys.modules["ebb.utils.data.dataset"] is ebb.data.dataset
    assert ebb.data.dataset.__spec__.name == "ebb.data.dataset"


def test_a_file_offers_its_public_classes():
    from ebb.nn.modules import loss, pooling

    assert {"MSELoss", "NLLLoss"} <= set(loss.__all__) and "MaxPool1d" in pooling.__all__
    assert not {"Linear", "_Loss"} & set(loss.__all__)
    assert "MSELoss" in dir(loss)


@pytest.mark.parametrize("name", ["ebb.nn.modules.nowhere", "ebb.utils.data.nowhere"])
def test_a_file_that_pytorch_has_not_is_missing(name):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nn.modules.loss.nothing


def test_bases_keep_what_they_are_given():
    from ebb.nn.modules.pooling import _AdaptiveMaxPoolNd, _LPPoolNd, _MaxPoolNd

    assert _MaxPoolNd(3).stride == 3 and _MaxPoolNd(3, 2, ceil_mode=True).ceil_mode
    assert _LPPoolNd(1.5, 2).norm_type == 1.5 and _AdaptiveMaxPoolNd(2).output_size == 2


def test_bounds_of_relu6_and_names_of_upsampling_are_those_of_their_bases():
    assert isinstance(nn.ReLU6(), nn.Hardtanh) and nn.ReLU6().max_val == 6.0
    layer = nn.UpsamplingBilinear2d(scale_factor=2)
    assert isinstance(layer, nn.Upsample) and layer.align_corners is True
    assert repr(layer) == "UpsamplingBilinear2d(scale_factor=2, mode='bilinear')"
