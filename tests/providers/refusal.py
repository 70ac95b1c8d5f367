"""How a strict provider says no."""

from __future__ import annotations

import json
from typing import Any


class Refusal(Exception):
    """The provider refuses a request. `text` is the provider's own words, `status` an HTTP status.

    `kind` says which rule was broken, for tests and tables: `missing`, `corrupt`, `pairing`, `shape`.
    """

    def __init__(self, kind: str, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.status = status


def google_body(refusal: Refusal) -> dict[str, Any]:
    """Google's error object: `{"error":{"code","message","status"}}`."""
    status = "INVALID_ARGUMENT" if refusal.status == 400 else "NOT_FOUND"
    return {"error": {"code": refusal.status, "message": refusal.text, "status": status}}


def openai_body(refusal: Refusal) -> dict[str, Any]:
    """The error object of the OpenAI shape, as DeepSeek fills it."""
    return {
        "error": {
            "message": refusal.text,
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_request_error",
        }
    }


def openrouter_body(refusal: Refusal, upstream: str) -> dict[str, Any]:
    """OpenRouter's wrapping: the outer text says nothing, the upstream's words stand in `error.metadata.raw`.

    Known from the microsoft/agent-framework client.
    """
    return {
        "error": {
            "message": "Provider returned error",
            "code": refusal.status,
            "metadata": {"raw": refusal.text, "provider_name": upstream},
        },
        "user_id": "user_strict",
    }


def databricks_body(refusal: Refusal) -> dict[str, Any]:
    """Databricks' error object; the model vendor's text is passed on in `message`."""
    return {"error_code": "BAD_REQUEST", "message": refusal.text}


def encode(body: Any) -> bytes:
    """JSON bytes of an error body."""
    return json.dumps(body, ensure_ascii=False).encode()
