"""Where thinking goes back among the blocks of an answer, and in what form the client tells these."""

from lab import Scenario, dialogue

from scenarios.messages_words import (
    AND,
    ANTHROPIC,
    ASKED,
    CLAUDE,
    HM,
    SEALED,
    SEALED2,
    SIGNED,
    SIGNED2,
    assistant,
    redacted,
    result,
    results,
    say,
    searching,
    stream,
    text,
    think,
    use,
    user,
    whole,
)
from thoughtkeep.turns import Json

_CACHED = {"cache_control": {"type": "ephemeral"}}


def _told(rule: str, issued: list[Json], told: Json, sent: Json, *, plain: bool = False) -> Scenario:
    """One answer and what becomes of it; the user's next message answers all calls that the client tells."""
    reply = whole(*issued) if plain else stream(*issued)
    messages = told if isinstance(told, list) else [told]
    blocks = [b for m in messages for b in (m["content"] if isinstance(m["content"], list) else [])]
    answers = [result(b["id"]) for b in blocks if b["type"] == "tool_use"]
    return dialogue(rule, ANTHROPIC, CLAUDE, ASKED, say(reply, told, sent), results(*answers, text("Go on.")))


_SEARCH, _FOUND = searching("srvtoolu_1")
_RUN = [HM, _SEARCH, _FOUND, AND, text("At noon.")]

_POSITIONS: list[Scenario] = [
    _told("Messages: thinking goes before its call", [HM, use("a")], assistant(use("a")), assistant(HM, use("a"))),
    _told(
        "Messages: so it does in a plain answer",
        [HM, text("Noon."), use("a")],
        assistant(text("Noon."), use("a")),
        assistant(HM, text("Noon."), use("a")),
        plain=True,
    ),
    _told(
        "Messages: redacted blocks in a row go back in their order",
        [redacted(SEALED), redacted(SEALED2), use("a")],
        assistant(use("a")),
        assistant(redacted(SEALED), redacted(SEALED2), use("a")),
    ),
    _told(
        "Messages: one redacted block of two that the client kept is not doubled",
        [redacted(SEALED), redacted(SEALED2), use("a")],
        assistant(redacted(SEALED2), use("a")),
        assistant(redacted(SEALED), redacted(SEALED2), use("a")),
    ),
    _told(
        "Messages: omitted thinking has a signature alone, and goes back so",
        [think("", SIGNED), text("Noon."), think("", SIGNED2), use("a")],
        assistant(text("Noon."), use("a")),
        assistant(think("", SIGNED), text("Noon."), think("", SIGNED2), use("a")),
    ),
    _told(
        "Messages: interleaved thinking goes back between the blocks that it stood between",
        [HM, text("First Brest."), use("a"), AND, use("b", "moon"), redacted(SEALED)],
        assistant(text("First Brest."), use("a"), use("b", "moon")),
        assistant(HM, text("First Brest."), use("a"), AND, use("b", "moon"), redacted(SEALED)),
    ),
    _told(
        "Messages: of two thinking blocks only the lost one goes back",
        [HM, use("a"), AND, use("b", "moon")],
        assistant(HM, use("a"), use("b", "moon")),
        assistant(HM, use("a"), AND, use("b", "moon")),
    ),
    _told(
        "Messages: a block of an unknown kind keeps its place by its content",
        [HM, {"type": "container_upload", "file_id": "f-1"}, AND, use("a")],
        assistant({"type": "container_upload", "file_id": "f-1"}, use("a")),
        assistant(HM, {"type": "container_upload", "file_id": "f-1"}, AND, use("a")),
    ),
    _told(
        "Messages: text that the client trimmed stays trimmed",
        [HM, text("Let me see.\n\n"), use("a")],
        assistant(text("Let me see."), use("a")),
        assistant(HM, text("Let me see."), use("a")),
    ),
    _told(
        "Messages: texts that the client joined stay joined",
        [HM, text("Let me "), text("see."), use("a")],
        assistant(text("Let me see."), use("a")),
        assistant(HM, text("Let me see."), use("a")),
    ),
    _told(
        "Messages: a text that the client dropped stays away",
        [HM, text("Let me see."), AND, use("a")],
        assistant(use("a")),
        assistant(HM, AND, use("a")),
    ),
    _told(
        "Messages: a cache mark stays on the client's block and never comes on thinking",
        [HM, text("Noon."), use("a")],
        assistant(text("Noon."), use("a", **_CACHED)),
        assistant(HM, text("Noon."), use("a", **_CACHED)),
    ),
]

_SERVER: list[Scenario] = [
    _told(
        "Messages: what a server's tool found stays as the client has it",
        _RUN,
        assistant(_SEARCH, _FOUND, text("At noon.")),
        assistant(HM, _SEARCH, _FOUND, AND, text("At noon.")),
    ),
    _told(
        "Messages: a client that reformats what a server's tool found is known by its id",
        _RUN,
        assistant({**_SEARCH, "input": '{"query":"tides"}'}, {**_FOUND, "content": []}, text("At noon.")),
        assistant(HM, {**_SEARCH, "input": '{"query":"tides"}'}, {**_FOUND, "content": []}, AND, text("At noon.")),
    ),
    _told(
        "Messages: a server's tool that was lost between two thinking blocks goes back with them",
        _RUN,
        assistant(text("At noon.")),
        assistant(*_RUN),
    ),
    _told(
        "Messages: a server's tool that was lost outside a run of thinking stays away",
        [HM, _SEARCH, _FOUND, text("At noon.")],
        assistant(text("At noon.")),
        assistant(HM, text("At noon.")),
    ),
]

_FORMS: list[Scenario] = [
    _told(
        "Messages: a message told as a string becomes blocks, thinking cannot stand in a string",
        [HM, text("At noon.")],
        assistant("At noon."),
        assistant(HM, text("At noon.")),
    ),
    _told(
        "Messages: the client's own words stay in a string that becomes blocks",
        [HM, text("At\nnoon. "), AND],
        assistant("At noon."),
        assistant(HM, text("At noon."), AND),
    ),
    _told(
        "Messages: a string that tells several texts is left",
        [HM, text("At "), text("noon.")],
        assistant("At noon."),
        assistant("At noon."),
    ),
    _told(
        "Messages: a string from which a server's tool is gone is left",
        [HM, _SEARCH, _FOUND, text("At noon.")],
        assistant("At noon."),
        assistant("At noon."),
    ),
    _told(
        "Messages: reordered blocks go in the order of the answer",
        [HM, text("Noon."), use("a")],
        assistant(use("a"), text("Noon."), HM),
        assistant(HM, text("Noon."), use("a")),
    ),
    _told(
        "Messages: reordered blocks go in the order of the answer, the lost ones among them",
        [HM, _SEARCH, _FOUND, AND, text("Noon."), use("a", **_CACHED)],
        assistant(text("Noon."), AND, _FOUND, _SEARCH, use("a", **_CACHED)),
        assistant(HM, _SEARCH, _FOUND, AND, text("Noon."), use("a", **_CACHED)),
    ),
    _told(
        "Messages: reordered blocks with one of the client's own among them are left",
        [HM, use("a")],
        assistant(use("a"), HM, text("I ran it.")),
        assistant(use("a"), HM, text("I ran it.")),
    ),
    _told(
        "Messages: a reply told in several messages in a row is one message again",
        [HM, text("Let me see."), use("a")],
        [assistant(text("Let me see.")), assistant(use("a"))],
        [assistant(HM, text("Let me see."), use("a"))],
    ),
    _told(
        "Messages: so it is where the client lost nothing",
        [HM, text("Let me see."), AND, use("a")],
        [assistant(HM, text("Let me see.")), assistant(AND, use("a"))],
        [assistant(HM, text("Let me see."), AND, use("a"))],
    ),
    _told(
        "Messages: so it is where one of the messages is a string",
        [HM, text("Let me see."), use("a")],
        [assistant("Let me see."), assistant(use("a"))],
        [assistant(HM, text("Let me see."), use("a"))],
    ),
    _told(
        "Messages: strings in a row are left",
        [HM, text("Let me see."), text("At noon.")],
        [assistant("Let me see."), assistant("At noon.")],
        [assistant("Let me see."), assistant("At noon.")],
    ),
    _told(
        "Messages: of several messages in a row that hold more than the reply the first gets the thinking",
        [HM, use("a")],
        [assistant(use("a")), assistant(text("I ran it."))],
        [assistant(HM, use("a")), assistant(text("I ran it."))],
    ),
    _told(
        "Messages: messages without thinking are nobody's business",
        [text("Let me see."), use("a")],
        [assistant(use("a")), assistant(text("Let me see."))],
        [assistant(use("a")), assistant(text("Let me see."))],
    ),
]

_BATCH = [HM, use("a"), use("b", "moon"), use("c", "wind")]

_BATCHES: list[Scenario] = [
    dialogue(
        "Messages: a split batch is one message again, and so are its results",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(
            stream(*_BATCH),
            [
                assistant(use("a")),
                results(result("a", "1")),
                assistant(use("b", "moon")),
                results(result("b", "2")),
                assistant(use("c", "wind")),
                results(result("c", "3")),
            ],
            [assistant(*_BATCH), results(result("a", "1"), result("b", "2"), result("c", "3"))],
        ),
        user("Thanks."),
    ),
    dialogue(
        "Messages: a split batch whose last message holds the user's words too keeps these",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(
            stream(*_BATCH[:3]),
            [
                assistant(use("a")),
                results(result("a", "1")),
                assistant(use("b", "moon")),
                results(result("b", "2"), text("Hurry.")),
            ],
            [assistant(*_BATCH[:3]), results(result("a", "1"), result("b", "2")), results(text("Hurry."))],
        ),
    ),
    dialogue(
        "Messages: a batch that the client has not told to its end gets its thinking before the first call",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(
            stream(*_BATCH),
            [assistant(use("a")), results(result("a", "1")), assistant(use("b", "moon")), results(result("b", "2"))],
            [
                assistant(HM, use("a")),
                results(result("a", "1")),
                assistant(use("b", "moon")),
                results(result("b", "2")),
            ],
        ),
    ),
    dialogue(
        "Messages: a split batch with words in a later message is left, its first message gets the thinking",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(
            stream(*_BATCH[:3]),
            [
                assistant(use("a")),
                results(result("a", "1")),
                assistant(text("And the moon."), use("b", "moon")),
                results(result("b", "2")),
            ],
            [
                assistant(HM, use("a")),
                results(result("a", "1")),
                assistant(text("And the moon."), use("b", "moon")),
                results(result("b", "2")),
            ],
        ),
    ),
]

SCENARIOS = [*_POSITIONS, *_SERVER, *_FORMS, *_BATCHES]
