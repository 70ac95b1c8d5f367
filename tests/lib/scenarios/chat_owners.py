"""What the client has instead of what was issued, and whose state it is."""

from lab import Exchange, Scenario, dialogue

from scenarios.chat_words import (
    ASKED,
    DEEPSEEK,
    GEMINI,
    GOOGLE,
    GROQ,
    OPENAI,
    OPENROUTER,
    SEALED,
    SIGNED,
    SOME,
    asking,
    call,
    called,
    calling,
    chunk,
    google,
    say,
    sealed,
    stream,
    text_of,
    thinking,
    tool,
    user,
    whole,
)
from thoughtkeep.turns import Json

GEMINI3 = asking("gemini-3-pro-preview")


def _instead(rule: str, have: Json, sent: Json) -> Scenario:
    """An answer of Google's whose signature comes back as `have`."""
    return dialogue(
        rule,
        GOOGLE,
        GEMINI3,
        ASKED,
        say(stream(*calling(call("a", **google(SIGNED)))), called(call("a", **have)), called(call("a", **sent))),
        tool("a"),
    )


_VALUES: list[Scenario] = [
    *(
        _instead(f"{what} gives way to what was issued", google(value), google(SIGNED))
        for what, value in {
            "an empty value": "",
            "a skip value": "context_engineering_is_the_way_to_go",
            "a skip value in base64": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
            "a value cut short": SIGNED[:9],
            "a value that is no base64": "<redacted by the logger>",
        }.items()
    ),
    _instead("null gives way to what was issued", {"extra_content": None}, google(SIGNED)),
    _instead("another whole value is the client's own affair", google("b3RoZXItdmFsdWU="), google("b3RoZXItdmFsdWU=")),
    _instead(
        "the same value in the url-safe alphabet is the same value",
        google(SIGNED.replace("+", "-").replace("/", "_")),
        google(SIGNED.replace("+", "-").replace("/", "_")),
    ),
    dialogue(
        "fillers that agents invent give way to what was issued",
        DEEPSEEK,
        asking("deepseek-chat"),
        ASKED,
        say(
            thinking("Hm.", call("c1")),
            called(call("c1"), reasoning_content="(reasoning unavailable)"),
            called(call("c1"), reasoning_content="Hm."),
        ),
        tool("c1"),
    ),
    dialogue(
        "reasoning that the client wrote itself is left",
        DEEPSEEK,
        asking("deepseek-chat"),
        ASKED,
        say(
            thinking("Hm.", call("c1")),
            called(call("c1"), reasoning_content="I thought about it."),
            called(call("c1"), reasoning_content="I thought about it."),
        ),
        tool("c1"),
    ),
]


def _pinned(rule: str, provider: Json, *missed: str) -> Scenario:
    gemini = asking("google/gemini-3-pro-preview", provider=provider)
    entry = [sealed(SEALED, id="t1", **GEMINI)]
    reply = whole(called(call("t1"), reasoning_details=entry), "tool_calls", provider="Google AI Studio")
    expected = None if missed else gemini([ASKED, called(call("t1"), reasoning_details=entry), tool("t1")])
    lossy = gemini([ASKED, called(call("t1")), tool("t1")])
    exchange = Exchange(asking("google/gemini-3-pro-preview")([ASKED]), reply)
    return Scenario(rule, OPENROUTER, (exchange,), lossy, expected, missed)


_OWNERS: list[Scenario] = [
    _pinned("OpenRouter: a request that pins another upstream gets none", {"only": ["anthropic"]}, "other_upstream"),
    _pinned(
        "OpenRouter: so does one that allows nothing else",
        {"order": ["openai", 7], "allow_fallbacks": False},
        "other_upstream",
    ),
    _pinned("OpenRouter: a request that pins the same upstream gets it", {"only": ["google-ai-studio"]}),
    _pinned("OpenRouter: a preference is no pin", {"order": ["anthropic"]}),
    _pinned("OpenRouter: what is no list is no pin", {"only": "anthropic"}),
    Scenario(
        "another model's state stays away, a dated name of the same model gets it",
        GOOGLE,
        (
            Exchange(GEMINI3([ASKED]), stream(*calling(call("a", **google(SIGNED))))),
            Exchange(asking("gemma-9")([user("Else")]), stream(*calling(call("b", **google(SEALED))))),
        ),
        asking("gemini-3-pro-preview@001")([ASKED, called(call("a")), tool("a"), called(call("b")), tool("b")]),
        asking("gemini-3-pro-preview@001")(
            [ASKED, called(call("a", **google(SIGNED))), tool("a"), called(call("b")), tool("b")]
        ),
        ("other_model",),
    ),
    Scenario(
        "AI Studio gets nothing of Vertex's",
        "https://aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
        (Exchange(GEMINI3([ASKED]), stream(*calling(call("a", **google(SIGNED))))),),
        GEMINI3([ASKED, called(call("a")), tool("a")]),
        None,
        ("other_provider",),
        next_url=GOOGLE,
    ),
    Scenario(
        "twin hosts of one vendor are one",
        "https://api.moonshot.ai/v1/chat/completions",
        (Exchange(SOME([ASKED]), thinking("Hm.", call("c1"))),),
        SOME([ASKED, called(call("c1")), tool("c1")]),
        SOME([ASKED, called(call("c1"), reasoning_content="Hm."), tool("c1")]),
        next_url="https://api.moonshot.cn/v1/chat/completions",
    ),
    Scenario(
        "another port of an unknown host is another host",
        "http://127.0.0.1:8000/v1/chat/completions",
        (Exchange(SOME([ASKED]), thinking("Hm.", call("c1"))),),
        SOME([ASKED, called(call("c1")), tool("c1")]),
        None,
        ("other_provider",),
        next_url="http://127.0.0.1:8001/v1/chat/completions",
    ),
    *(
        Scenario(
            f"a strict vendor ({url.split('/')[2]}) gets nothing on its messages of what another one issued",
            OPENROUTER,
            (Exchange(SOME([ASKED]), stream(chunk(reasoning_details=[text_of("x")]), *calling(call("c1")))),),
            SOME([ASKED, called(call("c1")), tool("c1")]),
            None,
            ("other_provider",),
            next_url=url,
        )
        for url in (OPENAI, GROQ)
    ),
]

SCENARIOS = [*_VALUES, *_OWNERS]
