"""Reasoning among the content: MiniMax's tags, Mistral's chunks."""

from lab import Scenario, dialogue

from scenarios.chat_words import (
    ASKED,
    MINIMAX,
    MISTRAL,
    asking,
    assistant,
    call,
    calling,
    chunk,
    say,
    stream,
    text_of,
    tool,
    user,
    whole,
)
from thoughtkeep.turns import Json

_TAGGED = "<think>\nCold.\n</think>\n\nMinus three."

_MINIMAX: list[Scenario] = [
    dialogue(
        "MiniMax: thinking tags that the client took out of the text go back",
        MINIMAX,
        asking("MiniMax-M2"),
        ASKED,
        say(
            stream(chunk(content="<think>\nCold."), chunk(content="\n</think>\n\nMinus three.")),
            assistant("Minus three."),
            assistant(_TAGGED),
        ),
        user("And then?"),
        say(
            stream(chunk(content="<think>Call.</think>\n"), *calling(call("c1"))),
            assistant("", call("c1")),
            assistant("<think>Call.</think>\n", call("c1")),
        ),
        tool("c1"),
    ),
    dialogue(
        "MiniMax: a client that writes its text as an array gets the tags as a block of text",
        MINIMAX,
        asking("MiniMax-M2"),
        ASKED,
        say(
            stream(chunk(content=_TAGGED)),
            assistant([{"type": "text", "text": "Minus three."}]),
            assistant([{"type": "text", "text": "<think>\nCold.\n</think>"}, {"type": "text", "text": "Minus three."}]),
        ),
        user("And then?"),
    ),
    dialogue(
        "MiniMax: a client that left the tags where they were has all of it, as a string and as an array",
        MINIMAX,
        asking("MiniMax-M2"),
        ASKED,
        say(stream(chunk(content=_TAGGED)), assistant(_TAGGED), assistant(_TAGGED)),
        user("And then?"),
        say(
            stream(chunk(content="<think>Well.</think>Warm.")),
            assistant([{"type": "text", "text": "<think>Well.</think>Warm."}]),
            assistant([{"type": "text", "text": "<think>Well.</think>Warm."}]),
        ),
        user("Thanks"),
    ),
    dialogue(
        "MiniMax: streamed reasoning that repeats what came before is not doubled",
        MINIMAX,
        asking("MiniMax-M2", reasoning_split=True),
        ASKED,
        say(
            stream(
                chunk(reasoning_content="Co", reasoning_details=[text_of("Co", id="r1")]),
                chunk(reasoning_content="Cold,", reasoning_details=[text_of("Cold,", id="r1")]),
                chunk(reasoning_content="Cold, no?", reasoning_details=[text_of("Cold, no?", id="r1")]),
                *calling(call("c1")),
            ),
            assistant("", call("c1")),
            assistant("", call("c1"), reasoning_details=[text_of("Cold, no?", id="r1")]),
        ),
        tool("c1"),
        say(
            stream(chunk(reasoning_content="So"), chunk(reasoning_content="So cold."), chunk(content="Cold.")),
            assistant("Cold."),
            assistant("Cold.", reasoning_content="So cold."),
        ),
        user("Thanks"),
    ),
    dialogue(
        "MiniMax: streamed reasoning that goes on where it stopped is joined, equal pieces too",
        MINIMAX,
        asking("MiniMax-M2", reasoning_split=True),
        ASKED,
        say(
            stream(
                chunk(reasoning_details=[text_of("ha", id="r1")]),
                chunk(reasoning_details=[text_of("ha", id="r1")]),
                chunk(reasoning_details=[text_of(", cold.", id="r1")]),
                chunk(reasoning_details=[{**text_of("haha, cold. More", id="r2"), "index": 1}]),
                *calling(call("c1")),
            ),
            assistant("", call("c1")),
            assistant(
                "",
                call("c1"),
                reasoning_details=[
                    text_of("haha, cold.", id="r1"),
                    {**text_of("haha, cold. More", id="r2"), "index": 1},
                ],
            ),
        ),
        tool("c1"),
    ),
]


def _thinking(*texts: str) -> dict[str, Json]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text} for text in texts]}


_ANSWER = {"type": "text", "text": "Minus three."}

_MISTRAL: list[Scenario] = [
    dialogue(
        "Mistral: chunks of thinking that stream are joined, a flattened answer becomes the array again",
        MISTRAL,
        asking("magistral-medium-latest"),
        ASKED,
        say(
            stream(
                chunk(content=[_thinking("Co")]),
                chunk(content=[_thinking("ld.")]),
                chunk(content="Minus "),
                chunk(content="three."),
            ),
            assistant("Minus three."),
            assistant([_thinking("Cold."), _ANSWER]),
        ),
        user("And then?"),
    ),
    dialogue(
        "Mistral: reasoning and answer run together by the client are parted again; no block of a plain answer joins",
        MISTRAL,
        asking("magistral-medium-latest"),
        ASKED,
        say(
            whole(assistant([_thinking("Co", "ld."), _thinking("Yes."), _ANSWER])),
            assistant("Cold.Yes.Minus three."),
            assistant([_thinking("Co", "ld."), _thinking("Yes."), _ANSWER]),
        ),
        user("And then?"),
    ),
    dialogue(
        "Mistral: an array that lost its thinking gets it back before what it led to, behind what it followed",
        MISTRAL,
        asking("magistral-medium-latest"),
        ASKED,
        say(
            whole(assistant([_thinking("A"), _ANSWER, _thinking("B")])),
            assistant([_ANSWER]),
            assistant([_thinking("A"), _ANSWER, _thinking("B")]),
        ),
        user("And then?"),
        say(
            whole(assistant([_thinking("C"), {"type": "reference", "reference_ids": [1]}, _thinking("D")])),
            assistant([{"type": "reference", "reference_ids": [1]}]),
            assistant([_thinking("C"), {"type": "reference", "reference_ids": [1]}, _thinking("D")]),
        ),
        user("Thanks"),
    ),
    dialogue(
        "Mistral: an array that has its thinking stays as it is",
        MISTRAL,
        asking("magistral-medium-latest"),
        ASKED,
        say(
            whole(assistant([_thinking("A"), _ANSWER])),
            assistant([_thinking("A"), _ANSWER]),
            assistant([_thinking("A"), _ANSWER]),
        ),
        user("And then?"),
    ),
]

SCENARIOS = [*_MINIMAX, *_MISTRAL]
