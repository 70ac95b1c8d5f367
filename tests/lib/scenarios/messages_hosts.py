"""Who else speaks Anthropic's Messages, and what crosses from one of them to another."""

from lab import Exchange, Scenario, dialogue

from scenarios.messages_words import (
    ADAPTIVE,
    AND,
    ANTHROPIC,
    ASKED,
    DATABRICKS,
    DEEPSEEK,
    HM,
    KIMI,
    MANUAL,
    OPENROUTER,
    SEALED,
    VERTEX,
    VERTEX_PLAIN,
    asking,
    assistant,
    redacted,
    result,
    results,
    say,
    stream,
    text,
    think,
    use,
    user,
    whole,
)
from thoughtkeep.turns import Json

_ON_VERTEX = asking("", thinking=ADAPTIVE)
_UNSIGNED = {"type": "thinking", "thinking": "Let me look it up."}
# Kimi never checks what it signs with (seen on the wire): it need not be base64.
_KIMI = think("Let me look it up.", "sig:0198-kimi:unchecked")
# OpenRouter's skin wraps the reasoning of other models.
_WRAPPED = redacted("openrouter.reasoning:eyJ0eXBlIjoicmVhc29uaW5nLmVuY3J5cHRlZCJ9")

_LOOKALIKES: list[Scenario] = [
    dialogue(
        "Vertex: the model stands in the path, of streams",
        VERTEX,
        _ON_VERTEX,
        ASKED,
        say(stream(HM, use("a")), assistant(use("a")), assistant(HM, use("a"))),
        results(result("a")),
    ),
    Scenario(
        "Vertex: and of plain answers",
        VERTEX_PLAIN,
        (Exchange(_ON_VERTEX([ASKED]), whole(HM, use("a"), model="claude-opus-4-6")),),
        _ON_VERTEX([ASKED, assistant(use("a")), results(result("a"))]),
        _ON_VERTEX([ASKED, assistant(HM, use("a")), results(result("a"))]),
        next_url=VERTEX,
    ),
    dialogue(
        "Databricks: Anthropic's own blocks at Anthropic's own path",
        DATABRICKS,
        asking("databricks-claude-opus-4-6"),
        ASKED,
        say(stream(HM, use("a"), AND), assistant(use("a")), assistant(HM, use("a"), AND)),
        results(result("a")),
    ),
    dialogue(
        "DeepSeek: thinking has no signature, and goes back without one",
        DEEPSEEK,
        asking("deepseek-v4", thinking=MANUAL),
        ASKED,
        say(whole(_UNSIGNED, use("a")), assistant(use("a")), assistant(_UNSIGNED, use("a"))),
        results(result("a")),
        say(
            stream(think("Now the other one.", ""), use("b", "moon")),
            assistant(use("b", "moon")),
            assistant(think("Now the other one.", ""), use("b", "moon")),
        ),
        results(result("b")),
    ),
    dialogue(
        "DeepSeek: a turn that nobody knows is worth a line",
        DEEPSEEK,
        asking("deepseek-v4", thinking=MANUAL),
        ASKED,
        assistant(use("a")),
        results(result("a")),
        say(whole(_UNSIGNED, text("Noon.")), assistant("Noon."), assistant(_UNSIGNED, text("Noon."))),
        user("Thanks."),
        missed=("unknown_turn",),
    ),
    dialogue(
        "Kimi: a signature that is no base64 goes back as it came",
        KIMI,
        asking("kimi-k2.5", thinking=MANUAL),
        ASKED,
        say(stream(_KIMI, use("tide:0")), assistant(use("tide:0")), assistant(_KIMI, use("tide:0"))),
        results(result("tide:0")),
        say(
            stream(_KIMI, use("tide:1", "moon")),
            assistant(_UNSIGNED, use("tide:1", "moon")),
            assistant(_KIMI, use("tide:1", "moon")),
        ),
        results(result("tide:1")),
    ),
    dialogue(
        "OpenRouter: what its skin makes of another model's reasoning goes back as it came",
        OPENROUTER,
        asking("openai/gpt-5.2"),
        ASKED,
        say(
            stream(think("Let me look it up.", ""), _WRAPPED, use("call_1", note=SEALED)),
            assistant(use("call_1")),
            assistant(think("Let me look it up.", ""), _WRAPPED, use("call_1", note=SEALED)),
        ),
        results(result("call_1")),
    ),
]


def _cross(rule: str, there: tuple[str, str], here: tuple[str, str], *missed: str) -> Scenario:
    """A turn that was made at one (address, model) is told at another."""
    (made_at, maker), (told_at, model) = there, here
    lossy, kept = assistant(use("a")), assistant(HM, use("a"))
    before, now = asking(maker, thinking=MANUAL), asking(model, thinking=MANUAL)
    sent: Json = None if missed else now([ASKED, kept, results(result("a"))])
    told = now([ASKED, lossy, results(result("a"))])
    exchange = Exchange(before([ASKED]), stream(HM, use("a")))
    return Scenario(rule, made_at, (exchange,), told, sent, missed, next_url=told_at)


_OPUS, _SONNET = "claude-opus-4-6", "claude-sonnet-4-6-20260217"

_CROSSING: list[Scenario] = [
    _cross("Claude reads Claude's thinking", (ANTHROPIC, _OPUS), (ANTHROPIC, _SONNET)),
    _cross("a look-alike gets nothing of Claude's", (ANTHROPIC, _OPUS), (KIMI, "kimi-k2.5"), "other_provider"),
    _cross("Anthropic gets nothing of Vertex's", (VERTEX, _OPUS), (ANTHROPIC, _OPUS), "other_provider"),
    _cross(
        "OpenRouter: another model behind the skin gets nothing of Claude's",
        (OPENROUTER, f"anthropic/{_OPUS}"),
        (OPENROUTER, "openai/gpt-5.2"),
        "other_model",
    ),
]

# -- models that bind their thinking to all that stands before it ------------------------------------------------------

_TOOLS = [{"name": "tide", "input_schema": {"type": "object"}}, {"name": "moon", "input_schema": {"type": "object"}}]
_CALM: Json = [{"type": "text", "text": "Be calm."}]
_BOUND = asking("claude-fable-5-1", system=_CALM, tools=_TOOLS, thinking=ADAPTIVE)
_UNASKED = asking("claude-fable-5-1", system=_CALM, tools=_TOOLS)
_MARK = {"cache_control": {"type": "ephemeral"}}

# Two turns, as a client that lost the thinking tells them, and as they were.
_LOST = [assistant(use("a")), results(result("a")), assistant(use("b", "moon")), results(result("b"))]
_WHOLE = [assistant(HM, use("a")), results(result("a")), assistant(AND, use("b", "moon")), results(result("b"))]
_MADE = (
    Exchange(_BOUND([ASKED]), stream(HM, use("a"))),
    Exchange(_BOUND([ASKED, *_LOST[:2]]), stream(AND, use("b", "moon"))),
)


def _bound(rule: str, told: Json, sent: Json, *missed: str, made: tuple[Exchange, ...] = _MADE) -> Scenario:
    return Scenario(f"bound thinking {rule}", ANTHROPIC, made, told, sent, missed)


_CHANGED = user("When is low tide?")
_LAST_ONLY = [*_LOST[:2], *_WHOLE[2:]]

_BINDING: list[Scenario] = [
    _bound("goes behind the very request that it was made for", _BOUND([ASKED, *_LOST]), _BOUND([ASKED, *_WHOLE])),
    _bound(
        "goes where the client has lost only the last",
        _BOUND([ASKED, *_WHOLE[:2], *_LOST[2:]]),
        _BOUND([ASKED, *_WHOLE]),
    ),
    _bound(
        "goes where a cache mark has moved",
        _BOUND([user([text("When is high tide?", **_MARK)]), *_LOST[:3], results(result("b", **_MARK))]),
        _BOUND([user([text("When is high tide?", **_MARK)]), *_WHOLE[:3], results(result("b", **_MARK))]),
    ),
    _bound(
        "goes where one block is told as a string, or a string as one block",
        _BOUND([user([text("When is high tide?")]), *_LOST[:3], results(result("b", [text("high")]))]),
        _BOUND([user([text("When is high tide?")]), *_WHOLE[:3], results(result("b", [text("high")]))]),
    ),
    _bound(
        "stays away where the system prompt has changed",
        _BOUND([ASKED, *_LOST]) | {"system": "Be quick."},
        None,
        "prefix_changed",
        "prefix_changed",
    ),
    _bound(
        "stays away where a tool is gone",
        _BOUND([ASKED, *_LOST]) | {"tools": _TOOLS[1:]},
        None,
        "prefix_changed",
        "prefix_changed",
    ),
    _bound(
        "stays away where the history was edited", _BOUND([_CHANGED, *_LOST]), None, "prefix_changed", "prefix_changed"
    ),
    _bound(
        "goes to the newest turns that were made behind what goes out now",
        _BOUND([_CHANGED, *_LOST]),
        _BOUND([_CHANGED, *_LAST_ONLY]),
        "prefix_changed",
        made=(_MADE[0], Exchange(_BOUND([_CHANGED, *_LOST[:2]]), _MADE[1].reply)),
    ),
    _bound(
        "goes to no turn before one that changed",
        _BOUND([ASKED, *_LOST[:2], user("Sure?"), *_LOST[2:]]),
        None,
        "prefix_changed",
        "prefix_changed",
    ),
    _bound(
        "goes behind a turn that nobody knows",
        _BOUND([ASKED, assistant("Noon?"), user("Look."), *_LOST[:2]]),
        _BOUND([ASKED, assistant("Noon?"), user("Look."), *_WHOLE[:2]]),
        made=(Exchange(_BOUND([ASKED, assistant("Noon?"), user("Look.")]), _MADE[0].reply),),
    ),
    _bound(
        "was made behind turns told in a row",
        _BOUND([7, ASKED, assistant("Noon?"), assistant("Or one?"), user("Look."), *_LOST[:2]]),
        _BOUND([7, ASKED, assistant("Noon?"), assistant("Or one?"), user("Look."), *_WHOLE[:2]]),
        made=(Exchange(_BOUND([7, ASKED, assistant("Noon?"), assistant("Or one?"), user("Look.")]), _MADE[0].reply),),
    ),
    _bound(
        "goes to no turn that was without it when a later one was made",
        _BOUND([ASKED, *_LOST]),
        _BOUND([ASKED, *_LAST_ONLY]),
        "prefix_changed",
        made=(_MADE[0], Exchange(_UNASKED([ASKED, *_LOST[:2]]), _MADE[1].reply)),
    ),
    _bound(
        "is not needed by turns without any",
        _BOUND([ASKED, *_LOST[:2], assistant("Noon."), user("Thanks.")]),
        _BOUND([ASKED, *_WHOLE[:2], assistant("Noon."), user("Thanks.")]),
        made=(_MADE[0], Exchange(_BOUND([ASKED, *_LOST[:2]]), stream(text("Noon.")))),
    ),
]

SCENARIOS = [*_LOOKALIKES, *_CROSSING, *_BINDING]
