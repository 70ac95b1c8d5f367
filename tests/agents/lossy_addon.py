"""mitmproxy addon for tests: a gateway between an agent and what comes behind it, that knows no reasoning state.

It takes the fields of that state out of requests of all four formats, and leaves the rest of the JSON as it is. Load it
before thoughtkeep. Requests that the proxy makes itself do not come through a gateway.
"""

from __future__ import annotations

import json
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader

#: Keys of a chat message, of its calls and of a Gemini part.
FIELDS = frozenset(
    "reasoning_content reasoning reasoning_details reasoning_text reasoning_opaque thinking_blocks extra_content "
    "provider_specific_fields thoughtSignature thought_signature".split()
)
#: Types of content blocks and of items.
KINDS = ("thinking", "redacted_thinking", "reasoning")


class Lossy:
    """Takes the state out of each request. With `--set lossy_ids=true` items keep their ids, and are bound to it."""

    def load(self, loader: Loader) -> None:
        loader.add_option("lossy_ids", bool, False, "Whether items of Responses keep their ids")

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.is_replay is not None or flow.request.method != "POST":
            return
        try:
            body = json.loads(flow.request.content or b"")
        except ValueError:
            return
        if not isinstance(body, dict):
            return
        inner = body.get("request")
        told = inner if isinstance(inner, dict) and "contents" in inner else body
        lost = 0
        for key in ("messages", "contents", "input"):
            if isinstance(told.get(key), list):
                told[key], count = _without(told[key])
                lost += count
        if lost:
            flow.request.content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _without(entries: list[Any]) -> tuple[list[Any], int]:
    """A list of messages or items without state, and how many pieces of it were lost."""
    kept, lost = [], 0
    for entry in entries:
        if not isinstance(entry, dict):
            kept.append(entry)
            continue
        if entry.get("type") in KINDS or entry.get("thought") is True:
            lost += 1
            continue
        lost += len(FIELDS & entry.keys())
        entry = {key: value for key, value in entry.items() if key not in FIELDS}
        named = str(entry.get("id", "")).startswith(("fc_", "msg_", "ctc_")) and "type" in entry
        if named and not ctx.options.lossy_ids:
            # Items of Responses are bound to each other by their ids.
            del entry["id"]
        for key in ("content", "parts", "tool_calls"):
            if isinstance(entry.get(key), list):
                entry[key], count = _without(entry[key])
                lost += count
        kept.append(entry)
    return kept, lost


addons = [Lossy()]
