# satellites/torch/tests/test_classes.py -- classes beside PyTorch's: name, bases, public
# attributes.
#
# reference_classes.json has PyTorch's, written by reference_classes.py. What differs stands below
# with its reason; an entry that no longer differs fails.
import importlib
import json
from pathlib import Path

import pytest

from satellites.torch.tests.reference_classes import attributes_of, made_arguments
from tests.cases import each_of

TABLE = json.loads(Path(__file__).with_name("reference_classes.json").read_text())

# Not there.
ABSENT = {
    "nn.Container": "PyTorch warns of it: a Module",
    "nn.utils.rnn.PackedSequence_": "the named tuple below PackedSequence",
}
# By another name: one class for two of PyTorch's, or ebb's documented name of it.
RENAMED = {
    "nn.NLLLoss2d": "NLLLoss",
    "nn.modules.linear.NonDynamicallyQuantizableLinear": "Linear",
}
# Bases that it lacks.
BASES = {
    "nn.utils.rnn.PackedSequence": "its fields are attributes, and it is no tuple",
    "autograd.function.Function": "no object of it is made: ctx is of a class of its own",
    "autograd.function.InplaceFunction": "the same",
    "distributions.ContinuousBernoulli": "its entropy is a formula of its own",
    "distributions.Gumbel": "computed at once, and exact in its tails: no transform of another",
    "distributions.HalfCauchy": "computed at once",
    "distributions.HalfNormal": "computed at once",
    "distributions.InverseGamma": "computed at once",
    "distributions.Kumaraswamy": "computed at once",
    "distributions.Pareto": "computed at once",
    "distributions.Weibull": "computed at once",
    "distributions.Wishart": "its entropy is a formula of its own",
}
# Public attributes that PyTorch does not document, or whose part is elsewhere in ebb.
ATTRIBUTES = {
    "nn.DataParallel": "gather parallel_apply replicate scatter",
    "nn.Module": "T_destination",
    "nn.MultiheadAttention": "merge_masks",
    "nn.TransformerEncoderLayer": "activation_relu_or_gelu",
    "nn.Upsample": "name",
    "nn.UpsamplingBilinear2d": "name",
    "nn.UpsamplingNearest2d": "name",
    "nn.parameter.UninitializedTensorMixin": "materialize shape share_memory_",
    "nn.utils.rnn.PackedSequence": "cuda",
    "optim.Adagrad": "share_memory",
    "optim.Optimizer": "OptimizerPostHook OptimizerPreHook profile_hook_step",
    "optim.lr_scheduler.CyclicLR": "base_momentums max_momentums use_beta1",
    "optim.lr_scheduler.ReduceLROnPlateau": "mode_worse",
    "optim.lr_scheduler.SequentialLR": "recursive_undo",
    "optim.swa_utils.SWALR": "anneal_func",
    "distributions.CatTransform": "length",
    "distributions.GeneralizedPareto": "log_cdf log_survival_function",
    "distributions.Gumbel": "base_dist transforms",
    "distributions.HalfCauchy": "base_dist transforms",
    "distributions.HalfNormal": "base_dist transforms",
    "distributions.InverseGamma": "base_dist transforms",
    "distributions.Kumaraswamy": "base_dist transforms",
    "distributions.Pareto": "base_dist transforms",
    "distributions.Weibull": "base_dist concentration_reciprocal transforms",
    "utils.data.ConcatDataset": "cummulative_sizes",
    "utils.data.DataLoader": "check_worker_number_rationality",
    "autograd.function.FunctionCtx": "input_grad_buffers mark_shared_storage set_output_grad_dtype",
    "autograd.graph.GradientEdge": "ownership_token",
}
# Made with other arguments only: what PyTorch lets pass is refused.
REFUSED = {
    "nn.modules.padding._ConstantPadNd": "keeps nothing itself; its subclasses keep the value",
    "nn.modules.pooling._MaxUnpoolNd": "needs the size of windows",
    "nn.RNNCellBase": "its fourth argument is no number of chunks",
    "nn.utils.rnn.PackedSequence": "data and sizes of batches are tensors",
    "distributions.ComposeTransform": "parts are a sequence",
    "distributions.ContinuousBernoulli": "probs are from 0 to 1",
    "utils.data.TensorDataset": "needs a tensor",
}


def find(place):
    room, _, name = f"torch.{place}".rpartition(".")
    return getattr(importlib.import_module(room), name, None)


PRESENT = {place: TABLE[place] for place in TABLE if place not in ABSENT}


def object_of(place):
    import torch

    given = PRESENT[place].get("made_with")
    if given is None or place in REFUSED:
        return None
    return find(place)(*made_arguments(given, torch))


@each_of(PRESENT)
def test_a_class_has_pytorchs_name(place):
    assert find(place).__name__ == RENAMED.get(place, PRESENT[place]["name"])


@each_of(PRESENT)
def test_a_class_has_pytorchs_bases(place):
    bases = [base for base in PRESENT[place]["bases"] if base not in ABSENT]
    lacking = [base for base in bases if not issubclass(find(place), find(base))]
    if place in BASES:
        assert lacking or set(bases) != set(PRESENT[place]["bases"])
    else:
        assert lacking == []


@each_of(PRESENT)
def test_a_class_and_its_objects_have_pytorchs_public_attributes(place):
    cls, made = find(place), object_of(place)
    wanted = set(PRESENT[place]["attributes"])
    wanted |= set(PRESENT[place]["own"]) if made is not None else set()
    lacking = {name for name in wanted if not hasattr(cls, name) and not hasattr(made, name)}
    assert lacking == set(ATTRIBUTES.get(place, "").split())


@each_of(REFUSED)
def test_what_makes_no_object_is_refused(place):
    import torch

    with pytest.raises((TypeError, ValueError, RuntimeError)):
        find(place)(*made_arguments(PRESENT[place]["made_with"], torch))


@pytest.mark.parametrize("listed", [ABSENT, RENAMED, BASES, ATTRIBUTES, REFUSED])
def test_every_difference_is_one_of_a_class_of_the_table(listed):
    assert set(listed) <= set(TABLE)
    assert all(find(place) is None for place in ABSENT)


def test_objects_are_recorded_with_what_they_hold(torch):
    assert attributes_of(torch.nn.Linear(1, 1)) == ["bias", "in_features", "out_features",
                                                    "training", "weight"]  # fmt: skip
