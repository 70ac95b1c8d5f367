"""What each vendor's answers hold beyond OpenAI's shape, and how it goes back: chat completions."""

from lab import Scenario, dialogue, plain, sse
from scenarios.chat_words import (
    DONE,
    assistant,
    asking,
    call,
    calling,
    chunk,
    say,
    stream,
    tool,
    usage,
    user,
    whole,
)
from thoughtkeep.turns import Json

OPENROUTER = "https://openrouter.ai/api/v1/chat/completions"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
VERTEX = (
    "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi/chat/completions"
)
DATABRICKS = "https://adb-77.4.azuredatabricks.net/ai-gateway/mlflow/v1/chat/completions"
SERVING = "https://dbc-1.cloud.databricks.com/serving-endpoints/gemini-3-pro/invocations"
DEEPSEEK = "https://api.deepseek.com/v1/chat/completions"
KIMI = "https://api.moonshot.ai/v1/chat/completions"
GLM = "https://api.z.ai/api/coding/paas/v4/chat/completions"
MINIMAX = "https://api.minimax.io/v1/chat/completions"
MISTRAL = "https://api.mistral.ai/v1/chat/completions"
QWEN = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions"
VLLM = "http://10.1.1.1:8000/v1/chat/completions"
COPILOT = "https://api.business.githubcopilot.com/chat/completions"
LITELLM = "https://litellm.example/v1/chat/completions"
VERCEL = "https://ai-gateway.vercel.sh/v1/chat/completions"
SNOWFLAKE = "https://acme.snowflakecomputing.com/api/v2/cortex/v1/chat/completions"
OPENAI = "https://api.openai.com/v1/chat/completions"
GROQ = "https://api.groq.com/openai/v1/chat/completions"
CEREBRAS = "https://api.cerebras.ai/v1/chat/completions"
UNKNOWN = "https://gateway.example/v1/chat/completions"

ASKED = user("How cold will it be?")
SIGNED = "EtMBCkgIBxABGAIqQFh5enp5"
SEALED = "gAAAAABpQ3JpbXNvbi1saWdodA=="


def text_of(text: str, **more: Json) -> dict[str, Json]:
    return {"type": "reasoning.text", "text": text, "index": 0, **more}


def sealed(data: str, **more: Json) -> dict[str, Json]:
    return {"type": "reasoning.encrypted", "data": data, "index": 0, **more}


GEMINI = {"format": "google-gemini-v1"}
CLAUDE = {"format": "anthropic-claude-v1"}
GPT = {"format": "openai-responses-v1"}

_OPENROUTER: list[Scenario] = [
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


def google(signature: str) -> Json:
    return {"extra_content": {"google": {"thought_signature": signature}}}


LONDON = '{"city":"London"}'

_GOOGLE: list[Scenario] = [
    dialogue(
        "Google compat: extra_content goes back on its call, and only on the one that had it",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED)), call("b", "tides")), finish="tool_calls"),
            assistant(None, call("a"), call("b", "tides")),
            assistant(None, call("a", **google(SIGNED)), call("b", "tides")),
        ),
        tool("a"),
        tool("b"),
    ),
    dialogue(
        "Google compat: without an index each call is in a chunk of its own, and the answer may say stop",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED)), call("b", arguments=LONDON), index=False)),
            assistant(None, call("a"), call("b", arguments=LONDON)),
            assistant(None, call("a", **google(SIGNED)), call("b", arguments=LONDON)),
        ),
        tool("a"),
        tool("b"),
    ),
    dialogue(
        "Google compat: without an index arguments may come in pieces, the extra_content alone at the end",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                chunk(tool_calls=[call("a", arguments='{"city":"Os')]),
                chunk(tool_calls=[{"function": {"arguments": 'lo"}'}}]),
                chunk(tool_calls=[google(SIGNED)]),
                chunk(tool_calls=[call("b", arguments='{"city":')]),
                chunk(tool_calls=[{"function": {"arguments": '"London"}'}}]),
            ),
            assistant(None, call("a", arguments='{"city": "Oslo"}'), call("b", arguments='{"city": "London"}')),
            assistant(
                None,
                call("a", arguments='{"city": "Oslo"}', **google(SIGNED)),
                call("b", arguments='{"city": "London"}'),
            ),
        ),
        tool("a"),
        tool("b"),
    ),
    dialogue(
        "Google compat: an extra_content alone belongs to the call whose id it has, not to the last one",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                *calling(call("a"), call("b", "tides"), index=False),
                chunk(tool_calls=[{"id": "a", **google(SIGNED)}]),
            ),
            assistant(None, call("a"), call("b", "tides")),
            assistant(None, call("a", **google(SIGNED)), call("b", "tides")),
        ),
        tool("a"),
        tool("b"),
    ),
    dialogue(
        "Google compat: index 0 for all parallel calls makes no one call of them",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                chunk(tool_calls=[{"index": 0, **call("a", **google(SIGNED))}]),
                chunk(tool_calls=[{"index": 0, **call("b", arguments=LONDON)}]),
                chunk(tool_calls=[{"index": 0, **call("c", "tides", "")}]),
                chunk(tool_calls=[{"index": 0, **call("d", "moon", "{}")}]),
            ),
            assistant(None, call("a"), call("b", arguments=LONDON), call("c", "tides", "{}"), call("d", "moon", "{}")),
            assistant(
                None,
                call("a", **google(SIGNED)),
                call("b", arguments=LONDON),
                call("c", "tides", "{}"),
                call("d", "moon", "{}"),
            ),
        ),
        tool("a"),
        tool("b"),
        tool("c"),
        tool("d"),
    ),
    dialogue(
        "Google compat: empty ids are replaced by the client, and the place tells the call",
        GOOGLE,
        asking("gemini-2.5-pro"),
        ASKED,
        say(
            stream(
                chunk(tool_calls=[{"index": 0, **call("", **google("Q2Fs"))}]),
                chunk(tool_calls=[{"index": 0, **call("", arguments=LONDON)}]),
            ),
            assistant("", call("uuid-1"), call("uuid-2", arguments=LONDON)),
            assistant("", call("uuid-1", **google("Q2Fs")), call("uuid-2", arguments=LONDON)),
        ),
        tool("uuid-1"),
        tool("uuid-2"),
    ),
    dialogue(
        "Google compat: parallel calls of one id (the function's name) are told apart by their arguments",
        GOOGLE,
        asking("gemini-3-flash"),
        ASKED,
        say(
            stream(*calling(call("forecast", **google(SIGNED)), call("forecast", arguments=LONDON), index=False)),
            assistant(None, call("forecast"), call("forecast", arguments=LONDON)),
            assistant(None, call("forecast", **google(SIGNED)), call("forecast", arguments=LONDON)),
        ),
        tool("forecast"),
        tool("forecast"),
    ),
    dialogue(
        "Google compat: state on the message goes back once, not also as the copy that stands beside it",
        GOOGLE,
        asking("gemini-2.5-pro-preview"),
        ASKED,
        say(
            whole(
                assistant(
                    "Cold.",
                    extra_content={"google": {"thought": True, "thought_signature": SIGNED}},
                    thought_signature=SIGNED,
                )
            ),
            assistant("Cold."),
            assistant("Cold.", extra_content={"google": {"thought": True, "thought_signature": SIGNED}}),
        ),
        user("Sure?"),
    ),
    dialogue(
        "Google compat: the assistant may be called model, and the skip value gives way to what was issued",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED)))),
            {
                "role": "model",
                "tool_calls": [
                    call("a", extra_content={"google": {"thought_signature": "skip_thought_signature_validator"}})
                ],
            },
            {"role": "model", "tool_calls": [call("a", **google(SIGNED))]},
        ),
        tool("a"),
    ),
    dialogue(
        "Vertex compat: the key of the provider is kept as it came",
        VERTEX,
        asking("google/gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", extra_content={"vertex": {"thought_signature": SIGNED}}))),
            assistant(None, call("a")),
            assistant(None, call("a", extra_content={"vertex": {"thought_signature": SIGNED}})),
        ),
        tool("a"),
    ),
    dialogue(
        "Google compat: what the client has beside the signature in the same object stays",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED)))),
            assistant(None, call("a", extra_content={"mine": {"x": 1}})),
            assistant(None, call("a", extra_content={"mine": {"x": 1}, "google": {"thought_signature": SIGNED}})),
        ),
        tool("a"),
    ),
]

_BLOCKS: list[Json] = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Think cold.", "signature": SIGNED}]},
    {"type": "text", "text": "Minus three."},
]

_DATABRICKS: list[Scenario] = [
    dialogue(
        "Databricks: thoughtSignature stands on the call; ids that are the function's name repeat in every turn",
        DATABRICKS,
        asking("gemini-3-pro"),
        ASKED,
        say(
            whole(assistant("", call("forecast", thoughtSignature="QUFB")), "tool_calls"),
            assistant("", call("forecast")),
            assistant("", call("forecast", thoughtSignature="QUFB")),
        ),
        tool("forecast"),
        say(
            whole(assistant("", call("forecast", arguments=LONDON, thoughtSignature="QkJC")), "tool_calls"),
            assistant("", call("forecast", arguments=LONDON)),
            assistant("", call("forecast", arguments=LONDON, thoughtSignature="QkJC")),
        ),
        tool("forecast"),
        say(
            stream(*calling(call("forecast", thoughtSignature="Q0ND")), finish="tool_calls"),
            assistant("", call("forecast")),
            assistant("", call("forecast", thoughtSignature="Q0ND")),
        ),
        tool("forecast"),
    ),
    dialogue(
        "Databricks: the older path names the model, the body does not; a flattened content becomes the array again",
        SERVING,
        lambda messages: {"messages": messages},
        ASKED,
        say(
            whole(assistant(_BLOCKS)),
            assistant("Minus three."),
            assistant(_BLOCKS),
        ),
        user("And on Sunday?"),
    ),
    dialogue(
        "Databricks: content that streams as arrays is joined block by block",
        DATABRICKS,
        asking("claude-sonnet-4-5"),
        ASKED,
        say(
            stream(
                chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Think "}]}]),
                chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "cold."}]}]),
                chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_text", "signature": SIGNED}]}]),
                chunk(content=""),
                chunk(content="Minus "),
                chunk(content=[{"type": "text", "text": "three."}]),
                *calling(call("toolu_4")),
                finish="tool_calls",
            ),
            assistant("Minus three.", call("toolu_4")),
            assistant(_BLOCKS, call("toolu_4")),
        ),
        tool("toolu_4"),
    ),
    dialogue(
        "Databricks: a call without words gets its reasoning back where the client has no content",
        DATABRICKS,
        asking("claude-sonnet-4-5"),
        ASKED,
        say(
            stream(
                chunk(content="Well"),
                chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_encrypted_text", "data": "UkVE"}]}]),
                *calling(call("toolu_5")),
            ),
            assistant("Well", call("toolu_5")),
            assistant(
                [
                    {"type": "text", "text": "Well"},
                    {"type": "reasoning", "summary": [{"type": "summary_encrypted_text", "data": "UkVE"}]},
                ],
                call("toolu_5"),
            ),
        ),
        tool("toolu_5"),
        say(
            whole(assistant(_BLOCKS[:1], call("toolu_6"))),
            assistant(None, call("toolu_6")),
            assistant(_BLOCKS[:1], call("toolu_6")),
        ),
        tool("toolu_6"),
    ),
]

_ON = {"thinking": {"type": "enabled"}}
_OFF = {"thinking": {"type": "disabled"}}


def _thought(rule: str, url: str, model: str, name: str = "reasoning_content", **body: Json) -> Scenario:
    return dialogue(
        rule,
        url,
        asking(model, **body),
        ASKED,
        say(
            stream(
                chunk(role="assistant", content=None, **{name: ""}),
                chunk(**{name: "Cold? "}),
                chunk(**{name: "Yes."}),
                chunk(content="", **{name: None}),
                *calling(call("call_00")),
                usage(),
                finish="tool_calls",
            ),
            assistant("", call("call_00")),
            assistant("", call("call_00"), **{name: "Cold? Yes."}),
        ),
        tool("call_00"),
    )


_PROSE: list[Scenario] = [
    _thought("DeepSeek: reasoning_content goes back with a tool call", DEEPSEEK, "deepseek-chat", **_ON),
    _thought("DeepSeek: it goes back too where no request says anything of thinking", DEEPSEEK, "deepseek-reasoner"),
    _thought("GLM: reasoning_content goes back to either path", GLM, "glm-4.7"),
    _thought("Qwen: reasoning_content goes back", QWEN, "qwen3.6-plus", enable_thinking=True),
    _thought("vLLM: the name stays the one it came with", VLLM, "Qwen/Qwen3-32B", "reasoning"),
    _thought("an unknown host: the older name stays too", UNKNOWN, "some-model"),
    dialogue(
        "DeepSeek: the empty reasoning_content that was issued is a value",
        DEEPSEEK,
        asking("deepseek-chat", **_ON),
        ASKED,
        say(
            whole(assistant("", call("c1"), reasoning_content=""), "tool_calls"),
            assistant("", call("c1")),
            assistant("", call("c1"), reasoning_content=""),
        ),
        tool("c1"),
        say(whole(assistant("Cold.", reasoning_content=None)), assistant("Cold."), assistant("Cold.")),
        user("Thanks"),
    ),
    Scenario(
        "DeepSeek: a request without thinking gets none",
        DEEPSEEK,
        _thought("", DEEPSEEK, "deepseek-chat", **_ON).exchanges,
        asking("deepseek-chat", **_OFF)([ASKED, assistant("", call("call_00")), tool("call_00")]),
        None,
        ("thinking_off",),
    ),
    Scenario(
        "DeepSeek: a request that says nothing of thinking gets none of a turn that was asked for with it",
        DEEPSEEK,
        _thought("", DEEPSEEK, "deepseek-chat", **_ON).exchanges,
        asking("deepseek-chat")([ASKED, assistant("", call("call_00")), tool("call_00")]),
        None,
        ("thinking_off",),
    ),
    Scenario(
        "DeepSeek: a tool call of a turn that is not known is worth a line",
        DEEPSEEK,
        (),
        asking("deepseek-chat")([ASKED, assistant("", call("c9"), reasoning_content=None), tool("c9")]),
        None,
        ("unknown_turn",),
    ),
    dialogue(
        "Kimi: ids that begin anew in every turn are told apart by their place",
        KIMI,
        asking("kimi-k2-thinking"),
        ASKED,
        say(
            stream(chunk(reasoning_content="One."), *calling(call("forecast:0"))),
            assistant("", call("forecast:0")),
            assistant("", call("forecast:0"), reasoning_content="One."),
        ),
        tool("forecast:0"),
        say(stream(chunk(content="Cold.")), assistant("Cold."), assistant("Cold.")),
        user("Again, please."),
        say(
            stream(chunk(reasoning_content="Two."), *calling(call("forecast:0"))),
            assistant("", call("forecast:0"), reasoning_content="."),
            assistant("", call("forecast:0"), reasoning_content="Two."),
        ),
        tool("forecast:0"),
    ),
    dialogue(
        "Qwen: later deltas of a call have an empty id",
        QWEN,
        asking("qwen3-max"),
        ASKED,
        say(
            stream(
                chunk(reasoning_content="Hm."),
                chunk(tool_calls=[{"index": 0, **call("call_q", arguments='{"a')}]),
                chunk(tool_calls=[{"index": 0, "id": "", "function": {"name": None, "arguments": '":1}'}}]),
                chunk(tool_calls=[{"index": 0, "id": None, "type": "", "function": {"name": "", "arguments": ""}}]),
            ),
            assistant("", call("call_q", arguments='{"a": 1}')),
            assistant("", call("call_q", arguments='{"a": 1}'), reasoning_content="Hm."),
        ),
        tool("call_q"),
    ),
    dialogue(
        "vLLM: a client's copy under the other name becomes the one that came",
        VLLM,
        asking("local"),
        ASKED,
        say(
            stream(chunk(reasoning="Cold?"), *calling(call("c1"))),
            assistant(None, call("c1"), reasoning_content="Cold? "),
            assistant(None, call("c1"), reasoning="Cold?"),
        ),
        tool("c1"),
    ),
    dialogue(
        "a host that sends the same words under two names gets them back under one",
        UNKNOWN,
        asking("some-model"),
        ASKED,
        say(
            stream(chunk(reasoning="Cold?", reasoning_content="Cold?"), *calling(call("c1"))),
            assistant(None, call("c1")),
            assistant(None, call("c1"), reasoning_content="Cold?"),
        ),
        tool("c1"),
        say(
            stream(chunk(reasoning="So.", reasoning_content="So."), chunk(content="Cold.")),
            assistant("Cold.", reasoning="So."),
            assistant("Cold.", reasoning="So."),
        ),
        user("Thanks"),
    ),
]

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
            assistant(
                [{"type": "text", "text": "<think>\nCold.\n</think>"}, {"type": "text", "text": "Minus three."}]
            ),
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

_COPILOT: list[Scenario] = [
    dialogue(
        "Copilot: the words and the opaque value that closes them go back as one, over both choices of the answer",
        COPILOT,
        asking("claude-sonnet-4.5"),
        ASKED,
        say(
            plain(
                {
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "tool_calls",
                            "message": {"content": "Let me see.", "reasoning_text": "Hm.", "reasoning_opaque": SEALED},
                        },
                        {"index": 1, "finish_reason": "tool_calls", "message": {"tool_calls": [call("toolu_1")]}},
                    ]
                }
            ),
            assistant("Let me see.", call("toolu_1")),
            assistant("Let me see.", call("toolu_1"), reasoning_opaque=SEALED, reasoning_text="Hm."),
        ),
        tool("toolu_1"),
    ),
    dialogue(
        "Copilot: of several pairs the last goes back, and no words that no opaque value closed",
        COPILOT,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                chunk(reasoning_text="First."),
                chunk(reasoning_opaque="Zmlyc3Q="),
                chunk(reasoning_text="Sec"),
                chunk(reasoning_text="ond."),
                chunk(reasoning_opaque="c2Vjb25k"),
                *calling(call("c1")),
                chunk(reasoning_text="Unclosed."),
            ),
            assistant(None, call("c1")),
            assistant(None, call("c1"), reasoning_opaque="c2Vjb25k", reasoning_text="Second."),
        ),
        tool("c1"),
    ),
    dialogue(
        "Copilot: an opaque value without words goes back alone, not with the words of the one before it",
        COPILOT,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                chunk(reasoning_text="First."),
                chunk(reasoning_opaque="Zmlyc3Q="),
                chunk(reasoning_opaque="c2Vjb25k"),
                *calling(call("c1")),
            ),
            assistant(None, call("c1")),
            assistant(None, call("c1"), reasoning_opaque="c2Vjb25k"),
        ),
        tool("c1"),
    ),
    dialogue(
        "Copilot: Azure's cot_id and cot_summary go back",
        COPILOT,
        asking("gpt-5-mini"),
        ASKED,
        say(
            stream(chunk(cot_id="cot-1", cot_summary="Col"), chunk(cot_summary="d."), *calling(call("c1"))),
            assistant(None, call("c1")),
            assistant(None, call("c1"), cot_id="cot-1", cot_summary="Cold."),
        ),
        tool("c1"),
    ),
]

_BLOCK = {"type": "thinking", "thinking": "Hm.", "signature": SIGNED}
_REDACTED = {"type": "redacted_thinking", "data": "cmVk"}
_FIELDS = {"provider_specific_fields": {"thought_signature": SIGNED}}

_GATEWAYS: list[Scenario] = [
    dialogue(
        "LiteLLM: fields on the call and thinking blocks on the message go back; an id that carries a value is left",
        LITELLM,
        asking("claude"),
        ASKED,
        say(
            stream(
                chunk(reasoning_content="Hm.", thinking_blocks=[{"type": "thinking", "thinking": "Hm."}]),
                chunk(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": SIGNED}]),
                chunk(thinking_blocks=[_REDACTED]),
                *calling(call("call_x__thought__c2ln", **_FIELDS)),
            ),
            assistant(None, call("call_x__thought__c2ln")),
            assistant(None, call("call_x__thought__c2ln", **_FIELDS), thinking_blocks=[_BLOCK, _REDACTED]),
        ),
        tool("call_x__thought__c2ln"),
    ),
    dialogue(
        "LiteLLM: the reasoning items of the last chunk go back",
        LITELLM,
        asking("gpt-5.2"),
        ASKED,
        say(
            stream(
                *calling(call("c1")),
                chunk(reasoning_items=[{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED}]),
            ),
            assistant(None, call("c1")),
            assistant(
                None,
                call("c1"),
                reasoning_items=[{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED}],
            ),
        ),
        tool("c1"),
    ),
    dialogue(
        "an unknown host: keys that nobody told us of go back to the call, the function and the message they came on",
        UNKNOWN,
        asking("m"),
        ASKED,
        say(
            stream(
                chunk(state_token="AAAA", trail=["one"], seal={"a": "x"}),
                chunk(state_token="AAAA", trail=["one", "two"], seal={"b": "y"}),
                chunk(state_token="BBBB"),
                chunk(
                    tool_calls=[
                        {
                            "index": 0,
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "forecast", "arguments": "{}", "token": "inner"},
                            "token": {"k": "outer"},
                        }
                    ]
                ),
                chunk(tool_calls=[{"index": 0, "token": {"l": "more"}, "late": "v", "type": None}]),
            ),
            assistant(None, call("c1", arguments="{}")),
            assistant(
                None,
                {
                    **call("c1", arguments="{}"),
                    "function": {"name": "forecast", "arguments": "{}", "token": "inner"},
                    "token": {"k": "outer", "l": "more"},
                    "late": "v",
                },
                state_token="AAAABBBB",
                trail=["one", "two"],
                seal={"a": "x", "b": "y"},
            ),
        ),
        tool("c1"),
    ),
    dialogue(
        "an unknown host: flags, numbers, nulls and what gateways put beside the answer are no state",
        UNKNOWN,
        asking("m"),
        ASKED,
        say(
            whole(
                assistant(
                    None,
                    call("c1", index=4, nothing=None),
                    is_final=True,
                    score=0.5,
                    nothing=None,
                    nested={"empty": [], "n": 1},
                    refusal="no",
                    annotations=[{"type": "x"}],
                    citations=["https://a.example"],
                )
            ),
            assistant(None, call("c1")),
            assistant(None, call("c1")),
        ),
        tool("c1"),
    ),
    dialogue(
        "an unknown host: a custom tool's call is known by its input; Snowflake's empty one beside the function is none",
        UNKNOWN,
        asking("m"),
        ASKED,
        say(
            stream(
                chunk(tool_calls=[{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sh", "input": "l"}}]),
                chunk(tool_calls=[{"index": 0, "custom": {"input": "s -a"}, "seal": "v1"}]),
                chunk(tool_calls=[{"index": 1, **call("c2", seal="v2"), "custom": None}]),
            ),
            assistant(
                None, {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls -a"}}, call("c2")
            ),
            assistant(
                None,
                {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls -a"}, "seal": "v1"},
                call("c2", seal="v2"),
            ),
        ),
        tool("c1"),
        tool("c2"),
    ),
]


def _strict(name: str, url: str) -> Scenario:
    return dialogue(
        f"{name}: takes no reasoning on a message back, and gets none",
        url,
        asking("gpt-oss-120b"),
        ASKED,
        say(
            stream(
                chunk(reasoning="Hm.", reasoning_content="Hm.", thing="opaque-value"),
                *calling(call("c1")),
                finish="tool_calls",
            ),
            assistant(None, call("c1")),
            assistant(None, call("c1")),
        ),
        tool("c1"),
    )


_STRICT = [_strict("OpenAI", OPENAI), _strict("Groq", GROQ), _strict("Cerebras", CEREBRAS)]

SCENARIOS = [
    *_OPENROUTER,
    *_GOOGLE,
    *_DATABRICKS,
    *_PROSE,
    *_MINIMAX,
    *_MISTRAL,
    *_COPILOT,
    *_GATEWAYS,
    *_STRICT,
]
