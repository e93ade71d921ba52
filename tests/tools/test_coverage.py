# tests/tools/test_coverage.py -- how counts become a page, and which branches need a reason.
from tools.coverage import cpp, page
from tools.coverage.counts import Branch, FileCounts, by_room, room_of

ENGINE = "ebb/autograd/engine/run.cpp"


def counts(*branches, lines=4, run=3):
    made = FileCounts(lines, run)
    for line, text, outcome, taken in branches:
        made.add(Branch(line, text, outcome), taken)
    return made


def test_a_branch_is_taken_if_any_instance_takes_it():
    entry = {
        "summary": {"lines": {"count": 2, "covered": 1}},
        "branches": [[1, 5, 1, 10, 3, 0, 0, 0, 4], [1, 5, 1, 10, 0, 0, 1, 0, 4]],
    }
    found = cpp.counts_of(entry, ["if (a < b) return;"])
    assert found.branches == {
        Branch(1, "a < b", "true", 5): True,
        Branch(1, "a < b", "false", 5): False,
    }
    assert [one.outcome for one in found.missing()] == ["false"]


def test_what_the_compiler_decides_is_no_branch():
    assert cpp.is_constant("true", "  while (")
    assert cpp.is_constant("kSize < 2", "  if constexpr (")
    assert not cpp.is_constant("size < 2", "  if constexpr (kSmall) run(); if (")


def test_a_condition_of_several_lines_reads_as_one():
    assert cpp.between(["if (a &&", "    b) {"], 1, 5, 2, 6) == "a && b"


def test_a_room_is_a_folder_and_what_is_generated_has_its_own():
    assert room_of(ENGINE) == "ebb/autograd/engine"
    assert room_of("build/coverage/generated/ebb/ops/math.cpp") == "generated ebb/ops"
    files = {ENGINE: counts((1, "a", "true", True)), "ebb/autograd/engine/lane.h": counts()}
    sums = by_room(files)["ebb/autograd/engine"]
    assert (sums.lines, sums.lines_run, sums.branches, sums.taken) == (8, 6, 1, 1)


def test_a_hundred_percent_means_all():
    assert page.percent(9999, 10000) == "99.9 %" and page.percent(3, 3) == "100 %"
    assert page.percent(0, 0) == "-"


def test_only_branches_of_rooms_that_shall_have_none_need_a_reason():
    files = {
        ENGINE: counts((7, "a", "false", False)),
        "ebb/nn/init.cpp": counts((1, "b", "true", False)),
    }
    missed = page.missing(files)
    assert [(path, one.line) for path, one in missed] == [(ENGINE, 7)]
    reason = page.Reason(ENGINE, "a", "false", "only a full memory does")
    assert not page.without_reason(missed, [reason])
    assert page.without_reason(missed, []) == missed


def test_a_reason_that_is_not_needed_is_told():
    reason = page.Reason(ENGINE, "a", "false", "only a full memory does")
    files = {ENGINE: counts((7, "a", "false", True))}
    assert page.outdated(page.missing(files), [reason]) == [reason]


def test_the_page_has_a_row_for_each_room_and_lists_what_misses():
    files = {ENGINE: counts((7, "a || b", "false", False), (7, "a || b", "true", True))}
    text = page.page(files, {"python/ebb/hub.py": counts()}, [])
    assert "| `ebb/autograd/engine` | 4 | 75 % | 2 | 50 % |" in text
    assert "| `python/ebb` | 4 | 75 % | 0 | - |" in text
    assert f"| `{ENGINE}:7` | `a \\|\\| b` | false | **no reason yet** |" in text


def test_every_reason_names_a_file_and_says_why():
    for reason in page.load_reasons():
        assert page.is_whole(reason.path) and len(reason.why) > 20
