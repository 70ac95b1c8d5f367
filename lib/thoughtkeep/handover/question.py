"""The request for a summary, and whether its answer is one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from thoughtkeep.answer import Answer
from thoughtkeep.formats import Format
from thoughtkeep.jsontext import dumps
from thoughtkeep.profiles import Profile
from thoughtkeep.turns import Json, Kind

# Headers that come along: credentials, and what vendors want beside them. Nothing else of the client's request does.
HEADERS = frozenset(
    "authorization x-api-key api-key x-goog-api-key x-goog-user-project anthropic-version anthropic-beta "
    "openai-organization openai-project openai-beta chatgpt-account-id originator user-agent copilot-integration-id "
    "editor-version editor-plugin-version openai-intent x-initiator x-github-api-version http-referer x-title".split()
)

# How much thinking may take on top of the length that was asked for, in tokens. Anthropic's models think only when
# asked to, and the oldest of them write no more than 4 096 tokens.
THINKING_TOKENS = {"messages": 2_800}
_THINKING_TOKENS = 8_000

# How thinking is turned as low as it goes: format, profile, model, and what goes into the body. First match wins.
_QUIET: tuple[tuple[str, str, str, Mapping[str, Json]], ...] = (
    ("chat", r"deepseek|moonshot|zai", r"", {"thinking": {"type": "disabled"}}),
    ("chat", r"openrouter", r"", {"reasoning": {"effort": "low"}}),
    ("chat", r"qwen", r"", {"enable_thinking": False}),
    ("chat", r"openai|google", r"gpt-5|(^|/)o\d|gemini-[3-9]|gemini-2\.5", {"reasoning_effort": "low"}),
    ("gemini", r"", r"gemini-2\.5-flash", {"thinkingConfig": {"thinkingBudget": 0}}),
    ("gemini", r"", r"gemini-2\.5", {"thinkingConfig": {"thinkingBudget": 128}}),
    ("gemini", r"", r"gemini-[3-9]", {"thinkingConfig": {"thinkingLevel": "low"}}),
    ("responses", r"openai|chatgpt", r"gpt-5|(^|/)o\d", {"reasoning": {"effort": "low"}}),
)

# How a provider says that an answer came to its proper end.
_ENDS_WELL = frozenset(("stop", "end_turn", "stop_sequence", "eos", "completed", ""))


@dataclass(frozen=True, slots=True)
class Question:
    """A request for a summary: the path (with its query) and the body; `streamed` whether its answer is."""

    path: str
    body: bytes
    streamed: bool


class NoSummary(Exception):
    """The answer is no summary; the message says why, in a word or two."""


def question(form: Format, profile: Profile, path: str, body: Json, model: str, text: str, max_tokens: int) -> Question:
    """The request that asks `model` for a summary, made from the request at hand: same host, credential and format."""
    room = THINKING_TOKENS.get(form.name, _THINKING_TOKENS)
    asked = form.question(body, model, text, max_tokens + room, profile.question_keeps)
    for name, vendor, pattern, extra in _QUIET:
        if name == form.name and re.search(vendor, profile.name) and re.search(pattern, model.lower()):
            _place(asked, extra)
            break
    if profile.question_streams:
        asked["stream"] = True
    return Question(form.question_path(path, model), dumps(asked).encode(), profile.question_streams)


def _place(asked: Json, extra: Mapping[str, Json]) -> None:
    inner = asked.get("request", asked)
    inner.get("generationConfig", inner).update(extra)


def summary_of(form: Format, profile: Profile, answer: bytes, content_type: str, content_encoding: str) -> str:
    """The summary that an answer holds. Raises NoSummary unless it is a text that ended properly, and nothing else."""
    assembler = form.assembler(profile)
    capture = Answer(assembler, form.ends, content_type, content_encoding)
    capture.feed(answer)
    capture.close()
    turns = capture.turns()
    if capture.failed:
        raise NoSummary("error in the answer")
    if capture.stopped or not turns or not capture.ended:
        raise NoSummary("unreadable or cut off")
    if turns[0].calls:
        raise NoSummary("tool call instead of words")
    if assembler.reason.lower() not in _ENDS_WELL:
        raise NoSummary(f"ended by {assembler.reason[:40]}")
    text = "".join(piece.text for piece in turns[0].pieces if piece.kind is Kind.TEXT).strip()
    text = re.sub(r"^<think>.*?</think>\s*", "", text, flags=re.DOTALL)
    if not text:
        raise NoSummary("empty")
    return text
