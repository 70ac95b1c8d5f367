"""Entries of `reasoning_details`: OpenRouter, and the gateways that have them from it."""

from lab import Scenario, dialogue, sse

from scenarios.chat_words import (
    ASKED,
    CLAUDE,
    DONE,
    GEMINI,
    GPT,
    OPENROUTER,
    SEALED,
    SIGNED,
    SNOWFLAKE,
    VERCEL,
    asking,
    assistant,
    call,
    calling,
    chunk,
    say,
    sealed,
    stream,
    text_of,
    tool,
    user,
    whole,
)

SCENARIOS: list[Scenario] = [
    dialogue(
        "OpenRouter: Gemini's encrypted entry goes back on the message, behind a run of comments",
        OPENROUTER,
        asking("google/gemini-3-pro-preview"),
        ASKED,
        say(
            sse(
                [
                    ": OPENROUTER PROCESSING",
                    ": OPENROUTER PROCESSING",
                    chunk(role="assistant", content="", reasoning="Look.", reasoning_details=[text_of("Look.")]),
                    chunk(reasoning_details=[sealed(SEALED, id="tool_forecast_1", **GEMINI)]),
                    *calling(call("tool_forecast_1")),
                    chunk("tool_calls"),
                    chunk(content="") | {"usage": {"total_tokens": 44}, "provider": "Google AI Studio"},
                    DONE,
                ]
            ),
            assistant("", call("tool_forecast_1")),
            assistant(
                "",
                call("tool_forecast_1"),
                reasoning_details=[text_of("Look."), sealed(SEALED, id="tool_forecast_1", **GEMINI)],
            ),
        ),
        tool("tool_forecast_1"),
    ),
    dialogue(
        "OpenRouter: an entry that the client echoes under the old id follows its call to the new one",
        OPENROUTER,
        asking("google/gemini-3-pro-preview"),
        ASKED,
        say(
            sse(
                [
                    chunk(role="assistant", reasoning_details=[sealed(SEALED, id="tool_forecast_1", **GEMINI)]),
                    *calling(call("tool_forecast_1")),
                    chunk("tool_calls"),
                    DONE,
                ]
            ),
            assistant("", call("call_9"), reasoning_details=[sealed(SEALED, id="tool_forecast_1", **GEMINI)]),
            assistant("", call("call_9"), reasoning_details=[sealed(SEALED, id="call_9", **GEMINI)]),
        ),
        tool("call_9"),
    ),
    dialogue(
        "OpenRouter: Gemini's entries follow their call to the id that the client gave it",
        OPENROUTER,
        asking("google/gemini-3-pro-preview"),
        ASKED,
        say(
            whole(
                assistant(
                    None,
                    call("tool_a"),
                    call("tool_b", "tides"),
                    reasoning_details=[
                        sealed("QUFB", id="tool_a", **GEMINI),
                        sealed("QkJC", id="tool_b", **GEMINI),
                        sealed("Q0ND", id="tool_a", **GPT),
                        text_of("no id", **GEMINI),
                    ],
                ),
                "tool_calls",
            ),
            assistant(None, call("call_1"), call("call_2", "tides")),
            assistant(
                None,
                call("call_1"),
                call("call_2", "tides"),
                reasoning_details=[
                    sealed("QUFB", id="call_1", **GEMINI),
                    sealed("QkJC", id="call_2", **GEMINI),
                    sealed("Q0ND", id="tool_a", **GPT),
                    text_of("no id", **GEMINI),
                ],
            ),
        ),
        tool("call_1"),
        tool("call_2"),
    ),
    dialogue(
        "OpenRouter: a text turn without calls gets its signature back by its place",
        OPENROUTER,
        asking("google/gemini-3-flash"),
        ASKED,
        say(
            stream(
                chunk(content="Minus "),
                chunk(content="three."),
                chunk(reasoning_details=[{"type": "reasoning.text", "signature": SIGNED, "index": 0, **GEMINI}]),
            ),
            assistant("Minus three."),
            assistant(
                "Minus three.",
                reasoning_details=[{"type": "reasoning.text", "signature": SIGNED, "index": 0, **GEMINI}],
            ),
        ),
        user("And on Sunday?"),
    ),
    dialogue(
        "OpenRouter: Claude's fragments are one entry, its signature late and alone, after the text has begun",
        OPENROUTER,
        asking("anthropic/claude-sonnet-4.5"),
        ASKED,
        say(
            stream(
                chunk(role="assistant", content="", reasoning=None, reasoning_details=[]),
                chunk(reasoning_details=[text_of("", signature="", **CLAUDE)]),
                chunk(reasoning="Where ", reasoning_details=[text_of("Where ", **CLAUDE)]),
                chunk(reasoning="is it?", reasoning_details=[text_of("is it?", **CLAUDE)]),
                chunk(content="Let me see.", reasoning=None, reasoning_details=[]),
                chunk(
                    reasoning_details=[{"type": "reasoning.text", "signature": SIGNED, "index": 0, **CLAUDE}],
                ),
                *calling(call("toolu_1")),
                finish="tool_calls",
            ),
            assistant("Let me see.", call("toolu_1")),
            assistant(
                "Let me see.", call("toolu_1"), reasoning_details=[text_of("Where is it?", signature=SIGNED, **CLAUDE)]
            ),
        ),
        tool("toolu_1"),
    ),
    dialogue(
        "OpenRouter: with index 0 for all, OpenAI's summary and its ciphertext stay two entries",
        OPENROUTER,
        asking("openai/gpt-5.2"),
        ASKED,
        say(
            stream(
                chunk(reasoning_details=[{"type": "reasoning.summary", "summary": "**Fore", "index": 0, **GPT}]),
                chunk(reasoning_details=[{"type": "reasoning.summary", "summary": "cast**", "index": 0, **GPT}]),
                chunk(reasoning_details=[sealed(SEALED, id="rs_1", **GPT)]),
                *calling(call("call_1")),
                finish="tool_calls",
            ),
            assistant(None, call("call_1")),
            assistant(
                None,
                call("call_1"),
                reasoning_details=[
                    {"type": "reasoning.summary", "summary": "**Forecast**", "index": 0, **GPT},
                    sealed(SEALED, id="rs_1", **GPT),
                ],
            ),
        ),
        tool("call_1"),
    ),
    dialogue(
        "OpenRouter: an empty list of entries is a value, and goes back beside the plain words",
        OPENROUTER,
        asking("deepseek/deepseek-v4"),
        ASKED,
        say(
            stream(chunk(reasoning="Cold.", reasoning_details=[]), *calling(call("c1")), finish="tool_calls"),
            assistant("", call("c1")),
            assistant("", call("c1"), reasoning_details=[], reasoning="Cold."),
        ),
        tool("c1"),
    ),
    dialogue(
        "OpenRouter: the entries of a plain answer go back as they came, like ones not joined",
        OPENROUTER,
        asking("openai/gpt-5.2"),
        ASKED,
        say(
            whole(
                assistant(
                    "Cold.",
                    reasoning_details=[
                        {"type": "reasoning.summary", "summary": "one", "index": 0, **GPT},
                        {"type": "reasoning.summary", "summary": "two", "index": 0, **GPT},
                        sealed(SEALED, id="rs_1", **GPT),
                    ],
                )
            ),
            assistant("Cold."),
            assistant(
                "Cold.",
                reasoning_details=[
                    {"type": "reasoning.summary", "summary": "one", "index": 0, **GPT},
                    {"type": "reasoning.summary", "summary": "two", "index": 0, **GPT},
                    sealed(SEALED, id="rs_1", **GPT),
                ],
            ),
        ),
        user("Thanks. And then?"),
    ),
    dialogue(
        "OpenRouter: fragments that the client sends back unjoined are replaced by the entries they were",
        OPENROUTER,
        asking("anthropic/claude-opus-4.5"),
        ASKED,
        say(
            stream(
                chunk(reasoning_details=[text_of("One, ", **CLAUDE)]),
                chunk(reasoning_details=[text_of("two.", **CLAUDE)]),
                chunk(reasoning_details=[{"type": "reasoning.text", "signature": SIGNED, "index": 0, **CLAUDE}]),
                *calling(call("toolu_2")),
                finish="tool_calls",
            ),
            assistant(
                "",
                call("toolu_2"),
                reasoning_details=[
                    text_of("One, ", **CLAUDE),
                    text_of("two.", **CLAUDE),
                    {"type": "reasoning.text", "signature": SIGNED, "index": 0, **CLAUDE},
                ],
            ),
            assistant("", call("toolu_2"), reasoning_details=[text_of("One, two.", signature=SIGNED, **CLAUDE)]),
        ),
        tool("toolu_2"),
    ),
    dialogue(
        "OpenRouter: plain words go back under the name they came with; the client's renamed copy goes",
        OPENROUTER,
        asking("z-ai/glm-4.7"),
        ASKED,
        say(
            stream(chunk(reasoning="Cold, I think."), *calling(call("c1")), finish="tool_calls"),
            assistant("", call("c1"), reasoning_text="Cold, I think."),
            assistant("", call("c1"), reasoning="Cold, I think."),
        ),
        tool("c1"),
    ),
    dialogue(
        "Vercel: entries go back, the words that repeat them do not",
        VERCEL,
        asking("anthropic/claude-sonnet-4.5"),
        ASKED,
        say(
            stream(
                chunk(reasoning="Hm.", reasoning_details=[text_of("Hm.", **CLAUDE)]),
                chunk(reasoning_details=[{"type": "reasoning.text", "signature": SIGNED, "index": 0}]),
                *calling(call("c1")),
                finish="tool_calls",
            ),
            assistant("", call("c1")),
            assistant("", call("c1"), reasoning_details=[text_of("Hm.", signature=SIGNED, **CLAUDE)]),
        ),
        tool("c1"),
    ),
    dialogue(
        "Snowflake: a plain answer is whole though its finish_reason is empty",
        SNOWFLAKE,
        asking("claude-sonnet-4-5"),
        ASKED,
        say(
            whole(
                assistant("", call("toolu_3"), reasoning_details=[text_of("Hm.", signature=SIGNED)]),
                "",
            ),
            assistant("", call("toolu_3")),
            assistant("", call("toolu_3"), reasoning_details=[text_of("Hm.", signature=SIGNED)]),
        ),
        tool("toolu_3"),
    ),
]
