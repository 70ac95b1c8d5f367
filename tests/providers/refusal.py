"""How a strict provider says no."""

from __future__ import annotations

import json
from typing import Any


class Refusal(Exception):
    """The provider refuses a request. `text` is the provider's own words, `status` an HTTP status.

    `kind` says which rule was broken, for tests and tables: `missing`, `corrupt`, `pairing`, `shape`. `code` is the
    machine-readable name of the fault, where the provider has one.
    """

    def __init__(self, kind: str, text: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.status = status
        self.code = code


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


def anthropic_body(refusal: Refusal) -> dict[str, Any]:
    """Anthropic's error object; Vertex AI passes it on as it is."""
    kind = "not_found_error" if refusal.status == 404 else "invalid_request_error"
    return {"type": "error", "error": {"type": kind, "message": refusal.text}, "request_id": "req_011StrictProvider"}


def responses_body(refusal: Refusal) -> dict[str, Any]:
    """The error object of OpenAI's Responses: `param` names the input, `code` is null for most faults."""
    param = None if refusal.code == "invalid_encrypted_content" else "input"
    return {
        "error": {"message": refusal.text, "type": "invalid_request_error", "param": param, "code": refusal.code},
    }


def xai_body(refusal: Refusal) -> dict[str, Any]:
    """xAI's error object: two strings."""
    return {"code": "invalid-argument", "error": refusal.text}


def encode(body: Any) -> bytes:
    """JSON bytes of an error body."""
    return json.dumps(body, ensure_ascii=False).encode()
