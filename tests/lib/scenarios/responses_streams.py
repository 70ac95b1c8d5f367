"""How Responses come, and what stays of one that never ended."""

from lab import Reply, Scenario, dialogue, sse

from scenarios.responses_words import (
    AND,
    ASKED,
    CODEX,
    GPT,
    HM,
    added,
    call,
    created,
    done,
    ended,
    events,
    output,
    resealed,
    say,
    streaming,
    user,
    whole,
    without,
)
from thoughtkeep.turns import Json

_CALL, _MOON = call("call_1", ref="fc_1"), call("call_2", "moon", ref="fc_2")
_ALL = [HM, _CALL]


def _came(rule: str, reply: Reply, told: list[Json], sent: list[Json]) -> Scenario:
    """An answer, and what goes back when the client tells these items of it."""
    answers = [output(item["call_id"]) for item in told]
    return dialogue(f"Responses: {rule}", CODEX, GPT, ASKED, say(reply, told, sent), *answers, user("Go on."))


def _whole(rule: str, reply: Reply) -> Scenario:
    return _came(rule, reply, [_CALL], _ALL)


def _nothing(rule: str, reply: Reply) -> Scenario:
    return _came(rule, reply, [_CALL], [_CALL])


_FAILED = ended(kind="failed", error={"code": "server_error", "message": "Sorry."})
_UNINDEXED = [without(event, "output_index") for item in _ALL for event in done(0, item)]

_ENDS: list[Scenario] = [
    _whole("blobs made anew at the end do not matter", events([*streaming(*_ALL), ended(*map(resealed, _ALL))])),
    _whole("an end that lists no items takes none away", events([*streaming(*_ALL), ended()])),
    _whole("an end that lists what is no list takes none away", events([*streaming(*_ALL), ended(output=None)])),
    _whole("an end that tells nothing at all is an end", events([*streaming(*_ALL), {"type": "response.done"}])),
    _whole("items that only the end lists are known by it", events([*created(), ended(*_ALL, 7)])),
    _whole("an answer that was cut at its limit has ended", events([*streaming(*_ALL), ended(kind="incomplete")])),
    _whole("streams without event lines are told by their data", sse([*streaming(*_ALL), ended(), "[DONE]"])),
    _whole("items without a number stand as they came", events([*created(), *_UNINDEXED, ended()])),
    _whole(
        "events that fit nowhere are passed over",
        events(
            [
                *streaming(*_ALL),
                {"type": "response.output_item.done", "output_index": 9, "item": None},
                {"type": "response.created", "response": None},
                {"type": "response.created", "response": {"model": 7, "usage": {"total_tokens": "many"}}},
                {"type": "keepalive"},
                ended(),
            ]
        ),
    ),
    _came(
        "items that are made at the same time stand by their numbers",
        events(
            [
                *created(),
                *[added(number, item) for number, item in enumerate([HM, _CALL, AND, _MOON])],
                *[done(number, item)[-1] for number, item in reversed([*enumerate([HM, _CALL, AND, _MOON])])],
                ended(),
            ]
        ),
        [_CALL, _MOON],
        [HM, _CALL, AND, _MOON],
    ),
    _whole("a plain answer", whole(*_ALL)),
    _whole("a plain answer that was cut at its limit", whole(*_ALL, status="incomplete")),
]

_CUT: list[Scenario] = [
    _whole("of an answer that was cut off the items that were done stay", events(streaming(*_ALL), ends=False)),
    _whole("so they do of one that failed", events([*streaming(*_ALL), _FAILED], ends=False)),
    _whole(
        "so they do of one with an error in its midst",
        events([*streaming(*_ALL), {"type": "error", "code": "overloaded", "message": "Sorry."}], ends=False),
    ),
    _whole(
        "so they do where a gateway tells the error",
        sse([*streaming(*_ALL), {"error": {"message": "Sorry."}}], ends=False),
    ),
    _nothing(
        "an item that was only announced is not known",
        events([*created(), added(0, HM), *done(1, _CALL)], ends=False),
    ),
    _nothing("an answer of which nothing was done is not known", events(created(), ends=False)),
    _whole("a plain answer that failed has not ended", whole(*_ALL, status="failed", ends=False)),
    _whole("nor one that goes on in the background", whole(*_ALL, status="queued", ends=False)),
]

SCENARIOS = [*_ENDS, *_CUT]
