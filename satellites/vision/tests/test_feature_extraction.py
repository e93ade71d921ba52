# satellites/vision/tests/test_feature_extraction.py -- what modules inside a network return.
import copy
import doctest
import sys

import pytest

import ebb
from ebb import nn
from ebb.vision import models
from ebb.vision.models.feature_extraction import create_feature_extractor, get_graph_node_names


class Twice(nn.Module):
    """Calls one module twice, and one never."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(ebb.tensor(2.0))
        self.register_buffer("shift", ebb.tensor(1.0))
        self.relu = nn.ReLU()
        self.body = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
        self.idle = nn.Identity()

    def forward(self, x):
        x = self.relu(x) * self.scale + self.shift
        return self.body(self.body(self.relu(-x)))


def test_examples_run():
    module = sys.modules[create_feature_extractor.__module__]
    assert doctest.testmod(module, extraglobs={"ebb": ebb}) == (0, 6)


def test_outputs_are_those_of_the_layers_themselves():
    model = models.resnet18(num_classes=3).eval()
    x = ebb.rand(1, 3, 32, 32)
    body = create_feature_extractor(model, {"layer2": "b", "layer1.0.relu": "a", "fc": "c"})
    found = body(x)
    low = model.maxpool(model.relu(model.bn1(model.conv1(x))))
    block = model.layer1[0]
    assert list(found) == ["a", "b", "c"]  # in the order of the run
    assert ebb.equal(found["b"], model.layer2(model.layer1(low)))
    assert ebb.equal(found["c"], model(x))
    assert ebb.equal(found["a"], block.bn1(block.conv1(low)).relu())
    again = create_feature_extractor(model, ["layer1.0.relu_1"])(x)["layer1.0.relu_1"]
    assert ebb.equal(again, block(low))
    found["b"].sum().backward()
    assert model.conv1.weight.grad is not None and model.fc.weight.grad is None


def test_an_extractor_shares_parts_names_and_mode():
    model = Twice()
    made = create_feature_extractor(model, ["relu", "relu_1", "body"])
    assert made.state_dict().keys() == model.state_dict().keys()
    assert made.body is model.body and made.scale is model.scale
    assert not made.eval().training and not model.training and not model.body[1].training
    found = made(ebb.tensor([[1.0, -1.0]]))
    assert found["relu"].tolist() == [[1, 0]] and found["relu_1"].tolist() == [[0, 0]]
    assert ebb.equal(found["body"], model(ebb.tensor([[1.0, -1.0]])))  # its last call
    assert not model.relu._forward_hooks


def test_copies_and_other_dtypes_compute_with_their_own_numbers():
    made = create_feature_extractor(Twice().eval(), ["relu_1"])
    other = copy.deepcopy(made).double()
    with ebb.no_grad():
        other.scale.fill_(-3)
    x = ebb.tensor([[1.0, -1.0]])
    assert other(x.double())["relu_1"].tolist() == [[2, 0]]
    assert other(x.double())["relu_1"].dtype == ebb.float64
    assert made(x)["relu_1"].tolist() == [[0, 0]]


def test_training_and_evaluation_may_return_others():
    made = create_feature_extractor(
        Twice(), train_return_nodes=["body.1"], eval_return_nodes={"body.0": "x"}
    )
    x = ebb.ones(1, 2)
    assert list(made(x)) == ["body.1"] and list(made.eval()(x)) == ["x"]


def test_names_are_those_of_modules_without_parts():
    names = get_graph_node_names(Twice())
    assert names[0] == names[1] == ["relu", "body.0", "body.1", "idle"]
    body = create_feature_extractor(models.resnet18(), get_graph_node_names(models.resnet18())[0])
    assert len(body.eval()(ebb.zeros(1, 3, 32, 32))) == 52


def test_what_is_no_module_or_is_not_called_is_told():
    model = Twice()
    for name in ("flatten", "relu_x", "", "add_1"):
        with pytest.raises(ValueError, match="create_feature_extractor: needs names of modules"):
            create_feature_extractor(model, [name])
    for options in ({}, {"train_return_nodes": ["relu"]},
                    {"return_nodes": ["relu"], "eval_return_nodes": ["relu"]}):  # fmt: skip
        with pytest.raises(ValueError, match="needs either 'return_nodes' or both"):
            create_feature_extractor(model, **options)
    for name, problem in {"idle": "call number 0 of 'idle', got 0", "relu_2": "got 2"}.items():
        with pytest.raises(ValueError, match=problem):
            create_feature_extractor(model, [name])(ebb.ones(1, 2))
    assert not model.relu._forward_hooks
