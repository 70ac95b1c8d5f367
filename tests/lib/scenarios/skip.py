"""Google's documented stand-in where a signature is demanded that nobody has."""

from lab import Exchange, Scenario

from scenarios import chat_words as chat
from scenarios import gemini_words as gemini
from thoughtkeep.turns import Json

VALUE = "skip_thought_signature_validator"
ASKED = chat.user("How cold?")


def _steps(first: Json, second: Json, name: str = "thoughtSignature") -> list[Json]:
    """A turn that is done, then one with two steps; the calls of the steps as given, the second one beside another."""
    return [
        gemini.ASKED,
        gemini.model(gemini.call("tide")),
        gemini.results(gemini.result("tide")),
        gemini.model({"text": "At six."}),
        gemini.user("And the moon?"),
        gemini.model(gemini.call("moon", **first)),
        gemini.results(gemini.result("moon")),
        gemini.model(gemini.call("moon", gemini.BREST, **second), gemini.call("tide")),
        gemini.results(gemini.result("moon"), gemini.result("tide")),
    ]


_UNKNOWN = ("unknown_turn",)
_SKIP: dict[str, Json] = {"thoughtSignature": VALUE}
_OLD = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"


def _chat(rule: str, url: str, model: str, told: Json, sent: Json) -> Scenario:
    asking = chat.asking(model)
    expected = None if sent == told else asking([ASKED, sent, chat.tool("c1")])
    return Scenario(rule, url, (), asking([ASKED, told, chat.tool("c1")]), expected, _UNKNOWN, skip=True)


def _entry(call_id: str) -> Json:
    return {"type": "reasoning.encrypted", "data": VALUE, "id": call_id, "format": "google-gemini-v1", "index": 0}


_CALL = chat.call("c1")
_STAND_IN: dict[str, Json] = {"extra_content": {"google": {"thought_signature": VALUE}}}

SCENARIOS: list[Scenario] = [
    Scenario(
        "the first call of each step of the current turn gets the stand-in, no other call and no earlier turn does",
        gemini.NATIVE,
        (),
        gemini.ASKING(_steps({}, {})),
        gemini.ASKING(_steps(_SKIP, _SKIP)),
        _UNKNOWN * 3,
        skip=True,
    ),
    Scenario(
        "a step that is known gets what was issued for it, one that the client signed itself gets nothing",
        gemini.NATIVE,
        (Exchange(gemini.ASKING(_steps({}, {})[:5]), gemini.whole(gemini.call("moon", **gemini.SIGNED))),),
        gemini.ASKING(_steps({}, gemini.SIGNED2)),
        gemini.ASKING(_steps(gemini.SIGNED, gemini.SIGNED2)),
        _UNKNOWN,
        skip=True,
    ),
    Scenario(
        "a step whose signature may not go gets the stand-in",
        gemini.NATIVE,
        (
            Exchange(
                gemini.ASKING(_steps({}, {})[:5]),
                gemini.whole(gemini.call("moon", **gemini.SIGNED)),
                url=gemini.VERTEX,
            ),
        ),
        gemini.ASKING(_steps({}, gemini.SIGNED2)),
        gemini.ASKING(_steps(_SKIP, gemini.SIGNED2)),
        ("other_provider", *_UNKNOWN),
        skip=True,
    ),
    Scenario(
        "models before Gemini 3 demand no signature",
        _OLD,
        (),
        gemini.ASKING(_steps({}, {})),
        None,
        _UNKNOWN * 3,
        skip=True,
    ),
    _chat(
        "Google compat: the stand-in stands where the signature would",
        chat.GOOGLE,
        "gemini-3-pro",
        chat.assistant(None, _CALL),
        chat.assistant(None, chat.call("c1", **_STAND_IN)),
    ),
    _chat(
        "OpenRouter: the stand-in is an entry for the first call",
        chat.OPENROUTER,
        "google/gemini-3-pro",
        chat.assistant(None, _CALL),
        chat.assistant(None, _CALL, reasoning_details=[_entry("c1")]),
    ),
    _chat(
        "Databricks: no stand-in is documented",
        chat.DATABRICKS,
        "gemini-3-pro",
        chat.assistant(None, _CALL),
        chat.assistant(None, _CALL),
    ),
]
