"""What changed between two bodies, as lines: every change, little else, and of what is opaque nothing."""

import copy
import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.show import opcodes
from thoughtkeep.show.difference import SPELLING, difference
from thoughtkeep.show.opcodes import Marks, blocks, mark, parts, same, stretches
from thoughtkeep.show.words import WIDTH, digest, fingerprint

SIGNATURE = "c2lnbmF0dXJl" * 10


def call(number: int, **more: Any) -> dict[str, Any]:
    """A call as chat completions have it."""
    function = {"name": f"tool_{number}", "arguments": f'{{"n": {number}}}'}
    return {"id": f"call_{number}", "type": "function", "function": function, **more}


def assistant(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def result(number: int) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": f"result {number}"}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def model(*content: dict[str, Any]) -> dict[str, Any]:
    """A message of Gemini's."""
    return {"role": "model", "parts": list(content)}


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def lines(before: Any, after: Any, limit: int = 400) -> list[str]:
    return difference(body(before), body(after), limit)


HI = user("Hi")
CALLED = {"functionCall": {"name": "f", "args": {"n": 1}}}
SPOKEN = {"text": "Well."}
HISTORY = [
    message for n in range(20) for message in (user(f"Question {n}?"), {"role": "assistant", "content": f"{n}."})
]

type Case = tuple[Any, Any, list[str]]

CHAT: dict[str, Case] = {
    "a state key on a call": (
        [HI, assistant(call(1), call(2)), result(1)],
        [HI, assistant(call(1), call(2, extra_content={"google": {"thought_signature": SIGNATURE}})), result(1)],
        [
            "@ messages[1].tool_calls[1]",
            "  type: function",
            "  id: call_2",
            "  function.name: tool_2",
            "+ extra_content:",
            "+   google:",
            f"+     thought_signature: {digest(SIGNATURE)}",
        ],
    ),
    "keys added to a message": (
        [HI, {"role": "assistant", "content": "Hello!\nHow are you?"}],
        [
            HI,
            {
                "role": "assistant",
                "content": "Hello!\nHow are you?",
                "reasoning": "Greet\nback.",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "Greet\nback.", "index": 0},
                    {"type": "reasoning.encrypted", "data": "abc", "index": 1},
                ],
            },
        ],
        [
            "@ messages[1]",
            "  role: assistant",
            "  content: Hello!",
            "+ reasoning: |",
            "+   Greet",
            "+   back.",
            "+ reasoning_details:",
            "+   - type: reasoning.text",
            "+     text: |",
            "+       Greet",
            "+       back.",
            "+     index: 0",
            "+   - type: reasoning.encrypted",
            f"+     data: {digest('abc')}",
            "+     index: 1",
        ],
    ),
    "a key taken out": (
        [HI, assistant(call(1), reasoning_content="So.", name="bot")],
        [HI, assistant(call(1), name="bot")],
        ["@ messages[1]", "  role: assistant", "  name: bot", "- reasoning_content: So."],
    ),
    "keys added to two places of one message": (
        [assistant(call(1))],
        [assistant(call(1, a=1), b=2)],
        [
            *("@ messages[0]", "  role: assistant", "+ b: 2"),
            *("@ messages[0].tool_calls[0]", "  type: function", "  id: call_1", "  function.name: tool_1", "+ a: 1"),
        ],
    ),
    "a batch regrouped": (
        [HI, assistant(call(1)), result(1), assistant(call(2)), result(2)],
        [HI, assistant(call(1), call(2)), result(1), result(2)],
        [
            "@ messages[1].tool_calls[1]",
            "+ id: call_2",
            "+ type: function",
            "+ function:",
            "+   name: tool_2",
            '+   arguments: {"n": 2}',
            "@ messages[3] (before)",
            "- role: assistant",
            "- content: null",
            "- tool_calls:",
            "-   - id: call_2",
            "-     type: function",
            "-     function:",
            "-       name: tool_2",
            '-       arguments: {"n": 2}',
        ],
    ),
    "content from a string to blocks": (
        [HI],
        [user([{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}])],
        [
            "@ messages[0]",
            "  role: user",
            "- content: Hi",
            "+ content:",
            "+   - type: text",
            "+     text: Hi",
            "+     cache_control:",
            "+       type: ephemeral",
        ],
    ),
    "an id made legal, in the call and in its result": (
        [assistant(call(1)), result(1)],
        [assistant(call(1, id="abcdefghi")), {**result(1), "tool_call_id": "abcdefghi"}],
        [
            "@ messages[0].tool_calls[0]",
            "  type: function",
            "  function.name: tool_1",
            "- id: call_1",
            "+ id: abcdefghi",
            "@ messages[1]",
            "  role: tool",
            "  content: result 1",
            "- tool_call_id: call_1",
            "+ tool_call_id: abcdefghi",
        ],
    ),
    "a message inserted, and one behind it changed": (
        [HI, assistant(call(1)), result(1), user("Go on.")],
        [HI, {"role": "system", "content": "Be good."}, assistant(call(1), reasoning=""), result(1), user("Go on.")],
        [
            *("@ messages[1]", "+ role: system", "+ content: Be good."),
            *("@ messages[2]", "  role: assistant", '+ reasoning: ""'),
        ],
    ),
    "one message in the place of another": (
        [HI, assistant(call(1))],
        [HI, result(1)],
        [
            "@ messages[1] (before)",
            "- role: assistant",
            "- content: null",
            "- tool_calls:",
            "-   - id: call_1",
            "-     type: function",
            "-     function:",
            "-       name: tool_1",
            '-       arguments: {"n": 1}',
            "@ messages[1]",
            "+ role: tool",
            "+ tool_call_id: call_1",
            "+ content: result 1",
        ],
    ),
    "a short history replaced by a summary, in front of the user's words": (
        [*HISTORY[:4], user("And now?\nSay it.")],
        [user("<summary>\nMuch.\n</summary>\n\nAnd now?\nSay it.")],
        [
            *("@ messages[0] (before)", "- role: user", "- content: Question 0?"),
            *("@ messages[1] (before)", "- role: assistant", '- content: "0."'),
            *("@ messages[2] (before)", "- role: user", "- content: Question 1?"),
            *("@ messages[3] (before)", "- role: assistant", '- content: "1."'),
            "@ messages[0]",
            "  role: user",
            "  content: |",
            "+   <summary>",
            "+   Much.",
            "+   </summary>",
            "+   ",
            "    And now?",
            "    Say it.",
        ],
    ),
}

GEMINI: dict[str, Case] = {
    "a part inserted": (
        [HI, model(CALLED)],
        [HI, model({"text": "Think.", "thought": True}, {**CALLED, "thoughtSignature": "abc"})],
        [
            *("@ contents[1].parts[0]", "+ text: Think.", "+ thought: true"),
            *("@ contents[1].parts[1]", "  functionCall.name: f", f"+ thoughtSignature: {digest('abc')}"),
        ],
    ),
    "a signature moved": (
        [model(CALLED, {**SPOKEN, "thoughtSignature": SIGNATURE})],
        [model({**CALLED, "thoughtSignature": SIGNATURE}, SPOKEN)],
        [
            *("@ contents[0].parts[0]", "  functionCall.name: f", f"+ thoughtSignature: {digest(SIGNATURE)}"),
            *("@ contents[0].parts[1]", "  text: Well.", f"- thoughtSignature: {digest(SIGNATURE)}"),
        ],
    ),
}

MESSAGES: dict[str, Case] = {
    "a thinking block inserted": (
        [HI, {"role": "assistant", "content": [{"type": "text", "text": "Look."}]}],
        [
            HI,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "ab"},
                    {"type": "text", "text": "Look."},
                ],
            },
        ],
        [
            "@ messages[1].content[0]",
            "+ type: thinking",
            "+ thinking: Hm.",
            f"+ signature: {digest('ab')}",
        ],
    ),
    "a thinking block inserted before a text that changed": (
        [{"role": "assistant", "content": [{"type": "text", "text": "Look."}]}],
        [{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "See."}]}],
        [
            *("@ messages[0].content[0]", "+ type: thinking", "+ thinking: Hm."),
            *("@ messages[0].content[1]", "  type: text", "- text: Look.", "+ text: See."),
        ],
    ),
    "a signature for another": (
        [{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "ab"}]}],
        [{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "cd"}]}],
        [
            "@ messages[0].content[0]",
            "  type: thinking",
            f"- signature: {digest('ab')}",
            f"+ signature: {digest('cd')}",
        ],
    ),
}

FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}

RESPONSES: dict[str, Case] = {
    "an item inserted and an id dropped": (
        [HI, FUNCTION, {"type": "function_call_output", "call_id": "call_1", "output": "ok"}],
        [
            HI,
            {"type": "reasoning", "summary": [], "encrypted_content": SIGNATURE},
            {key: value for key, value in FUNCTION.items() if key != "id"},
            {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
        ],
        [
            "@ input[1]",
            "+ type: reasoning",
            "+ summary: []",
            f"+ encrypted_content: {digest(SIGNATURE)}",
            "@ input[2]",
            "  type: function_call",
            "  call_id: call_1",
            "  name: f",
            "- id: fc_1",
        ],
    ),
    "an item known by its id, whatever was made of it": (
        [HI, {"type": "message", "id": "msg_1", "content": "Words that were said."}],
        [
            HI,
            {"type": "message", "id": "msg_0", "content": "New."},
            {"type": "message", "id": "msg_1", "content": "Others."},
        ],
        [
            *("@ input[1]", "+ type: message", "+ id: msg_0", "+ content: New."),
            *("@ input[2]", "  type: message", "  id: msg_1", "- content: Words that were said.", "+ content: Others."),
        ],
    ),
}

FORMATS = {"messages of chat": CHAT, "contents": GEMINI, "messages": MESSAGES, "input": RESPONSES}


@pytest.mark.parametrize(
    ("key", "case"),
    [
        pytest.param(key.partition(" ")[0], case, id=f"{key}: {name}")
        for key, cases in FORMATS.items()
        for name, case in cases.items()
    ],
)
def test_an_edit_shows_as_what_it_is_at_its_place(key: str, case: Case) -> None:
    before, after, expected = case
    assert lines({"model": "m", key: before}, {"model": "m", key: after}) == expected


# -- which is which ---------------------------------------------------------------------------------------------------


def test_of_a_long_history_that_was_replaced_the_first_and_the_last_messages_show() -> None:
    told = lines({"messages": [*HISTORY, HI]}, {"messages": [user("Summary.\n\nHi")]})
    headings = [line for line in told if line.startswith("@")]
    assert headings == [
        *(f"@ messages[{n}] (before)" for n in range(12)),
        "@ messages (before)",
        *(f"@ messages[{n}] (before)" for n in range(36, 40)),
        "@ messages[0]",
    ]
    assert f"- [12] to [35]: 24 folded, {digest(mark(HISTORY[12:36]))}" in told
    assert told[-5:] == ["  role: user", "  content: |", "+   Summary.", "+   ", "    Hi"]


def test_a_message_inserted_does_not_change_those_behind_it() -> None:
    told = lines(HISTORY, [*HISTORY[:7], HI, *HISTORY[7:]])
    assert told == ["@ [7]", "+ role: user", "+ content: Hi"]


def test_where_equal_messages_repeat_themselves_the_one_in_its_place_is_the_same() -> None:
    before = [HI, result(1)] * 30
    after = [*before]
    after[10] = {**HI, "name": "x"}
    assert lines(before, after) == ["@ [10]", "  role: user", "  content: Hi", "+ name: x"]


def test_words_in_front_of_one_of_several_equal_messages_are_in_front_of_the_last() -> None:
    told = lines([HI, result(1), HI, result(2), HI], [user("So.\nHi")])
    assert [line for line in told if line[0] == "@"] == [*(f"@ [{n}] (before)" for n in range(4)), "@ [0]"]


def test_as_many_equal_messages_as_are_needed_are_left_for_those_behind() -> None:
    told = lines([HI, HI], [user("a\nHi"), {"role": "system", "content": "Be good."}, user("b\nHi")])
    assert [line for line in told if line[0] == "@"] == ["@ [0]", "@ [1]", "@ [2]"]


def test_a_line_that_everybody_says_makes_no_two_messages_one() -> None:
    before = [user(f"Hello\n{n}") for n in range(70)]
    told = lines(before, [user("Hello\nagain")])
    assert "@ [0]" in told
    assert told[-4:] == ["+ role: user", "+ content: |", "+   Hello", "+   again"]


def test_elements_of_another_shape_are_another_value() -> None:
    assert lines({"a": ["x", 1, [1]]}, {"a": [{"k": 1}, [2], "y"]}) == [
        *("@ a (before)", "- [0]: x", "- [1]: 1", "@ a[2] (before)", "- [1]"),
        *("@ a[0]", "+ k: 1", "@ a[1]", "+ [2]", "@ a", "+ [2]: y"),
    ]


def test_plain_elements_show_under_the_heading_of_their_list() -> None:
    assert lines({"a": ["x", 1, "z"]}, {"a": ["y", 2, "z", None]}) == [
        *("@ a", "- [0]: x", "+ [0]: y", "- [1]: 1", "+ [1]: 2", "+ [3]: null"),
    ]


def test_texts_that_share_their_words_are_one_that_changed() -> None:
    assert lines({"a": ["Hello, world."]}, {"a": ["New.", "Hello, world.\nAgain."]}) == [
        *("@ a", "+ [0]: New.", "  [1]: |", "    Hello, world.", "+   Again."),
    ]


def test_objects_that_have_nothing_in_common_are_two() -> None:
    assert lines([{"a": 1}], [{"b": 1}]) == ["@ [0] (before)", "- a: 1", "@ [0]", "+ b: 1"]


def test_the_place_of_what_was_taken_out_is_the_one_that_it_had() -> None:
    before = [HI, user("Be off."), user([{"type": "text", "text": "one"}, {"type": "image", "url": "u"}])]
    after = [HI, user([{"type": "text", "text": "one"}])]
    assert lines(before, after) == [
        *("@ [1] (before)", "- role: user", "- content: Be off."),
        *("@ [2].content[1] (before)", "- type: image", "- url: u"),
    ]


# -- how values are told ----------------------------------------------------------------------------------------------

LONG = "word " * 100
TEXT = "\n".join(f"line {n}" for n in range(40))
AWAY = "\n".join(f"line {n}" for n in range(13, 37))

VALUES: dict[str, Case] = {
    "kinds of plain values": (
        {},
        {"a": None, "b": True, "c": 1.5, "d": 2**70, "e": "x y", "f": {}, "g": [], "h": [1, None, 2.5]},
        [
            *("+ a: null", "+ b: true", "+ c: 1.5", f"+ d: {2**70}", "+ e: x y", "+ f: {}", "+ g: []"),
            "+ h: [1, null, 2.5]",
        ],
    ),
    "texts that look like other values": (
        {},
        {
            "a": "",
            "b": "null",
            "c": "5",
            "d": "-",
            "e": "{}",
            "f": "[1]",
            "g": " x",
            "h": "x ",
            "i": "\u2039x",
            "j": "|",
        },
        [
            *('+ a: ""', '+ b: "null"', '+ c: "5"', '+ d: "-"', '+ e: "{}"', '+ f: "[1]"', '+ g: " x"', '+ h: "x "'),
            *('+ i: "\u2039x"', '+ j: "|"'),
        ],
    ),
    "a value of another type": (
        {"a": 1, "b": 0, "c": "1", "d": [], "e": {"k": 1}},
        {"a": True, "b": False, "c": 1, "d": {}, "e": []},
        [
            *("- a: 1", "+ a: true", "- b: 0", "+ b: false", '- c: "1"', "+ c: 1", "- d: []", "+ d: {}"),
            *("- e:", "-   k: 1", "+ e: []"),
        ],
    ),
    "lists in lists": (
        {},
        {"a": [["x", ["y"]], {"k": [{"l": 1}]}]},
        ["+ a:", "+   - - x", "+     - - y", "+   - k:", "+       - l: 1"],
    ),
    "keys that are no names": (
        {"a.b": 1, "": 1},
        {"a b": 1, "\x1b[31m": 1, "K" * 48: 1, "n" * 47: 1, "e" * 40 + "_$-": 1, "\u540d": 1, "long " * 20: 1},
        [
            *(
                '- "a.b": 1',
                '- "": 1',
                '+ "a b": 1',
                '+ "\\x1b[31m": 1',
                f"+ {digest('K' * 48)}: 1",
                f"+ {'n' * 47}: 1",
            ),
            *(f"+ {'e' * 40}_$-: 1", "+ \u540d: 1", f'+ "{("long " * 12)}\u2026 {digest("long " * 20)}": 1'),
        ],
    ),
    "a long text": ({}, {"a": LONG}, [f'+ a: "{LONG[:WIDTH]}\u2026 {digest(LONG)}"']),
    "a text of many lines": (
        {},
        {"a": TEXT},
        [
            "+ a: |",
            *(f"+   line {n}" for n in range(13)),
            f"+   \u203924 lines folded, 168 characters, {fingerprint(AWAY)}\u203a",
            *(f"+   line {n}" for n in range(37, 40)),
        ],
    ),
    "an object of many keys": (
        {},
        {"a": {f"k{n}": n for n in range(100)}},
        [
            "+ a:",
            *(f"+   k{n}: {n}" for n in range(58)),
            f"+ \u2026 the rest folded, {digest(mark({f'k{n}': n for n in range(100)}))} in all",
        ],
    ),
    "opaque texts under keys of unknown names": (
        {"a": "A" * 48},
        {"a": "B" * 48, "b": ["C" * 48], "d": "D" * 48 + "\n"},
        [
            *(f"- a: {digest('A' * 48)}", f"+ a: {digest('B' * 48)}", "+ b:", f"+   - {digest('C' * 48)}"),
            f"+ d: {digest('D' * 48 + chr(10))}",
        ],
    ),
    "values under keys that are opaque": (
        {"data": "x", "signature": ["x"], "reasoning_opaque": 1, "thought_signature": "words\nthat stay"},
        {
            "data": {"k": "x"},
            "signature": ["y"],
            "reasoning_opaque": 2,
            "thought_signature": "words\nthat come",
            "encrypted_content": None,
            "thoughtSignature": "",
        },
        [
            *(f"- data: {digest('x')}", f"+ data: {digest(mark({'k': 'x'}))}"),
            *(f"- signature: {digest(mark(['x']))}", f"+ signature: {digest(mark(['y']))}"),
            *(f"- reasoning_opaque: {digest('1')}", f"+ reasoning_opaque: {digest('2')}"),
            f"- thought_signature: {digest('words' + chr(10) + 'that stay')}",
            f"+ thought_signature: {digest('words' + chr(10) + 'that come')}",
            "+ encrypted_content: null",
            f"+ thoughtSignature: {digest('')}",
        ],
    ),
    "texts that show alike": (
        {"a": "\x1b", "b": "x\r\ny", "c": "x\\r\ny\nz"},
        {"a": "\\x1b", "b": "x\\r\ny", "c": "x\r\ny\nz"},
        [
            *(f"- a: {digest(chr(27))}", f"+ a: {digest(chr(92) + 'x1b')}"),
            *("  b: |", f"-   {digest(mark(['x' + chr(13)]))}", f"+   {digest(mark(['x' + chr(92) + 'r']))}", "    y"),
            *("  c: |", f"-   {digest(mark(['x' + chr(92) + 'r']))}", f"+   {digest(mark(['x' + chr(13)]))}"),
            *("    y", "    z"),
        ],
    ),
    "the end of a line": ({"a": "x\r\ny"}, {"a": "x\ny"}, ["  a: |", r"-   x\r", "+   x", "    y"]),
    "a text with nothing in common": (
        {"a": "x\n\ny"},
        {"a": "z\n\nw"},
        ["- a: |", "-   x", "-   ", "-   y", "+ a: |", "+   z", "+   ", "+   w"],
    ),
    "a text that changed in its midst": (
        {"a": TEXT},
        {"a": TEXT.replace("line 5\n", "").replace("line 30", "30\n30.5")},
        [
            *("  a: |", "    \u20393 lines as before\u203a", "    line 3", "    line 4", "-   line 5"),
            *("    line 6", "    line 7", "    \u203920 lines as before\u203a", "    line 28", "    line 29"),
            *("-   line 30", "+   30", "+   30.5"),
            *("    line 31", "    line 32", "    \u20397 lines as before\u203a"),
        ],
    ),
    "an opaque line among words": (
        {"a": "Key:\n" + "A" * 50 + "\nEnd."},
        {"a": "Key:\n" + "B" * 50 + "\nEnd."},
        ["  a: |", "    Key:", f"-   {digest('A' * 50)}", f"+   {digest('B' * 50)}", "    End."],
    ),
    "what names an object": (
        {"id": "I" * 50, "name": " \n", "role": 5, "text": "Words."},
        {"id": "I" * 50, "name": " \n", "role": 5, "text": "Words.", "k": 1},
        [f"  id: {digest('I' * 50)}", "+ k: 1"],
    ),
    "a long text that names an object": (
        {"text": "\n" + LONG},
        {"text": "\n" + LONG, "k": 1},
        [f"  text: {LONG[:60]}\u2026", "+ k: 1"],
    ),
}


@pytest.mark.parametrize("case", VALUES.values(), ids=VALUES)
def test_values_are_told_so_that_a_person_can_read_them(case: Case) -> None:
    before, after, expected = case
    assert lines(before, after) == ["@ the body", *expected]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (1, 2, ["- 1", "+ 2"]),
        ("a\nb", "a\nc", ["  a", "- b", "+ c"]),
        ("a\nb", ["c"], ["- a", "- b", "+ - c"]),
        ({}, [], ["- {}", "+ []"]),
    ],
)
def test_a_body_that_is_no_object_is_told_as_the_value_it_is(before: Any, after: Any, expected: list[str]) -> None:
    assert lines(before, after) == ["@ the body", *expected]


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        (("a", 0, "b"), "a[0].b"),
        (("a b", "c"), '["a b"].c'),
        (("", "a.b", 2), '[""]["a.b"][2]'),
        (("\x1b\ud800", "x"), '["\\x1b\\ud800"].x'),
        (("K" * 60, "x"), f"[{digest('K' * 60)}].x"),
        (("w " * 60, "x"), f'["{("w " * 30)}\u2026 {digest("w " * 60)}"].x'),
        ((0, 0), "[0][0]"),
    ],
)
def test_headings_name_the_path(path: tuple[str | int, ...], heading: str) -> None:
    old, new = {"z": 1}, {"z": 2}
    for step in reversed(path):
        old, new = ({step: old}, {step: new}) if isinstance(step, str) else ([0] * step + [old], [0] * step + [new])  # type: ignore[assignment]
    assert lines(old, new) == [f"@ {heading}", "- z: 1", "+ z: 2"]


def test_a_long_path_keeps_its_end() -> None:
    old, new = {"z": 1}, {"z": 2}
    for number in range(20):
        old, new = {f"{number}_" + "k" * 40: old}, {f"{number}_" + "k" * 40: new}  # type: ignore[dict-item]
    heading, *rest = lines(old, new)
    assert heading.startswith("@ \u2026")
    assert heading.endswith(".0_" + "k" * 40)
    assert len(heading) == WIDTH + 3
    assert rest == ["- z: 1", "+ z: 2"]


# -- nothing, and too much --------------------------------------------------------------------------------------------


def test_equal_bytes_have_no_difference() -> None:
    assert difference(b'{"a": 1}', b'{"a": 1}') == []
    assert difference(b"no json", b"no json") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}'),
        ('"\\u00e9\\/"', '"\u00e9/"'),
        ("[1.0, 1e2, 1e16, 0.10, -0.0]", "[1, 100, 10000000000000000, 0.1, 0]"),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ("[1e400]", "[1e500]"),
        ("[NaN]", "[ NaN]"),
        ("NaN", " NaN"),
        ('{"a": ["1.0", 3.0]}', '{"a": ["1.0", 3]}'),
    ],
)
def test_where_only_the_spelling_differs_that_is_all_that_is_said(before: str, after: str) -> None:
    assert difference(before.encode(), after.encode()) == [SPELLING]


def test_what_is_spelled_in_another_way_does_not_show_beside_what_changed() -> None:
    before = b'[{"a": 1.0, "b": 2}, {"k": {"n": 10.0}}, {"x": 1}]'
    after = b'[{"b": 2.0, "a": 1}, {"k": {"n": 1e1}}, {"x": 2}, 3]'
    assert difference(before, after) == ["@ [2]", "- x: 1", "+ x: 2", "@ the body", "+ [3]: 3"]


@pytest.mark.parametrize("word", ["1.5", "true"])
def test_numbers_and_truth_values_are_no_spellings_of_each_other(word: str) -> None:
    assert len(difference(b'{"k": [{"a": [1]}]}', b'{"k": [{"a": [%b]}]}' % word.encode())) == 3


def test_every_digit_of_a_large_integer_counts() -> None:
    assert difference(b'{"n": 12345678901234567890123}', b'{"n": 12345678901234567890124}') == [
        *("@ the body", "- n: 12345678901234567890123", "+ n: 12345678901234567890124"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (b"{", b"{}", "the body before is no JSON that can be read: 1 byte before, 2 after"),
        (b"{}", b"\xff\xfe", "the body after is no JSON that can be read: 2 bytes before, 2 after"),
        (b"", b"x" * 1234, "the body before is no JSON that can be read: 0 bytes before, 1,234 after"),
        (b"1" * 5000, b"{}", "the body before is no JSON that can be read: 5,000 bytes before, 2 after"),
        (b"[" * 100_000, b"{}", "nested too deep to show: 100,000 bytes before, 2 after"),
        (b"{}", b'{"a":' * 50_000, "nested too deep to show: 2 bytes before, 250,000 after"),
    ],
    ids=["cut", "no utf-8", "empty", "digits", "brackets", "braces"],
)
def test_what_cannot_be_read_is_said_in_one_line_with_the_sizes(before: bytes, after: bytes, line: str) -> None:
    assert difference(before, after) == [line]


def nested(depth: int, leaf: str, opening: str = '{"a":', closing: str = "}") -> bytes:
    return f"{opening * depth}{leaf}{closing * depth}".encode()


def test_what_changed_deep_down_shows_as_a_change_of_what_holds_it() -> None:
    told = difference(nested(200, "1"), nested(200, "2"))
    assert told[0] == "@ " + ".".join("a" * 64)
    gone, come = told[1:17], told[17:]
    assert [line[2:].removesuffix(":") for line in gone[:-1]] == [f"{'  ' * depth}a" for depth in range(15)]
    assert [line[2:] for line in gone[:-1]] == [line[2:] for line in come[:-1]]
    assert gone[-1] == f"- {'  ' * 15}a: {digest(mark(json.loads(nested(120, '1'))))}"
    assert come[-1] == f"+ {'  ' * 15}a: {digest(mark(json.loads(nested(120, '2'))))}"


@pytest.mark.parametrize("depth", [60, 64, 65, 80, 300, 900, 1000])
@pytest.mark.parametrize(
    ("opening", "closing"), [('{"a":', "}"), ("[", "]"), ("[1.0,", "]"), ('[{"role":"user","a":', "}]")]
)
def test_nesting_is_told_or_said_to_be_too_deep(depth: int, opening: str, closing: str) -> None:
    told = difference(nested(depth, "1", opening, closing), nested(depth, '"x\\n"', opening, closing))
    assert told
    assert len(told) < 120


def test_what_is_nested_deep_and_put_in_shows_its_upper_levels() -> None:
    told = difference(b"{}", nested(40, "1"))
    assert told[:3] == ["@ the body", "+ a:", "+   a:"]
    assert told[-1] == f"+ {'  ' * 16}a: {digest(mark(json.loads(nested(23, '1'))))}"


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_past_the_limit_the_last_line_says_how_much_more_there_is(limit: int) -> None:
    before, after = {f"k{n}": n for n in range(100)}, {f"k{n}": -n for n in range(100)}
    after["k0"] = 1
    told, whole = lines(before, after, limit), lines(before, after)
    assert len(whole) == 201
    assert told[:-1] == whole[: limit - 1]
    assert told[-1] == f"\u2026 {201 - limit + 1} more lines, 100 changes in all"


def test_at_the_limit_everything_shows() -> None:
    before, after = {"a": 1, "b": 1}, {"a": 2, "b": 1}
    assert lines(before, after, 3) == ["@ the body", "- a: 1", "+ a: 2"]
    assert lines(before, after, 2) == ["@ the body", "\u2026 2 more lines, 1 change in all"]
    assert lines(before, after, 0) == ["\u2026 3 more lines, 1 change in all"]


def test_far_past_the_limit_lines_are_not_counted_but_changes_are() -> None:
    before, after = dict.fromkeys(map(str, range(30_000)), 1), dict.fromkeys(map(str, range(30_000)), 2)
    assert lines(before, after, 5)[4:] == ["\u2026 more than 20,000 more lines, 30,000 changes in all"]


# -- how long it takes ------------------------------------------------------------------------------------------------


def timed(before: Any, after: Any) -> tuple[list[str], float]:
    old, new = body(before), body(after)
    start = time.perf_counter()
    told = difference(old, new)
    return told, time.perf_counter() - start


def conversation(words: Callable[[int], str], count: int) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[n % 2], "content": words(n)} for n in range(count)]


def test_two_large_bodies_that_differ_in_one_message_are_compared_quickly() -> None:
    before = conversation(lambda n: f"word {n} " * 1200, 1000)
    after = copy.deepcopy(before)
    after[500]["x"] = 1
    told, took = timed(before, after)
    assert told == ["@ [500]", "  role: user", f"  content: {('word 500 ' * 7)[:60]}\u2026", "+ x: 1"]
    assert took < 2


@pytest.mark.parametrize(("more", "first"), [(0, ["@ [0]", "  role: user"]), (1, ["@ [0] (before)", "- role: user"])])
def test_many_messages_that_all_differ_are_compared_quickly(more: int, first: list[str]) -> None:
    told, took = timed(conversation(lambda n: f"word {n}", 5000), conversation(lambda n: f"other {n}", 5000 + more))
    assert told[:2] == first
    assert took < 5


def test_state_on_every_second_of_many_messages_is_found_quickly() -> None:
    before = conversation(lambda n: f"word {n}", 5000)
    after = [{**message, "reasoning": "Hm."} if message["role"] == "assistant" else message for message in before]
    told, took = timed(before, after)
    assert told[:4] == ["@ [1]", "  role: assistant", "  content: word 1", "+ reasoning: Hm."]
    assert told[-1] == f"\u2026 {10_000 - 399:,} more lines, 2,500 changes in all"
    assert took < 2


def test_what_repeats_itself_too_often_to_be_compared_is_taken_out_and_put_in() -> None:
    before, after = [*"ab"] * 2500, [*"bba"] * 2500
    told, took = timed({"x": before}, {"x": after})
    assert told[:4] == ["@ x", "  5,000 taken out, 7,500 put in: too many to compare", "@ x (before)", "- [0]: a"]
    assert f"- [12] to [4995]: 4,984 folded, {digest(mark(before[12:4996]))}" in told
    assert "+ [0]: b" in told
    assert took < 2
    assert lines({"x": before}, {"x": after}, 4)[-1].endswith(" 12,500 changes in all")


def test_a_text_too_long_to_compare_shows_as_taken_out_and_put_in() -> None:
    told, took = timed({"x": "same\n" + "a\nb\n" * 2500}, {"x": "same\n" + "b\nb\na\n" * 2500})
    assert told[:4] == ["@ the body", "  x: |", "    same", "-   a"]
    assert len(told) < 50
    assert took < 2


def test_lists_deep_in_lists_that_changed_on_every_level_are_compared_quickly() -> None:
    before: Any = [f"word {n} " * 20 for n in range(10_000)]
    after = [*before, "more"]
    for number in range(60):
        before, after = [number, before, {"k": 1}], [-1, after, {"k": 2}]
    told, took = timed(before, after)
    assert told[told.index(f"@ {'[1]' * 60}") + 1] == "+ [10000]: more"
    assert took < 2


# -- whatever comes ---------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(codec=None), max_size=8) | st.text("ab \n\x1b\u202e\ud800", max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.just("Q" * 60)
KEYS = TEXTS | st.sampled_from("role type id name content text data signature function tool_calls".split())
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=30
)
# Small values of which two have much in common.
FEW: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from((0, 1, 1.0, True, "a", "b", "a\nb", "a\nb\nc")),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from(("role", "id", "k")), inner, max_size=3)
    ),
    max_leaves=30,
)
PAIRS = st.tuples(JSON, JSON) | st.tuples(FEW, FEW)


@given(PAIRS, st.integers(0, 30))
def test_two_values_have_a_difference_of_printable_lines_within_the_limit(pair: tuple[Any, Any], limit: int) -> None:
    before, after = map(body, pair)
    told = difference(before, after, limit)
    assert bool(told) is (before != after)
    assert len(told) <= max(limit, 1)
    assert (told == [SPELLING]) is (before != after and same(*map(json.loads, (before, after))))
    for line in told:
        assert line.replace("\u200c", "").replace("\u200d", "").isprintable()
        assert len(line) <= WIDTH + 200
        assert line[:2] in ("@ ", "+ ", "- ", "  ", "\u2026 ") or len(told) == 1


@given(st.binary(max_size=30) | st.just(b"{}"), st.binary(max_size=30) | st.just(b"[]"))
def test_any_two_bodies_have_a_difference_unless_they_are_equal(before: bytes, after: bytes) -> None:
    assert bool(difference(before, after)) is (before != after)


MARKER = "S3CRET/MARKER"
SEALED = st.sampled_from(
    (
        {"signature": MARKER},
        {"data": [MARKER]},
        {"encrypted_content": {"k": MARKER}},
        {"thoughtSignature": f"{MARKER}\nline\n{MARKER}"},
        {"thought_signature": {MARKER: [1]}},
        {"reasoning_opaque": MARKER, "k": 1},
        {"unknown": MARKER * 4},
        {"text": MARKER * 9, "k": 1},
        {"id": MARKER * 4, "k": 1},
        {"role": MARKER * 4, "k": 1},
        {MARKER * 4: {"k": 1}},
        {"k": [MARKER * 5]},
        {"k": f"words\n{MARKER * 4}\nwords"},
    )
)
HOLDING = st.recursive(
    SEALED,
    lambda inner: (
        st.builds(
            lambda before, it, after: [*before, it, *after], st.lists(FEW, max_size=2), inner, st.lists(FEW, max_size=2)
        )
        | st.builds(lambda more, it: {**more, "in": it}, st.dictionaries(KEYS, FEW, max_size=2), inner)
    ),
    max_leaves=2,
)


@given(HOLDING, HOLDING | FEW)
def test_what_is_opaque_never_shows_wherever_it_stands(one: Any, other: Any) -> None:
    for told in (lines(one, other), lines(other, one), lines({}, one), lines([{"k": 2}, one], [{"k": 2}, other, one])):
        assert not any(MARKER in line for line in told)


# -- two lists --------------------------------------------------------------------------------------------------------


@given(st.lists(FEW, max_size=12), st.lists(FEW, max_size=12), st.sampled_from((opcodes._STEPS, 20)))
def test_blocks_and_what_stands_between_them_are_both_lists(before: list[Any], after: list[Any], steps: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opcodes, "_STEPS", steps)
        found = blocks(before, after, same, Marks())
    assert all(block.before or block.after for block in found)
    built: list[Any] = []
    for number, kept in enumerate(stretches(found, before)):
        built += kept
        if number < len(found):
            reach = found[number].after
            assert reach.start == len(built)
            built += after[reach.start : reach.stop]
    assert [mark(value) for value in built] == [mark(value) for value in after]


@given(st.lists(FEW, max_size=9), st.lists(FEW, max_size=9))
def test_the_parts_of_a_block_are_all_of_its_elements_in_order(before: list[Any], after: list[Any]) -> None:
    for block in blocks(before, after, same, Marks()):
        found = list(parts(block, before, after))
        assert [at for was, _ in found for at in was] == list(block.before)
        assert [at for _, now in found for at in now] == list(block.after)
        assert all(len(was) == len(now) or not was or not now for was, now in found)
        assert all(one != other for one, other in pairwise(found))


def test_equal_lists_have_no_blocks() -> None:
    assert blocks(["a", {"b": 1}], ["a", {"b": 1}], same, Marks()) == []


@given(FEW, FEW)
def test_equal_values_have_one_mark_and_others_have_others(one: Any, other: Any) -> None:
    marks = Marks()
    assert same(one, other) is (mark(one) == mark(other)) is (marks(one) == marks(other))
    assert mark(one) == mark(json.loads(mark(one)))
