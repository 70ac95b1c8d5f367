"""Signatures that are missing or refused: what of the request is repaired, and what is remembered of it."""

import pytest
from refused import (
    NATIVE,
    OLD_NATIVE,
    OTHER,
    SIGNED,
    SKIP,
    Mended,
    entry,
    mended,
    signed,
    talk,
)
from scenarios import chat_words as chat
from scenarios import gemini_words as gemini

from thoughtkeep.turns import Json

ONE, TWO = gemini.call("tide", gemini.BREST), gemini.call("tide", gemini.DOVER)
RESULT = gemini.results(gemini.result("tide"))
SKIPPED = {"thoughtSignature": SKIP}
OPENROUTERS = "google/gemini-3-pro"
FLASH = NATIVE.replace("gemini-3-pro-preview", "gemini-flash-latest")


def native(first: Json, second: Json, *between: Json) -> Json:
    """Two steps of Gemini's own shape, with what stands between them."""
    return gemini.ASKING([gemini.ASKED, gemini.model(first), RESULT, *between, gemini.model(second), RESULT])


def parts(first: Json, second: Json = None) -> tuple[Json, Json]:
    """The two calls with further keys each."""
    return {**ONE, **(first or {})}, {**TWO, **(second or {})}


AGAIN = gemini.user("And now?")

# -- missing ----------------------------------------------------------------------------------------------------------

MISSING: list[tuple[str, str, Json, Json]] = [
    ("on each step of the turn", NATIVE, native(ONE, TWO), native(*parts(SKIPPED, SKIPPED))),
    (
        "not where one stands",
        NATIVE,
        native(*parts(gemini.SIGNED)),
        native(*parts(gemini.SIGNED, SKIPPED)),
    ),
    ("not in an earlier turn", NATIVE, native(ONE, TWO, AGAIN), native(*parts(None, SKIPPED), AGAIN)),
    (
        "but there too where the current turn lacks none: the provider counts turns in another way",
        NATIVE,
        native(*parts(None, gemini.SIGNED), AGAIN),
        native(*parts(SKIPPED, gemini.SIGNED), AGAIN),
    ),
    (
        "whatever the model is called: it has asked for one",
        FLASH,
        native(ONE, TWO, AGAIN),
        native(*parts(None, SKIPPED), AGAIN),
    ),
    (
        "under Google's key at its compat endpoint",
        chat.GOOGLE,
        talk("gemini-3-pro", chat.assistant(None, signed("c1")), chat.tool("c1")),
        talk("gemini-3-pro", chat.assistant(None, signed("c1", SKIP)), chat.tool("c1")),
    ),
    (
        "under both of Vertex's where the first was overlooked",
        chat.VERTEX,
        talk("gemini-3-pro", chat.assistant(None, signed("c1", SKIP)), chat.tool("c1")),
        talk(
            "gemini-3-pro",
            chat.assistant(
                None,
                chat.call(
                    "c1",
                    extra_content={"google": {"thought_signature": SKIP}, "vertex": {"thought_signature": SKIP}},
                ),
            ),
            chat.tool("c1"),
        ),
    ),
    (
        "as an entry at OpenRouter",
        chat.OPENROUTER,
        talk(OPENROUTERS, chat.assistant(None, signed("c1")), chat.tool("c1")),
        talk(OPENROUTERS, chat.assistant(None, signed("c1"), reasoning_details=[entry("c1")]), chat.tool("c1")),
    ),
]


@pytest.mark.parametrize(("_rule", "url", "body", "fixed"), MISSING)
def test_a_missing_signature_gets_the_stand_in(_rule: str, url: str, body: Json, fixed: Json) -> None:
    assert mended(url, body, "signature_missing").body == fixed


@pytest.mark.parametrize(("_rule", "url", "body", "fixed"), MISSING)
def test_no_stand_in_is_sent_where_it_is_turned_off(_rule: str, url: str, body: Json, fixed: Json) -> None:
    assert mended(url, body, "signature_missing", skip=False) == Mended(body, ())


@pytest.mark.parametrize(("_rule", "url", "body", "fixed"), MISSING)
def test_what_was_repaired_is_repaired_again_from_what_was_learnt_and_once(
    _rule: str, url: str, body: Json, fixed: Json
) -> None:
    marks = mended(url, body, "signature_missing").marks
    assert mended(url, body, "signature_missing", only=marks).body == fixed
    assert mended(url, fixed, "signature_missing", only=marks).body == fixed


def test_what_was_learnt_holds_for_the_steps_to_come_and_for_no_other_earlier_one() -> None:
    marks = mended(NATIVE, native(*parts(None, gemini.SIGNED), AGAIN), "signature_missing").marks
    later = [gemini.user("Later"), gemini.model(gemini.call("moon")), RESULT]
    body = native(ONE, TWO, AGAIN)
    body["contents"] += later
    fixed = mended(NATIVE, body, "signature_missing", only=marks).body["contents"]
    assert fixed[1]["parts"] == [{**ONE, **SKIPPED}]
    assert fixed[4]["parts"] == [TWO]
    assert fixed[7]["parts"] == [{**gemini.call("moon"), **SKIPPED}]


def test_where_there_is_no_call_there_is_nothing_to_sign() -> None:
    body = talk("gemini-3-pro", chat.assistant("Hello."), chat.user("more"))
    assert mended(chat.GOOGLE, body, "signature_missing").body == body


# -- refused ----------------------------------------------------------------------------------------------------------

FOREIGN = {"type": "reasoning.text", "text": "Hm.", "signature": OTHER}
DATABRICKS_THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm.", "signature": OTHER}]}
WORDS = {"type": "text", "text": "So."}

REFUSED: list[tuple[str, str, Json, Json]] = [
    (
        "in the current turn the stand-in takes their place",
        NATIVE,
        native(*parts(gemini.SIGNED, gemini.SIGNED2)),
        native(*parts(SKIPPED, SKIPPED)),
    ),
    (
        "in an earlier one nothing does",
        NATIVE,
        native(*parts(gemini.SIGNED, gemini.SIGNED2), AGAIN),
        native(*parts(None, SKIPPED), AGAIN),
    ),
    (
        "a model that demands none gets none",
        OLD_NATIVE,
        native(*parts(gemini.SIGNED, gemini.SIGNED2)),
        native(ONE, TWO),
    ),
    (
        "from texts and from inside a call as well",
        NATIVE,
        gemini.ASKING(
            [
                gemini.ASKED,
                gemini.model({"text": "So.", **gemini.SIGNED}, gemini.call("tide")),
                RESULT,
                gemini.model({"functionCall": {**ONE["functionCall"], **gemini.SIGNED2}}),
                RESULT,
            ]
        ),
        gemini.ASKING(
            [
                gemini.ASKED,
                gemini.model({"text": "So."}, gemini.call("tide", **SKIPPED)),
                RESULT,
                gemini.model({**ONE, **SKIPPED}),
                RESULT,
            ]
        ),
    ),
    (
        "fillers and flags are no signatures",
        NATIVE,
        native(*parts({"thoughtSignature": SKIP, "thought": True}, gemini.SIGNED2)),
        native(*parts({"thoughtSignature": SKIP, "thought": True}, SKIPPED)),
    ),
    (
        "Google compat: the client's own object goes",
        chat.GOOGLE,
        talk("gemini-3-pro", chat.assistant(None, signed("c1", OTHER)), chat.tool("c1")),
        talk("gemini-3-pro", chat.assistant(None, signed("c1", SKIP)), chat.tool("c1")),
    ),
    (
        "OpenRouter: with the entries the words go, which it would send on unsigned",
        chat.OPENROUTER,
        talk(
            "anthropic/claude-sonnet-4.6",
            chat.assistant(None, signed("c1"), reasoning="Hm.", reasoning_details=[FOREIGN]),
            chat.tool("c1"),
        ),
        talk("anthropic/claude-sonnet-4.6", chat.assistant(None, signed("c1")), chat.tool("c1")),
    ),
    (
        "OpenRouter: words alone go too",
        chat.OPENROUTER,
        talk("anthropic/claude-sonnet-4.6", chat.assistant("So.", reasoning="Hm."), chat.user("more")),
        talk("anthropic/claude-sonnet-4.6", chat.assistant("So."), chat.user("more")),
    ),
    (
        "OpenRouter with Gemini: an entry of ours takes the place of all others",
        chat.OPENROUTER,
        talk(
            OPENROUTERS,
            chat.assistant(None, signed("c1"), reasoning_details=[FOREIGN, entry("c1", SIGNED)]),
            chat.tool("c1"),
        ),
        talk(OPENROUTERS, chat.assistant(None, signed("c1"), reasoning_details=[entry("c1")]), chat.tool("c1")),
    ),
    (
        "Databricks with Claude: signed blocks in the content go",
        chat.DATABRICKS,
        talk("claude", chat.assistant([DATABRICKS_THOUGHT, WORDS]), chat.user("more")),
        talk("claude", chat.assistant([WORDS]), chat.user("more")),
    ),
    (
        "Databricks: where calls are all that is left the content is empty, not an empty list",
        chat.DATABRICKS,
        talk("claude", chat.assistant([DATABRICKS_THOUGHT], signed("c1")), chat.tool("c1")),
        talk("claude", chat.assistant("", signed("c1")), chat.tool("c1")),
    ),
    (
        "Databricks with Gemini: the sibling of the function goes",
        chat.DATABRICKS,
        talk("gemini-3-pro", chat.assistant(None, chat.call("look", thoughtSignature=OTHER)), chat.tool("look")),
        talk("gemini-3-pro", chat.assistant(None, chat.call("look")), chat.tool("look")),
    ),
]


@pytest.mark.parametrize(("_rule", "url", "body", "fixed"), REFUSED)
def test_refused_signatures_go(_rule: str, url: str, body: Json, fixed: Json) -> None:
    found = mended(url, body, "signature_refused")
    assert found.body == fixed
    assert found.marks


@pytest.mark.parametrize(("_rule", "url", "body", "fixed"), REFUSED)
def test_what_was_refused_once_goes_on_every_later_request(_rule: str, url: str, body: Json, fixed: Json) -> None:
    marks = mended(url, body, "signature_refused").marks
    assert mended(url, body, "signature_refused", only=marks).body == fixed
    assert mended(url, fixed, "signature_refused", only=marks).body == fixed


@pytest.mark.parametrize(("_rule", "url", "body", "fixed"), REFUSED)
def test_what_was_never_refused_stays(_rule: str, url: str, body: Json, fixed: Json) -> None:
    assert mended(url, body, "signature_refused", only=()).body == body


def test_a_signature_in_the_other_alphabet_is_the_same_signature() -> None:
    marks = mended(NATIVE, native(*parts(gemini.SIGNED)), "signature_refused").marks
    respelled = {"thoughtSignature": SIGNED.replace("+", "-").replace("/", "_").rstrip("=")}
    fixed = mended(NATIVE, native(*parts(respelled, gemini.SIGNED2)), "signature_refused", only=marks).body
    assert fixed == native(*parts(SKIPPED, gemini.SIGNED2))


def test_marks_do_not_show_what_they_stand_for() -> None:
    marks = mended(NATIVE, native(*parts(gemini.SIGNED, gemini.SIGNED2)), "signature_refused").marks
    assert len(marks) == 2
    assert all(len(mark) == 32 and set(mark) <= set("0123456789abcdef") for mark in marks)


def test_without_stand_ins_refused_signatures_go_and_nothing_comes() -> None:
    body = native(*parts(gemini.SIGNED, gemini.SIGNED2))
    assert mended(NATIVE, body, "signature_refused", skip=False).body == native(ONE, TWO)


def test_a_message_of_nothing_but_thinking_stays() -> None:
    body = talk("claude", chat.assistant([DATABRICKS_THOUGHT]), chat.user("more"))
    assert mended(chat.DATABRICKS, body, "signature_refused").body == body
