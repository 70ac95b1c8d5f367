"""What a refusal says: the error texts of the providers, as a table.

Texts are from public reports and documentation (docs/rescue.md has them by provider). Where none matches, the error is
none of ours and goes to the client as it is.
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
    # OpenRouter: ai-sdk-provider #423 (Claude), PR 365 (an item twice). Vercel's gateway: cline #8214 (no data).
    (
        "chat",
        r"invalid `?(signature|data)`? in `?(redacted_)?thinking`? block|duplicate item found with id|"
        r"messages\.\d+\.reasoning_details",
        "signature_refused",
        "",
    ),
    # DeepSeek (V3.2, V4) and Moonshot (K2).
    (
        "chat",
        r"reasoning_content.{0,80}(missing|must be passed back)|missing .{0,10}reasoning_content",
        "prose_missing",
        "",
    ),
    # Strict schemas: Groq (jan #8136), Cerebras (kilocode #10375), Mistral (crush #1590: the key before the words).
    (
        "chat",
        r"(property|field|inputs?).{0,40}'?(reasoning\w*).{0,60}(unsupported|not permitted|unexpected|not allowed)|"
        r"(reasoning\w*).{0,60}extra inputs are not permitted",
        "state_unwanted",
        r"(reasoning\w*)",
    ),
    # Anthropic: haystack #2146, claude-code #63203; platform.claude.com "Thinking".
    ("messages", r"expected `thinking` or `redacted_thinking`", "thinking_missing", r"messages\.(\d+)"),
    # Names the first block that fails: all behind it fail with it.
    ("messages", r"bound to a different conversation", "thinking_refused", ""),
    (
        "messages",
        r"invalid `(signature|data)` in `(redacted_)?thinking`|thinking\.signature: field required|"
        r"blocks in the latest assistant message cannot be modified",
        "thinking_refused",
        r"messages\.(\d+)",
    ),
    # DeepSeek's Anthropic look-alike.
    ("messages", r"content\[\]\.thinking.{0,60}must be passed back", "thinking_missing", ""),
    # OpenAI, Azure, xAI: continue #10018, cline #12242, codex #8145; docs.x.ai.
    ("responses", r"without its required 'reasoning' item", "reasoning_missing", r"Item '([a-z]+_[^']+)' of type"),
    # The account is another one: what the error names is only the first that fails.
    ("responses", r"organization_id did not match", "reasoning_refused", ""),
    ("responses", r"without its required following item", "reasoning_refused", r"Item '([a-z]+_[^']+)' of type"),
    (
        "responses",
        r"encrypted content for item|invalid_encrypted_content|could not decrypt the provided encrypted_content|"
        r"could not decode the compaction blob|(?<!reasoning\.)encrypted_content",
        "reasoning_refused",
        r"for item (rs_[A-Za-z0-9_-]+)",
    ),
    ("responses", r"item with id '(rs_[^']+)' not found", "reasoning_refused", r"with id '(rs_[^']+)'"),
    ("responses", r"duplicate item found with id (rs_[A-Za-z0-9_-]+)", "reasoning_refused", r"with id '?(rs_[\w-]+)"),
    # Everyone: only looked at where something of ours was added.
    (
        "",
        r"context.{0,12}(length|window|limit)|maximum (context|prompt)|prompt is too long|too many (input )?tokens|"
        r"input token count.{0,40}exceeds|exceeds the (context|maximum)",
        "overflow",
        "",
    ),
)


def read_fault(form: str, status: int, text: str) -> Fault | None:
    """The fault that a refusal tells of, None where it tells of nothing that we know. `text` is the answer's body.

    A relay may relabel the status (429 for a bad signature was seen), so every client error is looked at. But too many
    tokens, with 429, are too many a minute: nothing that a smaller request would mend.
    """
    if not 400 <= status < 500 or status in (401, 402, 403):
        return None
    for name, pattern, kind, naming in _TEXTS:
        if name in ("", form) and re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            if kind == "overflow" and status == 429:
                return None
            named = re.findall(naming, text, re.IGNORECASE) if naming else []
            return Fault(kind, tuple(dict.fromkeys(named)))
    return None
