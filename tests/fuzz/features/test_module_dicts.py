# tests/fuzz/features/test_module_dicts.py -- modules agree with the model of module_dicts.py,
# whatever their class defines of attribute access.
import hypothesis
import pytest
from hypothesis import strategies

import ebb
from ebb import nn
from tests.fuzz.features import module_dicts


class Asks(nn.Module):
    """Defines __getattr__, as wrappers of other modules do."""

    def __getattr__(self, name):
        return super().__getattr__(name)


class Sets(nn.Module):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)

    def __delattr__(self, name):
        super().__delattr__(name)


class Reads(nn.Module):
    def __getattribute__(self, name):
        return super().__getattribute__(name)


class WithDefault(nn.Module):
    """Has a plain value of the class behind what its modules have."""

    weight = None


CLASSES = (nn.Module, Asks, Sets, Reads, WithDefault)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_module_holds_what_its_dicts_hold(cls):
    @hypothesis.settings(max_examples=200, derandomize=True, deadline=None, database=None)
    @hypothesis.given(
        strategies.lists(strategies.integers(0, len(module_dicts.STEPS) - 1), max_size=12),
        strategies.integers(0, 2**32),
    )
    def trial(steps, seed):
        module_dicts.run(cls, ebb, steps, seed)

    trial()


def test_the_model_finds_a_part_that_is_read_from_the_wrong_place():
    class Wrong(nn.Module):
        def __getattr__(self, name):
            return self._buffers[name] if name in self._buffers else super().__getattr__(name)

    with pytest.raises(AssertionError):
        for seed in range(400):
            steps = [module_dicts.STEPS.index(module_dicts.Trial.write)] * 8
            module_dicts.run(Wrong, ebb, steps, seed)
