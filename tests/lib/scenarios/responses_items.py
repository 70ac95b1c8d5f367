"""Items of every kind: what is state, what is a call, what a server did itself; and who else speaks the format."""

from lab import Exchange, Scenario, dialogue

from scenarios.responses_words import (
    AND,
    ASKED,
    AZURE,
    BLOB,
    BLOB2,
    CODEX,
    DEEPSEEK,
    GPT,
    HM,
    OPENAI,
    UNKNOWN,
    XAI,
    asking,
    call,
    message,
    output,
    reason,
    say,
    stream,
    user,
    without,
)
from thoughtkeep.turns import Json


def _kind(rule: str, issued: list[Json], told: list[Json], sent: list[Json], *behind: Json) -> Scenario:
    said = say(stream(*issued), told, sent)
    return dialogue(f"Responses: {rule}", OPENAI, GPT, ASKED, said, *behind, user("Go on."))


_CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "patch", "input": "*** Begin Patch"}
_SHELL = {
    "type": "local_shell_call",
    "id": "lsh_1",
    "call_id": "call_1",
    "status": "completed",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
}
_WEB = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tides"}}
_LOOK = {
    "type": "tool_search_call",
    "id": "tsc_1",
    "call_id": None,
    "execution": "server",
    "arguments": {"goal": "tide"},
}
_LOOKED = {
    "type": "tool_search_output",
    "id": "tso_1",
    "call_id": None,
    "execution": "server",
    "tools": [{"name": "tide"}],
}
_MCP = {
    "type": "mcp_call",
    "id": "mcp_1",
    "server_label": "tides",
    "name": "tide",
    "arguments": "{}",
    "output": "high",
    "error": None,
}
_APPROVE = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "tides", "name": "tide", "arguments": "{}"}
_APPROVED = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
_NOON = message("At noon.", "msg_1")
_CALL = call("call_1", ref="fc_1")
_CMP = {"type": "compaction", "id": "cmp_1", "encrypted_content": BLOB2}

_KINDS: list[Scenario] = [
    _kind(
        "a custom tool's call is a call",
        [HM, _CUSTOM],
        [_CUSTOM],
        [HM, _CUSTOM],
        output("call_1", kind="custom_tool_call_output"),
    ),
    _kind(
        "a local shell's call is a call",
        [HM, _SHELL],
        [_SHELL],
        [HM, _SHELL],
        output("call_1", '{"stdout": "a"}', "local_shell_call_output"),
    ),
    _kind("a search of the server's is told by its id", [HM, _WEB, AND, _NOON], [_WEB, _NOON], [HM, _WEB, AND, _NOON]),
    _kind(
        "so it is where the client reformats what it did",
        [HM, _WEB, AND, _NOON],
        [without(_WEB, "action"), _NOON],
        [HM, without(_WEB, "action"), AND, _NOON],
    ),
    _kind("a search that the client lost takes its reasoning with it", [HM, _WEB, AND, _NOON], [_NOON], [AND, _NOON]),
    _kind(
        "the output of a tool that the server ran belongs to the answer",
        [HM, _LOOK, _LOOKED, _CALL],
        [_LOOK, _LOOKED, _CALL],
        [HM, _LOOK, _LOOKED, _CALL],
        output("call_1"),
    ),
    _kind("a server's MCP call and its output are one item", [HM, _MCP, _NOON], [_MCP, _NOON], [HM, _MCP, _NOON]),
    _kind(
        "an approval is asked by the model, given by the user", [HM, _APPROVE], [_APPROVE], [HM, _APPROVE], _APPROVED
    ),
    _kind(
        "a compaction item is as opaque as reasoning",
        [_CMP, HM, _CALL],
        [HM, _CALL],
        [_CMP, HM, _CALL],
        output("call_1"),
    ),
    _kind("it is completed like one", [_CMP, _NOON], [without(_CMP, "encrypted_content"), _NOON], [_CMP, _NOON]),
    _kind(
        "the phase of a message goes back, and so does a key that nobody knows",
        [message("Let me see.", "msg_1", phase="commentary"), {**_CALL, "seal": BLOB, "note": None}],
        [message("Let me see.", "msg_1"), _CALL],
        [message("Let me see.", "msg_1", phase="commentary"), {**_CALL, "seal": BLOB}],
        output("call_1"),
    ),
    _kind(
        "a phase that the client has stays",
        [message("At noon.", "msg_1", phase="final_answer")],
        [message("At noon.", "msg_1", phase="commentary")],
        [message("At noon.", "msg_1", phase="commentary")],
    ),
    _kind(
        "a message may come back short, without a type and as a string",
        [HM, _NOON],
        [{"role": "assistant", "content": "At noon."}],
        [without(HM, "id"), {"role": "assistant", "content": "At noon."}],
    ),
    _kind(
        "a refusal is a message like any other",
        [HM, {**_NOON, "content": [{"type": "refusal", "refusal": "No."}]}],
        [{**_NOON, "content": [{"type": "refusal", "refusal": "No."}]}],
        [HM, {**_NOON, "content": [{"type": "refusal", "refusal": "No."}]}],
    ),
    _kind(
        "what only the server has is left where it was",
        [reason("rs_1"), _CALL, reason("rs_2"), call("call_2", "moon", ref="fc_2")],
        [reason("rs_1"), _CALL, call("call_2", "moon", ref="fc_2")],
        [reason("rs_1"), _CALL, call("call_2", "moon", ref="fc_2")],
        output("call_1"),
        output("call_2"),
    ),
    _kind("an item alone, which led to nothing, is left", [HM], [HM], [HM]),
    _kind(
        "what comes in no known shape is passed over",
        [HM, _CALL, {"type": ["?"], "id": 7}],
        [_CALL],
        [HM, _CALL],
        7,
        output("call_1", [{"type": "input_text", "text": "high"}, {"type": "input_image", "image_url": "data:…"}, 7]),
        {"type": ["?"]},
        {"type": "message", "role": "developer", "content": "Be calm."},
        user([{"type": "input_text", "text": "See?"}, {"type": "input_file", "file_id": "f-1"}]),
        user(None),
    ),
]


def _held(rule: str, **more: Json) -> Scenario:
    lossy = [ASKED, _CALL, output("call_1")]
    return Scenario(
        f"Responses: {rule}", OPENAI, (Exchange(GPT([ASKED]), stream(HM, _CALL)),), asking(**more)(lossy), None
    )


_MEMORY: list[Scenario] = [
    _held("with previous_response_id the server has the state", previous_response_id="resp_1", store=True),
    _held("with a conversation the server has the state", conversation={"id": "conv_1"}),
    Scenario(
        "Responses: beside an item_reference the server has the state",
        OPENAI,
        (Exchange(GPT([ASKED]), stream(HM, _CALL)),),
        GPT([ASKED, {"type": "item_reference", "id": "rs_1"}, _CALL, output("call_1")]),
        None,
    ),
    Scenario(
        "Responses: an input that is a string is the user's first words",
        OPENAI,
        (Exchange(GPT("When is high tide?"), stream(HM, _CALL)),),
        GPT([ASKED, _CALL, output("call_1")]),
        GPT([ASKED, HM, _CALL, output("call_1")]),
    ),
    Scenario(
        "Responses: a request of nothing but words is left",
        OPENAI,
        (Exchange(GPT([ASKED]), stream(HM, _CALL)),),
        GPT("And low tide?"),
        None,
    ),
    Scenario(
        "Responses: behind a history that was compacted a call is known by its id, a message by its item's",
        CODEX,
        (
            Exchange(GPT([ASKED]), stream(HM, _NOON)),
            Exchange(GPT([ASKED, _NOON, user("Sure?")]), stream(AND, _CALL)),
        ),
        GPT([user("Sum."), _NOON, user("Sure?"), without(_CALL, "id"), output("call_1")]),
        GPT([user("Sum."), HM, _NOON, user("Sure?"), without(AND, "id"), without(_CALL, "id"), output("call_1")]),
    ),
]

_ROTATED = [{**HM, "id": "rs_x"}, {**_CALL, "id": "fc_x"}]
# A short handle, and the words themselves.
_HANDLE = reason("rs_1", "resp_1-0", content=[{"type": "reasoning_text", "text": "Let me look it up."}])
_PLAIN = {**without(_HANDLE, "encrypted_content"), "encrypted_content": None}


def _at(rule: str, url: str, model: str, issued: list[Json], told: list[Json], sent: list[Json]) -> Scenario:
    said = say(stream(*issued), told, sent)
    return dialogue(rule, url, asking(model), ASKED, said, output("call_1"))


_HOSTS: list[Scenario] = [
    _at("Azure: items go before what they led to", AZURE, "my-deployment", [HM, _CALL], [_CALL], [HM, _CALL]),
    _at("ChatGPT: items go before what they led to", CODEX, "gpt-5.3-codex", [HM, _CALL], [_CALL], [HM, _CALL]),
    _at("an unknown gateway: ids that rotate are the client's", UNKNOWN, "gpt-5.2", [HM, _CALL], _ROTATED, _ROTATED),
    _at(
        "an unknown gateway: a rotated id is no reason for another one",
        UNKNOWN,
        "gpt-5.2",
        [HM, _CALL],
        _ROTATED[1:],
        [without(HM, "id"), _ROTATED[1]],
    ),
    _at(
        "DeepSeek: words and their handle go back", DEEPSEEK, "deepseek-v4", [_HANDLE, _CALL], [_CALL], [_HANDLE, _CALL]
    ),
    _at(
        "DeepSeek: words without a handle go back under their id",
        DEEPSEEK,
        "deepseek-v4",
        [{**_PLAIN, "status": "completed"}, _CALL],
        [without(_CALL, "id")],
        [_PLAIN, without(_CALL, "id")],
    ),
    _at("DeepSeek: words that the client has stay", DEEPSEEK, "deepseek-v4", [_PLAIN, _CALL], *[[_PLAIN, _CALL]] * 2),
]


def _cross(rule: str, there: tuple[str, str], here: tuple[str, str], *missed: str) -> Scenario:
    """A turn that was made at one (address, model) is told at another."""
    told = asking(here[1])([ASKED, _CALL, output("call_1")])
    sent = None if missed else asking(here[1])([ASKED, HM, _CALL, output("call_1")])
    exchange = Exchange(asking(there[1])([ASKED]), stream(HM, _CALL))
    return Scenario(rule, there[0], (exchange,), told, sent, missed, next_url=here[0])


_CROSSING: list[Scenario] = [
    _cross("another GPT reads what GPT made", (OPENAI, "o4-mini"), (OPENAI, "gpt-5.3-codex-2026-02-05")),
    _cross("OpenAI gets nothing of Azure's", (AZURE, "gpt-5.2"), (OPENAI, "gpt-5.2"), "other_provider"),
    _cross("xAI gets nothing of OpenAI's", (OPENAI, "gpt-5.2"), (XAI, "grok-4.1-fast"), "other_provider"),
]

SCENARIOS = [*_KINDS, *_MEMORY, *_HOSTS, *_CROSSING]
