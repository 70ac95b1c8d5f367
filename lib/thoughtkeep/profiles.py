"""What each vendor does, as data: one `Profile` a vendor, one documented field a fact.

Engines and formats know vendors only through these fields. A new vendor is a new entry; a host that no entry names gets
`NEUTRAL`, under which what came goes back where it came from.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from thoughtkeep.turns import Ask, Kept, Owner

# Message keys that hold reasoning in plain words. A stream sends them in pieces that are joined. In the order of
# preference where a provider sends the same words under several (Chutes-type hosts do).
PROSE = ("reasoning_content", "reasoning", "reasoning_text")

# Message keys that hold reasoning as a list of typed entries.
ENTRIES = ("reasoning_details", "thinking_blocks", "reasoning_items")

# Keys of an answer's message that are no state: the answer itself, and what gateways put beside it.
FURNITURE = frozenset(
    "role content tool_calls function_call refusal annotations audio images name index logprobs parsed citations "
    "tool_call_id context token_ids stop_reason matched_stop executed_tools reasoning_logprobs obfuscation padding "
    "search_results usage provider model id object created finish_reason".split()
)


# platform.claude.com "Tool use": what the API takes as a tool_use id.
ANTHROPIC_IDS = r"[a-zA-Z0-9_-]{1,64}"


@dataclass(frozen=True, slots=True)
class Profile:
    """The facts of one vendor's dialect."""

    name: str
    """What it is called in logs; also the host group: state goes back to any host of the profile that issued it."""

    hosts: tuple[str, ...] = ()
    """Host names, `*` for any run of characters. A vendor's regional and twin hosts are one group."""

    returns: tuple[str, ...] | None = None
    """The message keys that go back, in the order of preference where two hold the same words. None: every key that is
    not `FURNITURE`. Keys on a tool call or a part always go back: vendors put opaque tokens there, gateways do not."""

    off_means_none: tuple[str, ...] = ("messages",)
    """The formats in which nothing is put back while the request has thinking off, or leaves it out where the turn was
    made with it: in Anthropic's everywhere, in chat where a vendor refuses state without thinking."""

    pairs: tuple[tuple[str, str], ...] = ()
    """(prose, opaque): the opaque value closes the prose before it. Where several pairs come there is room for one: the
    last goes back, as one unit."""

    joins_choices: bool = False
    """One answer is told in several choices."""

    cumulative: bool = False
    """Streamed reasoning may repeat all that came before; told by its beginning."""

    think_tags: bool = False
    """Thinking stands in the text as `<think>…</think>` and goes back there."""

    demands: tuple[str, ...] = ()
    """The model families whose tool turns are refused without their state: one that is not known is worth a line in the
    log."""

    refuses_foreign: bool = False
    """Refuses state that another model family or provider issued."""

    ids: tuple[tuple[str, str], ...] = ()
    """What a call id must look like: (format, regular expression). A format that is not named takes any."""

    repairs: tuple[str, ...] = ()
    """What clients cannot read in its chat answers, and is repaired: `index`, `ids`, `content` (see chat_repair)."""

    signature_key: tuple[str, ...] = ()
    """Where a tool call in chat carries Google's signature: the key, and the namespace in it; others that were seen."""

    skip_entry: bool = False
    """Knows Google's stand-in for a lost signature as an entry of `reasoning_details`."""

    question_keeps: tuple[str, ...] = ()
    """The keys of a request's body that a request for a summary needs too."""

    question_streams: bool = False
    """Refuses requests that are not streamed."""

    names_upstream: bool = False
    """Answers name the upstream that made them (`provider`), and a request may pin some."""


NEUTRAL = Profile("neutral")

PROFILES: tuple[Profile, ...] = (
    # ai.google.dev "Thought Signatures" and "OpenAI compatibility": extra_content.google on the call; 2.5 previews have
    # it on the message, beside a copy of the signature (seen on the wire).
    Profile(
        "google-ai-studio",
        ("generativelanguage.googleapis.com",),
        repairs=("index",),
        signature_key=("extra_content", "google"),
        refuses_foreign=True,
        returns=("extra_content", "thought_signature"),
        demands=("gemini",),
    ),
    # Whether AI Studio takes Vertex's signatures is unproven, and a switch of account failed (gemini-cli #13467): two
    # groups. extra_content.vertex: earendil-works/pi #6733.
    Profile(
        "google-vertex",
        ("aiplatform.googleapis.com", "*-aiplatform.googleapis.com", "aiplatform.*.rep.googleapis.com"),
        repairs=("index",),
        signature_key=("extra_content", "google", "vertex"),
        refuses_foreign=True,
        ids=(("messages", ANTHROPIC_IDS),),
        returns=("extra_content", "thought_signature"),
        demands=("gemini",),
    ),
    Profile(
        "google-code-assist",
        ("cloudcode-pa.googleapis.com", "daily-cloudcode-pa.googleapis.com", "*-cloudcode-pa.sandbox.googleapis.com"),
        refuses_foreign=True,
        question_keeps=("project", "user_prompt_id"),
        demands=("gemini",),
    ),
    # openrouter.ai "Reasoning tokens": the whole array, unmodified; plain `reasoning` only where there is none.
    Profile(
        "openrouter",
        ("openrouter.ai",),
        refuses_foreign=True,
        returns=("reasoning_details", "reasoning", "reasoning_content"),
        question_keeps=("provider",),
        skip_entry=True,
        names_upstream=True,
        demands=("gemini",),
    ),
    Profile("vercel-ai-gateway", ("ai-gateway.vercel.sh",), returns=("reasoning_details", "reasoning")),
    # databricks-ai-bridge: thoughtSignature beside `function`; reasoning as blocks in the content.
    Profile(
        "databricks",
        ("*.cloud.databricks.com", "*.azuredatabricks.net", "*.gcp.databricks.com"),
        repairs=("index", "ids", "content"),
        returns=(),
        demands=("gemini",),
    ),
    # api-docs.deepseek.com "Thinking mode": reasoning_content on turns with tool calls, else a 400.
    Profile(
        "deepseek",
        ("api.deepseek.com",),
        returns=("reasoning_content",),
        off_means_none=("chat", "messages"),
        demands=("deepseek",),
    ),
    # platform.moonshot.ai "Thinking models": the same, "thinking is enabled but reasoning_content is missing".
    Profile(
        "moonshot",
        ("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"),
        returns=("reasoning_content",),
        off_means_none=("chat", "messages"),
        demands=("kimi",),
    ),
    # docs.z.ai "Thinking mode": exact and ordered; a loss costs quality and cache hits, not an error.
    Profile("zai", ("api.z.ai", "open.bigmodel.cn"), returns=("reasoning_content",)),
    # platform.minimax.io "Interleaved thinking": <think> in the content, or reasoning_details with `reasoning_split`.
    Profile(
        "minimax",
        ("api.minimax.io", "api.minimaxi.com", "api.minimax.chat"),
        returns=("reasoning_details", "reasoning_content"),
        think_tags=True,
        cumulative=True,
    ),
    # docs.mistral.ai "Reasoning": thinking chunks in the content; further keys on a message are refused.
    Profile("mistral", ("api.mistral.ai",), refuses_foreign=True, ids=(("chat", r"[A-Za-z0-9]{9}"),), returns=()),
    Profile(
        "qwen",
        ("dashscope.aliyuncs.com", "dashscope-*.aliyuncs.com", "*.maas.aliyuncs.com", "portal.qwen.ai"),
        returns=("reasoning_content",),
    ),
    # No field is documented to take `reasoning` back; an unknown one is refused ("property … is unsupported").
    Profile("groq", ("api.groq.com",), refuses_foreign=True, returns=()),
    # reasoning_content is refused; reasoning would have to be written into the content (opencode PR 26763).
    Profile("cerebras", ("api.cerebras.ai",), refuses_foreign=True, returns=()),
    # Not documented for this endpoint, but taken: a recorded client sends it back and gets its answer.
    Profile("xai", ("api.x.ai", "cli-chat-proxy.grok.com"), refuses_foreign=True, returns=("reasoning_content",)),
    # Chat completions issue no reasoning state, and unknown keys on a message are refused.
    Profile(
        "openai",
        ("api.openai.com",),
        refuses_foreign=True,
        ids=(("chat", r".{1,40}"), ("responses", r".{1,64}")),
        returns=(),
    ),
    Profile(
        "azure-openai",
        ("*.openai.azure.com", "*.services.ai.azure.com"),
        refuses_foreign=True,
        ids=(("chat", r".{1,40}"), ("responses", r".{1,64}")),
        returns=(),
    ),
    # Codex's backend: another account than the API's, so another group.
    Profile(
        "chatgpt",
        ("chatgpt.com",),
        refuses_foreign=True,
        ids=(("responses", r".{1,64}"),),
        returns=(),
        question_keeps=("instructions", "store"),
        question_streams=True,
    ),
    # platform.claude.com "Thinking": blocks in the content, see the `messages` format.
    Profile(
        "anthropic",
        ("api.anthropic.com",),
        refuses_foreign=True,
        ids=(("messages", ANTHROPIC_IDS),),
        returns=(),
        demands=("claude",),
    ),
    # vscode-copilot-chat thinking.ts: reasoning_text pieces, then reasoning_opaque; Claude answers come as two choices.
    Profile(
        "github-copilot",
        ("api.githubcopilot.com", "api.*.githubcopilot.com"),
        returns=("reasoning_opaque", "reasoning_text", "cot_id", "cot_summary"),
        pairs=(("reasoning_text", "reasoning_opaque"),),
        joins_choices=True,
    ),
    Profile("snowflake", ("*.snowflakecomputing.com",), returns=("reasoning_details",)),
)


@lru_cache(maxsize=1024)
def profile_for(host: str) -> Profile:
    """The profile of a host name (any case), `NEUTRAL` where none names it."""
    host = host.lower().rstrip(".")
    for profile in PROFILES:
        if any(fnmatchcase(host, pattern) for pattern in profile.hosts):
            return profile
    return NEUTRAL


def group_of(host: str, port: int) -> str:
    """Whose host this is: the profile's group, or the host and port themselves where no profile names it."""
    profile = profile_for(host)
    return f"{host.lower().rstrip('.')}:{port}" if profile is NEUTRAL else profile.name


# -- models -----------------------------------------------------------------------------------------------------------

# A variant begins with a letter: behind the colon of Ollama's `qwen3:32b` stands the size, which is another model's.
_SUFFIX = re.compile(r"(-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|-v\d+:\d+|:[a-z][a-z0-9._-]*|@[a-z0-9._-]+)$")

# Bedrock's: a region, where one is named, and the vendor.
_BEDROCK = re.compile(r"^([a-z-]+\.)?anthropic\.")

_FAMILY = re.compile(
    r"gemini|claude|grok|deepseek|kimi|glm|qwen|qwq|minimax|magistral|mistral|gpt-oss|gpt|(?<![a-z0-9])o[1-9](?![0-9a-z])"
)


@lru_cache(maxsize=1024)
def plain_model(model: str) -> str:
    """A model's name without gateway prefix, date, `@version`, `-latest` and `:variant`.

    A fine-tuned model's name (`ft:base:owner:name:id`) is all of it.
    """
    name = model.lower().rpartition("/")[2]
    if name.startswith("ft:"):
        return name
    name = _BEDROCK.sub("", name)
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
    return name


@lru_cache(maxsize=1024)
def family_of(model: str) -> str:
    """The family whose models read each other's state; empty where the name tells none."""
    name = model.lower()
    found = _FAMILY.search(name.rpartition("/")[2]) or _FAMILY.search(name)
    name = found[0] if found else ""
    return "gpt" if name.startswith("o") else name


def reads(owner: Owner, model: str) -> bool:
    """Whether a model takes state that an owner's model made: the same model, or one of its family.

    Claude reads Claude and Gemini reads Gemini (platform.claude.com "Preserved thinking"; a Gemini signature stripped
    on a change of model fails: earendil-works/pi #6996); prose is read by all models of its vendor.
    """
    if plain_model(owner.model) == plain_model(model):
        return True
    family = family_of(model)
    return bool(family) and family in (family_of(owner.served), family_of(owner.model))


# Models that check what stands before their thinking blocks (platform.claude.com, notes on Fable 5.1; Opus 5.5 per a
# secondary source).
_BINDS = re.compile(r"claude-(fable-(5[-.][1-9]|[6-9])|opus-(5[-.][5-9]|[6-9]))")


@lru_cache(maxsize=1024)
def binds_thinking(model: str) -> bool:
    """Whether a model's thinking goes only behind the very request that it was made for."""
    return bool(_BINDS.search(plain_model(model)))  # the date behind `fable-5` is no minor version


def withheld(profile: Profile, group: str, ask: Ask, kept: Kept) -> str:
    """Why a turn's state may not go with this request; empty where it may."""
    if kept.owner.group != group:
        return "other_provider"
    if not reads(kept.owner, ask.model):
        return "other_model"
    if ask.format in profile.off_means_none and (
        ask.thinking == "off" or (ask.thinking == "absent" and kept.thinking == "on")
    ):
        return "thinking_off"
    if kept.owner.upstream and ask.pins and not any(same_upstream(kept.owner.upstream, pin) for pin in ask.pins):
        return "other_upstream"
    return ""


def same_upstream(name: str, pin: str) -> bool:
    """Whether a request's pin (`google-ai-studio`, `amazon-bedrock/us`) means the upstream that an answer named."""
    plain = _plain_upstream(name)
    return _plain_upstream(pin.partition("/")[0]) == _UPSTREAMS.get(plain, plain)


# Names in answers that are not the pin in other letters (openrouter.ai `/api/v1/providers`: name, slug).
_UPSTREAMS = {"google": "googlevertex"}


def _plain_upstream(name: str) -> str:
    """Letters and digits alone: `Moonshot AI` is pinned as `moonshotai`, `AtlasCloud` as `atlas-cloud`."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())
