# tests/fuzz/test_drawing.py -- what fuzzers draw is shrunk to the smallest that fails, and kept.
import random

import pytest

from tests.fuzz import drawing, seeds
from tests.fuzz.recorded import index_expressions, schedules


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(drawing, "KEPT", tmp_path)


def numbers(rng):
    return [rng.randint(0, 99) for _ in range(rng.randint(0, 20))]


def refuse_large(blob):
    drawn = numbers(drawing.Draws(blob))
    assert all(number < 50 for number in drawn), drawn


def test_a_failure_is_the_smallest_case_that_fails():
    with pytest.raises(AssertionError, match=r"^\[50\]"):
        drawing.try_all("numbers", refuse_large, drawing.sample("numbers", 100))


def test_what_failed_is_tried_first_in_the_next_run():
    with pytest.raises(AssertionError):
        drawing.try_all("numbers", refuse_large, drawing.sample("numbers", 100))
    with pytest.raises(AssertionError, match=r"^\[50\]"):
        drawing.try_all("numbers", refuse_large, [])
    drawing.try_all("others", refuse_large, [])


def test_what_a_failure_shrinks_to_is_that_of_the_first_case_that_failed():
    def refuse_long(blob):
        assert len(numbers(drawing.Draws(blob))) < 3

    blob = next(
        one for one in drawing.sample("numbers", 100) if len(numbers(drawing.Draws(one))) > 3
    )
    smallest = drawing.shrink(refuse_long, blob)
    assert len(smallest) < 8 and len(numbers(drawing.Draws(smallest))) == 3


def test_a_check_that_fails_only_once_keeps_its_case():
    times = []

    def fail_once(blob):
        times.append(blob)
        assert len(times) > 1

    with pytest.raises(AssertionError):
        drawing.try_all("once", fail_once, [b"\1\2"])
    assert [path.read_bytes() for path in drawing.remembered("once")] == [b"\1\2"]


def test_a_case_that_passes_by_now_is_forgotten():
    with pytest.raises(AssertionError):
        drawing.try_all("numbers", refuse_large, drawing.sample("numbers", 100))
    drawing.try_all("numbers", lambda blob: None, [])
    assert not drawing.remembered("numbers")


def test_a_blob_gives_all_that_a_generator_gives_and_zeros_after_its_end():
    draws = drawing.Draws(random.Random(1).randbytes(4000))
    picked = {draws.choice("abc") for _ in range(100)}
    assert picked == set("abc") and sorted(draws.sample(range(9), 9)) == list(range(9))
    assert 0 <= draws.random() < 1
    ended = drawing.Draws(b"")
    assert (ended.choice("abc"), ended.randint(-2, 5), ended.random()) == ("a", -2, 0.0)


@pytest.mark.parametrize("fuzzer", [index_expressions, schedules])
def test_any_blob_is_a_case_of_a_peer_fuzzer(fuzzer):
    for size in (0, 1, 7, 60, 1500):
        assert fuzzer.draw(drawing.Draws(drawing.blob_of(seeds.fixed(size), size)))
