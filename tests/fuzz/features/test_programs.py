# tests/fuzz/features/test_programs.py -- programs of features do what the plain program does.
#
# programs.py says how programs are drawn and compared. That the comparison sees faults is
# tested by planting some: each is a feature that promises one thing and does another.
from unittest import mock

import pytest

import ebb
from tests.fuzz import seeds
from tests.fuzz.features import programs
from tests.fuzz.features.draws import STEPS
from tests.python.threads import on_threads

SAMPLE, BATCH, LONG_BATCHES = 2000, 2000, 50
FINDS = 600  # programs in which each planted fault must show


def test_programs_of_features_do_what_the_plain_program_does():
    used = set()
    programs.hunt(seeds.FIXED, SAMPLE, ebb, lambda program: used.update(program.used))
    assert used >= {function.__name__ for function in STEPS.values()} - {"nothing"}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_programs_of_features_do_what_the_plain_program_does():
    first = seeds.fresh_seed()
    for seed in range(first, first + LONG_BATCHES):
        programs.hunt(seed, BATCH, ebb)


def planted(owner, name, replacement):
    return lambda: mock.patch.object(owner, name, replacement)


REAL_HOOKS = ebb.autograd.graph.saved_tensors_hooks
FAULTS = {
    "a hook of a tensor that is never called": planted(
        ebb.Tensor, "register_hook", lambda self, hook: mock.Mock()
    ),
    "a gradient that is not retained": planted(ebb.Tensor, "retain_grad", lambda self: None),
    "a detach that copies": planted(ebb.Tensor, "detach", lambda self: self.data.clone()),
    "a mode that does not end with its block": planted(
        ebb.no_grad, "__exit__", lambda self, *error: None
    ),
    "saved values that are packed as zeros": planted(
        ebb.autograd.graph,
        "saved_tensors_hooks",
        lambda pack, unpack: REAL_HOOKS(lambda saved: saved.clone() * 0, lambda saved: saved),
    ),
    "a checkpoint that detaches what it is given": planted(
        ebb.utils.checkpoint,
        "checkpoint",
        lambda function, *tensors, **options: function(*(one.detach() for one in tensors)),
    ),
    "a deep copy that shares memory": planted(ebb.Tensor, "__deepcopy__", lambda self, memo: self),
    "an optimizer that forgets its state": planted(
        ebb.optim.SGD, "load_state_dict", lambda self, state: None
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_programs_find_a_planted_fault(fault):
    def find():
        with FAULTS[fault](), pytest.raises(AssertionError):
            programs.hunt(seeds.FIXED, FINDS, ebb, phases=[programs.GENERATE])

    on_threads(find)  # whose modes a fault may leave changed
