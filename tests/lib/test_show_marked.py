"""Two tellings as one: nothing changes without its mark, and what did not change folds."""

from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.show import marked as marking
from thoughtkeep.show.blocks import Block
from thoughtkeep.show.marked import marked


def said(who: str, *lines: str) -> Block:
    return Block(who, lines)


def rule(who: str) -> str:
    return f"\u2500\u2500 {who} ".ljust(64, "\u2500")


def test_a_telling_that_did_not_change_has_no_marks() -> None:
    blocks = [said("user", "a"), said("assistant", "b")]
    assert marked(blocks, blocks) == [f"  {rule('user')}", "  a", f"  {rule('assistant')}", "  b"]


def test_a_changed_block_is_told_line_by_line() -> None:
    before = [said("user", "a"), said("assistant", "one", "two", "three")]
    after = [said("user", "a"), said("assistant (made by x)", "one", "new", "three")]
    assert marked(before, after)[2:] == [f"  {rule('assistant (made by x)')}", "  one", "- two", "+ new", "  three"]


def test_history_that_is_gone_is_told_in_short_and_the_words_that_stay_are_not_marked() -> None:
    history = [said("user" if n % 2 else "assistant", f"turn {n}", "more") for n in range(30)]
    before = [said("system", "s"), *history, said("user", "go on")]
    after = [said("system", "s"), said("user", "[handover summary]", "what happened", "go on")]
    lines = marked(before, after)
    assert lines[2] == "- assistant: turn 0"
    assert lines[14] == "- \u2026 and 18 more messages \u2026"
    assert lines[15:] == [f"  {rule('user')}", "+ [handover summary]", "+ what happened", "  go on"]


def test_a_block_that_is_put_in_is_marked_whole() -> None:
    before = [said("user", "a"), said("user", "b")]
    after = [said("user", "a"), said("assistant", "new"), said("user", "b")]
    assert marked(before, after)[2:4] == [f"+ {rule('assistant')}", "+ new"]


def test_a_block_that_is_taken_out_is_told_where_it_stood() -> None:
    before = [said("user", "a"), said("assistant", "", "gone"), said("user", "b")]
    after = [said("user", "a"), said("user", "b")]
    assert marked(before, after)[2] == "- assistant: gone"
    assert marked([said("assistant")], []) == ["- assistant: (nothing)"]
    assert marked([said("user", "x" * 200)], []) == [f"- user: {'x' * 90}\u2026"]


def test_a_block_without_a_line_in_common_is_the_same_one_where_it_stands_alike() -> None:
    before = [said("user", "a"), said("assistant", "old"), said("user", "b")]
    after = [said("user", "a"), said("assistant", "new"), said("user", "b")]
    assert marked(before, after)[2:5] == [f"  {rule('assistant')}", "- old", "+ new"]


def test_another_speaker_is_no_change_of_the_same_block() -> None:
    lines = marked([said("user", "a", "x")], [said("assistant", "a", "x")])
    assert lines == [f"+ {rule('assistant')}", "+ a", "+ x", "- user: a"]


def test_the_middle_of_what_did_not_change_folds() -> None:
    blocks = [said("user", str(n)) for n in range(100)]
    lines = marked(blocks, blocks)
    assert lines[8] == "  \u2026 56 messages folded \u2026"
    assert len(lines) == 2 * 44 + 1
    assert len(marked(blocks[:45], blocks[:45])) == 90


def test_what_stands_between_two_changes_folds_to_its_ends() -> None:
    same = [said("user", str(n)) for n in range(20)]
    before = [said("assistant", "a"), *same, said("assistant", "b")]
    after = [said("assistant", "A"), *same, said("assistant", "B")]
    lines = marked(before, after)
    assert lines[3:8] == [f"  {rule('user')}", "  0", "  \u2026 18 messages folded \u2026", f"  {rule('user')}", "  19"]


def test_a_difference_too_large_to_be_searched_is_told_as_a_whole() -> None:
    count = marking._SEARCHED + 1
    before, after = ([said("user", f"{side} {n}") for n in range(count)] for side in "ab")
    lines = marked(before, after)
    assert sum(line.startswith("+ b") for line in lines) + sum(line.startswith("+ ") for line in lines) >= count


def test_a_long_line_goes_on_below_itself_behind_the_same_mark() -> None:
    words = "word " * 60
    lines = marked([], [said("user", "  " + words.strip())])
    assert all(line.startswith("+ ") and len(line) <= 2 + marking.COLUMNS for line in lines)
    assert lines[1].startswith("+   word")
    assert lines[2].startswith("+     word")
    assert "".join(lines[1:]).count("word") == 60


blocks = st.lists(
    st.builds(
        lambda who, lines: Block(who, tuple(lines)),
        st.sampled_from(["user", "assistant"]),
        st.lists(st.sampled_from("abc"), max_size=3),
    ),
    max_size=4,  # a longer run that did not change would fold
)


@given(blocks, blocks)
def test_what_comes_out_without_the_gone_lines_is_the_new_telling(before: list[Block], after: list[Block]) -> None:
    lines = [line[2:] for line in marked(before, after) if not line.startswith("- ")]
    assert lines == [line for block in after for line in (rule(block.heading), *block.lines)]


@given(blocks, blocks)
def test_there_is_a_mark_exactly_where_something_changed(before: list[Block], after: list[Block]) -> None:
    told = marked(before, after)
    assert any(not line.startswith("  ") for line in told) == (before != after)
