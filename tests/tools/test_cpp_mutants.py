# tests/tools/test_cpp_mutants.py -- where C++ sources are broken, and how the broken copies read.
import pytest

from tools.mutate import cpp_mutants, engine

BODY = """int last(const List& list, int depth) {
  %s
}
"""


def becomes(statement, kind=None):
    """What the mutants of a function's statement make of it."""
    found = cpp_mutants.find("file.cpp", BODY % statement)
    return {(one.was, one.becomes) for one in found if kind in (None, one.kind)}


@pytest.mark.parametrize(
    ("statement", "was", "wanted"),
    [
        ("return a < b;", "a < b", "a <= b"),
        ("return a + b < c * d;", "a + b < c * d", "a + b <= c * d"),
        ("return first == second && is_open(a, b);", "first == second", "first != second"),
        ("const int next = *at != 0 ? size - 1 : 0;", "*at != 0", "*at == 0"),
        ("f(a, b->c >= d[i + 1], e);", "b->c >= d[i + 1]", "b->c > d[i + 1]"),
    ],
)
def test_relations_are_broken_with_their_whole_operands(statement, was, wanted):
    assert becomes(statement, "relation") == {(was, wanted)}


def test_arithmetic_binds_as_in_the_language():
    assert becomes("return a - b + c * d;", "arithmetic") == {
        ("a - b", "a + b"),
        ("a - b + c * d", "a - b - c * d"),
        ("c * d", "c + d"),
    }


def test_logic_is_exchanged_and_loses_either_side():
    assert {other for _, other in becomes("return open && !full;", "logic")} == {
        "(open) || (!full)",
        "static_cast<bool>(open)",
        "static_cast<bool>(!full)",
    }


def test_numbers_are_off_by_one_and_truths_are_exchanged():
    assert becomes("return f(2u, true, x1, 0.5);", "constant") == {("2u", "3u"), ("true", "false")}


def test_conditions_are_inverted_but_those_of_loops():
    assert becomes("if (ready(a)) return;", "condition") == {("ready(a)", "!(ready(a))")}
    assert not becomes("while (ready(a)) wait();", "condition")
    assert becomes("return !list.empty();", "condition") == {("!list.empty()", "list.empty()")}


def test_calls_and_assignments_are_left_out_and_declarations_are_not():
    assert becomes("list.push(1);", "statement") == {("list.push(1);", "nothing")}
    assert becomes("state_ = next;", "statement") == {("state_ = next;", "nothing")}
    assert not becomes("const Tensor grad(list);", "statement")
    assert not becomes("return stop(list);", "statement")


def test_neighbours_change_places_only_inside_one_block():
    text = "open(a);\n  close(a);"
    assert becomes(text, "order") == {("open(a); close(a);", "close(a); open(a);")}
    assert not becomes("if (a) open(a);\n  close(a);", "order")


def test_what_the_compiler_must_know_stays():
    for constant in ("constexpr int kMost = 3;", "static_assert(a == 1);", "case 3: break;"):
        assert not becomes(constant)
    assert not cpp_mutants.find("file.h", "struct Few {\n  int most_ = 4;\n};\n")
    assert not becomes("if constexpr (kSize < 2) return;", "condition")


def test_a_broken_copy_holds_all_mutants_and_keeps_its_lines():
    text = BODY % "if (a < b) list.push(depth + 1);"
    found = dict(enumerate(cpp_mutants.find("file.cpp", text), start=1))
    copy = cpp_mutants.broken(text, found)
    assert copy.count("\n") == text.count("\n")
    assert all(f"EBB_MUTANT({number})" in copy for number in found)
    assert cpp_mutants.broken(text, {}) == text


def test_a_draw_changes_with_the_line_that_it_breaks_alone():
    text = BODY % "if (a < b) return;"
    moved = "// more\n" + BODY % "if (x) return;" + text
    key = next(one.key for one in cpp_mutants.find("file.cpp", text) if one.kind == "relation")
    assert key in {one.key for one in cpp_mutants.find("file.cpp", moved)}


def test_every_area_has_more_mutants_than_are_drawn():
    found = engine.candidates()
    drawn = engine.draw(found, engine.SEED)
    assert len(drawn) == 500 == sum(count for count, _ in engine.AREAS.values())
    assert {engine.area_of(one.path) for one in drawn.values()} == set(engine.AREAS)
    assert len({one.key for one in found}) == len(found)


def test_every_reason_names_a_mutant_that_there_is():
    known = {one.key for one in engine.candidates()}
    reasons = engine.read_reasons()
    assert set(reasons) <= known and all(reasons.values())
