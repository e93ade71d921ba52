# tests/fuzz/hostile/test_private_calls.py -- no private function of ebb._C crashes on arguments of
# a wrong type: tools that walk a module call them, and so may anybody.
import subprocess
import sys

import pytest

import ebb

LONG = pytest.param("fresh", 2000, marks=pytest.mark.long)


@pytest.mark.parametrize(("seed", "draws"), [("fixed", 6), LONG])
def test_private_functions_refuse_wrong_types(seed, draws):
    command = [sys.executable, "-m", "tests.fuzz.hostile.private_calls", seed, str(draws)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "ended by a signal"


def test_what_asks_for_a_carried_history_refuses_what_is_no_tensor():
    with pytest.raises(TypeError, match="_is_carried: needs a Tensor, got type"):
        ebb._C._is_carried(type, 3)


def test_a_call_as_if_no_class_took_part_refuses_keywords_that_are_no_dict():
    with pytest.raises(TypeError, match="__torch_function__: needs a dict of keywords, got tuple"):
        ebb.nn.Parameter.__torch_function__(ebb.add, (), (), ())


def test_what_copies_a_result_out_refuses_one_that_is_no_tensor():
    with pytest.raises(TypeError, match=r"f\(\): needs a Tensor as result, got object"):
        ebb._C._copied_out("f", object(), ebb.ones(1))
