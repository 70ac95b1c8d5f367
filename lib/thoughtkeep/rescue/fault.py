"""What a refusal says: the error texts of the providers, as a table.

Texts are from public reports and documentation (see the table in the project's documentation). Where none matches, the
error is none of ours and goes to the client as it is.
"""

import re
from dataclasses import dataclass
from typing import Literal

type FaultKind = Literal[
    "signature_missing",
    "signature_refused",
    "prose_missing",
    "state_unwanted",
    "thinking_missing",
    "thinking_refused",
    "reasoning_missing",
    "reasoning_refused",
    "overflow",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """A refusal understood: its kind, and what it names (item ids, keys, `messages.N` as the number N)."""

    kind: FaultKind
    named: tuple[str, ...] = ()


# (format or "" for any, what the text must match, kind, what it names). In order: the first that matches counts.
_TEXTS: tuple[tuple[str, str, FaultKind, str], ...] = (
    # Gemini everywhere: ai.google.dev "Thought Signatures"; gemini-cli #13467, 9router #301, #4136.
    ("", r"(corrupted|invalid) thought.?signature|thought.?signature is not valid", "signature_refused", ""),
    ("", r"missing a `?thought_signature|thought_signature.{0,40}missing", "signature_missing", ""),
    # OpenRouter with Gemini: agent-framework #2947.
    ("chat", r"reasoning details to be preserved", "signature_missing", ""),
    # OpenRouter with Claude: ai-sdk-provider #423.
    ("chat", r"invalid `?signature`? in `?thinking`? block", "signature_refused", ""),
    # DeepSeek, Moonshot: WIRE texts of V3.2, V4 and K2.
    (
        "chat",
        r"reasoning_content.{0,80}(missing|must be passed back)|missing .{0,10}reasoning_content",
        "prose_missing",
        "",
    ),
    # Groq, Mistral, Cerebras: strict schemas.
    (
        "chat",
        r"(property|field|inputs?).{0,40}'?(reasoning\w*).{0,60}(unsupported|not permitted|unexpected|not allowed)",
        "state_unwanted",
        r"(reasoning\w*)",
    ),
    # Anthropic: haystack #2146, claude-code #63203; platform.claude.com "Thinking".
    ("messages", r"expected `thinking` or `redacted_thinking`", "thinking_missing", r"messages\.(\d+)"),
    (
        "messages",
        r"invalid `signature` in `thinking`|thinking\.signature: field required|blocks in the latest assistant message "
        r"cannot be modified|bound to a different conversation",
        "thinking_refused",
        r"messages\.(\d+)",
    ),
    # DeepSeek's Anthropic look-alike.
    ("messages", r"content\[\]\.thinking.{0,60}must be passed back", "thinking_missing", ""),
    # OpenAI, Azure, xAI: continue #10018, cline #12242, codex #8145; docs.x.ai.
    ("responses", r"without its required 'reasoning' item", "reasoning_missing", r"Item '([a-z]+_[^']+)' of type"),
    ("responses", r"without its required following item", "reasoning_refused", r"Item '([a-z]+_[^']+)' of type"),
    (
        "responses",
        r"encrypted content for item|invalid_encrypted_content|could not decrypt the provided encrypted_content|"
        r"could not decode the compaction blob|encrypted_content",
        "reasoning_refused",
        r"for item (rs_[A-Za-z0-9_-]+)",
    ),
    ("responses", r"item with id '(rs_[^']+)' not found", "reasoning_refused", r"with id '(rs_[^']+)'"),
    ("responses", r"duplicate item found with id (rs_[A-Za-z0-9_-]+)", "reasoning_refused", r"with id '?(rs_[\w-]+)"),
    # Everyone: only looked at where something of ours was added.
    (
        "",
        r"context.{0,12}(length|window)|maximum context|prompt is too long|too many (input )?tokens|"
        r"input token count.{0,40}exceeds|exceeds the (context|maximum)",
        "overflow",
        "",
    ),
)


def read_fault(form: str, status: int, text: str) -> Fault | None:
    """The fault that a refusal tells of, None where it tells of nothing that we know. `text` is the answer's body.

    A relay may relabel the status (429 for a bad signature was seen), so every client error is looked at.
    """
    if not 400 <= status < 500 or status in (401, 402, 403):
        return None
    for name, pattern, kind, naming in _TEXTS:
        if name in ("", form) and re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            named = re.findall(naming, text, re.IGNORECASE) if naming else []
            return Fault(kind, tuple(dict.fromkeys(named)))
    return None
