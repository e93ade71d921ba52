# tests/python/nn/test_older_pickles.py -- modules as pickles of ebb before 0.2 hold them: parts
# among the attributes, hooks in objects. PICKLE was written then, of the module that the first test
# below describes; the names in it are those of this file.
import base64
import copy
import pickle
import zlib

import pytest

import ebb
from ebb import nn

CALLED = []


def before(module, args, kwargs):
    CALLED.append("before")


def after(module, args, output):
    CALLED.append("after")


def backward(module, grad_input, grad_output):
    CALLED.append("backward")


def saving(module, prefix, keep_vars):
    CALLED.append("saving")


def loading(state_dict, prefix, *rest):
    CALLED.append("loading")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 1)
        self.gone = None
        self.scale = nn.Parameter(ebb.ones(1))
        self.register_parameter("none", None)
        self.register_buffer("kept", ebb.ones(1))
        self.register_buffer("scratch", ebb.ones(2), persistent=False)
        self.tag = "a"

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


# End of what the pickle names.
PICKLE = """
eNqNVk2II0UU7kySzmQmszPuouJJ8CBZxfh/cBEmMCLr9BqWURkvS1OdruS16VTHruoZAg6OQsYJFM7K1ILsaRcRcQ9e9ah4
1atnDy6CCILiWV9VdzqT+dMeKvSrrve9V/W+79Xslm5drVrmkY8JygVvDIYCItZgrKFtNwp9GruDoN0LKVey2KJCHarLH6gd
VZeLbky7ARc0pr6ZqA5ITPoUJ4xZ5m0SUiUvUc9ruIIyHsUN/AyRj1jz6O0lQegjYF2u6DUYdYogq9fz90MlH2JJfzBsuO0o
po1+EoqAxDEZKllDnHbEuIiTtk5Ols1KJSvMT5ccKscaqbWCpz5SG6ruFJzCSMElWfbFcEC1y1znBTXeT78WZeFl1Wq11v/B
x/w4llDeeK1kWburCl9lEZNF/E4YEfH8cwiwv4PzG0qWWMSoaiXS9pJOJzuGUo8OhIJaPfOz3zQngW5wER7UqcHDRxN71IT6
tqlDwePjDLrC2zERbdBA8MxJz7nUc96yfm7qMeONCfUjP8FimLp0gpgLJZeyMw/JkMZYEftawCiJ8wJDWf9UzB68gHATevm8
0M2mHmnoyZnMb9OgC8LtnunuFPZSgL9KLzb1OB1g62yAuRRgBYncPDpmgBJ4ckfBKzt4GguuiAnjAWVCHWAEtAIWsK4ay8WA
uR1KRBIj4Z05WYsScXQCWrCJ3A24i1QVah/eBgIe9KSdpnlmffIkkVGrR0eepFzSsH3iU5cwuq32udm/7UIU9bA+taxembn4
uinpVWPlorQ92kGJ4LtjyUcyj0QEITd+1HdZFPfRfWHT5NtCa+pdYqg4BUIW/aCvEWwgzNcifsCI2COcNtIphFjeoP1oi3iY
RLoqZ877sCcrLgrRQxEgzJK7DZShUnE9NgtZ7SSsLaIoRJSKPsiAhFoQu+iF6XdNmxnpo4PbsD5CzBaeUoJ/4z3FZZl00iYj
lz3S7m2T2HfzfcsL+Vy+rEbCbTLk2cSB0kjS5rpx+ApeO8H3xYxzURycydvCpKJI/N2mHrO8rWrNnI+Qq/3OKVSdZtEnvHcW
r45moZ/d1dm+kWZxLkKexTHfxIgF2IGCwRjeRe7HTgH4PnwFX8P38AOI/5vTdHfwXspqZMiH2amPdrSTvDjD1UGcYCdFNlzX
L/6UWRLJaaeXiIL7ckV/R+WuRUyghmnevVCjk6vmBrrdlxeuPftWdksk8RRR2qQfJdgHnAL34E8zB387Fvco2h/DJzmjfwFc
A7fgU7g9Yea9Y8zEI/o1z7MFv8HvKd4fN9QMNDkFeu586ATuovdnOD7H8YWmMHwD38GP8BNG+q/K3jlZAcQ1ta3DlZu6vq/C
OnwJ92Spa+4wqMJleKIFT8FLcAXWZFGQrpIFcqxyThEsGOENiLLUGToltO8eKi3TSbZOGSw5PxGlyj7iFupO6SbqsOZyQQSd
tLkJEWYmF97Q1rFet5Rq3uVkSzdvjGRjJDszD7FR1IzgpwuwN6QueHX7mU/lnacL+A/QBXczQL4kIm2rOT9KOgOFuJWJDwJ7
XC6l0FMgXajGv4EFqfo=
"""


@pytest.fixture
def net():
    CALLED.clear()
    return pickle.loads(zlib.decompress(base64.b64decode(PICKLE)))


def test_nothing_is_lost_of_an_older_module(net):
    assert list(net._parameters) == ["scale", "none"] and net.none is None
    assert list(net._buffers) == ["kept", "scratch"] and list(net._modules) == ["first", "second"]
    assert net.tag == "a" and net.gone is None and not net.training
    assert net._non_persistent_buffers_set == {"scratch"}
    assert not {"_registered", "_transient", "_hooks", "_state_hooks", "first"} & {*vars(net)}
    assert list(net.state_dict()) == [
        "scale",
        "kept",
        "first.bias",
        "first.weight_g",
        "first.weight_v",
        "second.weight_orig",
        "second.bias_orig",
        "second.weight_mask",
        "second.bias_mask",
    ]
    sums = [round(value.sum().item(), 4) for value in net.state_dict().values()]
    assert sums == [1.0, 6.0, 6.0, 5.6569, 8.0, 8.0, 5.0, 1.0, 1.0]


def test_an_older_module_computes_what_it_did_and_calls_its_hooks(net):
    x = ebb.ones(1, 2, requires_grad=True)
    out = net(x)
    out.sum().backward()
    assert out.tolist() == [[33.0]]
    net.load_state_dict(net.state_dict())
    assert CALLED == ["before", "after", "backward", "saving", "loading"]
    with pytest.raises(ebb.errors.ShapeError):
        net(ebb.ones(1, 3))
    assert CALLED[-2:] == ["before", "after"]  # always called


def test_what_hooks_compute_in_an_older_module_is_removed_as_ever(net):
    nn.utils.remove_weight_norm(net.first)
    assert nn.utils.prune.is_pruned(net)
    methods = [type(one) for one in net.second._forward_pre_hooks.values()]
    assert methods == [nn.utils.prune.PruningContainer, nn.utils.prune.L1Unstructured]
    nn.utils.prune.remove(net.second, "weight")
    nn.utils.prune.remove(net.second, "bias")
    assert not nn.utils.prune.is_pruned(net) and net(ebb.ones(1, 2)).tolist() == [[33.0]]
    assert sorted(name for name, _ in net.first.named_parameters()) == ["bias", "weight"]


def test_copies_and_new_pickles_of_an_older_module_are_as_new_ones(net):
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert list(vars(twin)) == list(vars(net))
        assert list(twin.state_dict()) == list(net.state_dict())


@pytest.mark.parametrize("name", [
    "layers.Linear", "layers.Bilinear", "layers.PReLU", "normalization.LayerNorm",
    "normalization.RMSNorm", "normalization.GroupNorm", "padding.ZeroPad2d",
    "upsampling.UpsamplingNearest2d", "upsampling.UpsamplingBilinear2d",
])  # fmt: skip
def test_classes_are_found_where_older_pickles_name_them(name):
    home, _, cls = name.partition(".")
    assert pickle.loads(f"cebb.nn.{home}\n{cls}\n.".encode()) is getattr(nn, cls)
