"""A switch by hand: noted in the store, and made in path or body, wherever a format names its model."""

import json
from typing import Any

import pytest

from thoughtkeep import splice
from thoughtkeep.endpoint import recognise
from thoughtkeep.handover import switch
from thoughtkeep.turns import Facts

KEY = b"k" * 32

WAYS = {
    "chat": ("/v1/chat/completions", {"model": "old", "messages": []}, "/v1/chat/completions"),
    "azure": (
        "/openai/deployments/old/chat/completions?api-version=1",
        {"messages": []},
        "/openai/deployments/new%2Fmodel/chat/completions?api-version=1",
    ),
    "databricks": (
        "/serving-endpoints/old/invocations",
        {"messages": []},
        "/serving-endpoints/new%2Fmodel/invocations",
    ),
    "messages": ("/v1/messages", {"model": "old", "max_tokens": 5, "messages": []}, "/v1/messages"),
    "vertex": (
        "/v1/projects/p/locations/l/publishers/anthropic/models/old:streamRawPredict",
        {"max_tokens": 5, "messages": []},
        "/v1/projects/p/locations/l/publishers/anthropic/models/new%2Fmodel:streamRawPredict",
    ),
    "gemini": (
        "/v1beta/models/old:streamGenerateContent?alt=sse",
        {"contents": []},
        "/v1beta/models/new%2Fmodel:streamGenerateContent?alt=sse",
    ),
    "code assist": (
        "/v1internal:generateContent",
        {"model": "old", "request": {"contents": []}},
        "/v1internal:generateContent",
    ),
    "responses": ("/v1/responses", {"model": "old", "input": []}, "/v1/responses"),
}


@pytest.mark.parametrize("name", WAYS)
def test_another_model_is_asked_in_the_same_way(name: str) -> None:
    path, body, asked = WAYS[name]
    endpoint = recognise("POST", path, body)
    assert endpoint is not None
    new_path, edits = switch.redirected(endpoint.format, path, body, "new/model")
    assert new_path == asked
    sent: Any = json.loads(splice.apply(json.dumps(body).encode(), edits)) if edits else body
    found = recognise("POST", new_path, sent)
    assert found is not None
    assert (found.format, found.streamed) == (endpoint.format, endpoint.streamed)
    assert found.model == ("new/model" if "model" in body else "new%2Fmodel")
    assert {edit.reason for edit in edits} <= {switch.SWITCHED}


def test_the_newest_switch_of_a_conversation_holds_and_an_empty_one_ends_it() -> None:
    place, other = switch.place_of(KEY, "root"), switch.place_of(KEY, "other root")
    first = switch.to_kept("model-2", place, "tenant", "root", 1.0)
    last = switch.to_kept("", place, "tenant", "root", 2.0)
    elsewhere = switch.to_kept("model-3", other, "tenant", "other root", 3.0)
    assert first.id == last.id != elsewhere.id
    assert switch.model_of(Facts((elsewhere, first)), place) == "model-2"
    assert switch.model_of(Facts((elsewhere, last)), place) == ""
    assert switch.model_of(Facts((elsewhere,)), place) == ""
