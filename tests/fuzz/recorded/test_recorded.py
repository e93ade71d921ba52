# tests/fuzz/recorded/test_recorded.py -- ebb against PyTorch's recorded answers to random cases.
#
# recorded_*.json holds what PyTorch answered to the cases of the fixed seed; record.py writes it,
# in an environment that has PyTorch, and compares as many fresh cases as it is told to. A change of
# a generator needs a new record.
import json

import pytest

import ebb
from tests.fuzz.recorded import record

STEP = 25  # cases in one test


def answers(name):
    return json.loads(record.path_of(name).read_text())["answers"]


@pytest.mark.parametrize("first", range(0, record.COUNTS["index"], STEP))
def test_index_expressions_do_what_they_do_in_pytorch(first):
    check("index", first)


@pytest.mark.parametrize("first", range(0, record.COUNTS["schedules"], STEP))
def test_schedules_give_the_rates_that_they_give_in_pytorch(first):
    check("schedules", first)


def check(name, first):
    fuzzer, recorded = record.FUZZERS[name], answers(name)
    assert len(recorded) == record.COUNTS[name]
    for number in range(first, min(first + STEP, len(recorded))):
        case, wanted = record.recorded_case(name, number), recorded[number]
        got = json.loads(json.dumps(fuzzer.run(ebb, case)))
        is_same = fuzzer.agree(got, wanted) or fuzzer.is_named_difference(got, wanted, case)
        assert is_same, f"case {number}: {case}\nebb     {got}\nPyTorch {wanted}"


def test_a_wrong_rate_is_seen():
    fuzzer = record.FUZZERS["schedules"]
    seen = 0
    for number, answer in enumerate(answers("schedules")):
        case = record.recorded_case("schedules", number)
        wrong = [["9.5"] * len(answer[0]), *answer[1:]]
        is_seen = not fuzzer.agree(wrong, answer)
        seen += is_seen and not fuzzer.is_named_difference(wrong, answer, case)
    assert seen > 0.8 * record.COUNTS["schedules"]


def test_a_wrong_answer_is_seen():
    fuzzer = record.FUZZERS["index"]
    seen = 0
    for number, answer in enumerate(answers("index")):
        if answer[0] == "refused":
            continue
        wrong = [answer[0], answer[1], answer[2] + 1, *answer[3:]]
        case = record.recorded_case("index", number)
        seen += not fuzzer.agree(wrong, answer) and not fuzzer.is_named_difference(
            wrong, answer, case
        )
    assert seen > record.COUNTS["index"] // 2
