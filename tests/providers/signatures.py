"""Gemini's rule for thought signatures, wherever on the wire they sit.

ai.google.dev "Thought Signatures": the first call of every step in the current turn must carry the signature that was
issued with it; parallel siblings stay unsigned; earlier turns are not validated. This server is a little stricter:
a value that is present must be right, in earlier turns too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from providers.ledger import Ledger, skip_value
from providers.refusal import Refusal
from providers.scenario import Past

#: Finds the signature on one call's JSON object. None where there is none in the right place.
Finder = Callable[[Mapping[str, Any]], Any]


def missing_on_gemini(name: str, place: int) -> str:
    """The Gemini API's text for a missing signature. Places count from 1."""
    return (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        f"call `default_api:{name}` , position {place + 1}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )


def missing_on_vertex(name: str, place: int) -> str:
    """The text of Vertex AI and Code Assist for a missing signature. Places count from 1."""
    return (
        f"Unable to submit request because function call `{name}` in the {place + 1}. content block is missing a "
        "`thought_signature`. Learn more: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures"
    )


@dataclass(frozen=True)
class SignatureRule:
    """The rule with one surface's words.

    `missing` makes the text for an unsigned call, `corrupt` is the text for any wrong value, `skips` are the documented
    values that this surface takes instead.
    """

    kind: str
    missing: Callable[[str, int], str]
    corrupt: str
    skips: tuple[str, ...]

    def check(self, past: Past, ledger: Ledger, find: Finder) -> int:
        """Check every call of the history and return how many carried a skip value. Raises Refusal."""
        skipped = 0
        for said in past.said:
            for ordinal, (call, raw) in enumerate(said.calls):
                if ordinal == 0:
                    ledger.expected(self.kind, call.key)
                value = find(raw)
                if value is None:
                    if ordinal == 0 and said.current:
                        raise Refusal("missing", self.missing(call.name, said.place))
                    continue
                skipped += self.accept(ledger, call.key, value)
        return skipped

    def accept(self, ledger: Ledger, anchor: str, value: Any) -> int:
        """Accept one value at one place: 0 for the issued one, 1 for a skip value. Raises Refusal for all else."""
        verdict, _ = ledger.judge(self.kind, anchor, value)
        if verdict == "own":
            return 0
        if verdict == "skip" and skip_value(value) in self.skips:
            return 1
        raise Refusal("corrupt", self.corrupt)
