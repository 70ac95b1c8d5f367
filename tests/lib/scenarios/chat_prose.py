"""Reasoning in plain words under a key of the message: DeepSeek, Kimi, GLM, Qwen, vLLM; who takes none."""

from lab import Scenario, dialogue

from scenarios.chat_words import (
    ASKED,
    CEREBRAS,
    DEEPSEEK,
    GLM,
    GROQ,
    KIMI,
    OPENAI,
    QWEN,
    UNKNOWN,
    VLLM,
    asking,
    assistant,
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

_ON: dict[str, Json] = {"thinking": {"type": "enabled"}}
_OFF: dict[str, Json] = {"thinking": {"type": "disabled"}}


def _thought(rule: str, url: str, model: str, name: str = "reasoning_content", **body: Json) -> Scenario:
    pieces: list[dict[str, Json]] = [{name: ""}, {name: "Cold? "}, {name: "Yes."}, {name: None, "content": ""}]
    return dialogue(
        rule,
        url,
        asking(model, **body),
        ASKED,
        say(
            stream(
                *(chunk(**piece) for piece in pieces),
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

SCENARIOS = [*_PROSE, *_STRICT]
