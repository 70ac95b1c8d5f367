"""Which requests are LLM exchanges: told by method, path and the shape of the body, never by one of them alone."""

import pytest

from thoughtkeep.endpoint import may_be, recognise
from thoughtkeep.turns import Json

TALK: Json = {"model": "m-1", "messages": []}
CONTENTS: Json = {"contents": []}
WRAPPED: Json = {"model": "m-1", "project": "p", "request": {"contents": []}}

# path, body, format, model, streamed
OURS: list[tuple[str, Json, str, str, bool]] = [
    ("/v1/chat/completions", TALK, "chat", "m-1", False),
    ("/v1/chat/completions", TALK | {"stream": True}, "chat", "m-1", True),
    ("/v1/chat/completions", TALK | {"stream": "yes"}, "chat", "m-1", False),
    ("/any/prefix/chat/completions?api-version=2025-01-01", TALK, "chat", "m-1", False),
    ("/openai/deployments/gpt-5/chat/completions?api-version=1", {"messages": []}, "chat", "gpt-5", False),
    ("/openai/deployments/gpt-5/chat/completions", TALK, "chat", "m-1", False),
    ("/openai/deployments/gpt-5/chat/completions", TALK | {"model": None}, "chat", "gpt-5", False),
    ("/serving-endpoints/gemini-3/invocations", {"messages": [], "stream": True}, "chat", "gemini-3", True),
    ("/serving-endpoints/chat/completions", TALK, "chat", "m-1", False),
    ("/v1beta/openai/chat/completions", TALK, "chat", "m-1", False),
    ("/v1beta/models/gemini-3-pro:generateContent", CONTENTS, "gemini", "gemini-3-pro", False),
    ("/v1beta/models/gemini-3-pro:generateContent?key=k", CONTENTS, "gemini", "gemini-3-pro", False),
    ("/v1/models/gemini-3-pro:streamGenerateContent?alt=sse", CONTENTS, "gemini", "gemini-3-pro", True),
    ("/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent", CONTENTS, "gemini", "g", True),
    ("/v1internal:streamGenerateContent?alt=sse", WRAPPED, "gemini", "m-1", True),
    ("/v1internal:generateContent", WRAPPED, "gemini", "m-1", False),
]

NOT_OURS: list[tuple[str, Json]] = [
    ("/v1/chat/completions", {"messages": []}),  # no model named anywhere
    ("/v1/chat/completions", TALK | {"model": 7}),
    ("/v1/chat/completions", TALK | {"model": ""}),
    ("/v1/chat/completions", {"model": "m-1"}),
    ("/v1/chat/completions", {"model": "m-1", "messages": {}}),
    ("/v1/chat/completions", {"model": "m-1", "messages": "hello"}),
    ("/v1/chat/completions", []),
    ("/v1/chat/completions", None),
    ("/v1/chat/completions/chatcmpl-1", TALK),
    ("/v1/chat/completions/", TALK),
    ("/v1/completions", TALK),
    ("/v1/embeddings", TALK),
    ("/v1/batches", TALK),
    ("/search?next=/chat/completions", TALK),
    ("/serving-endpoints/a/b/invocations", {"messages": []}),
    ("/serving-endpoints/embedder/invocations", {"input": ["text"]}),
    ("/v1beta/models/gemini-3-pro:countTokens", CONTENTS),
    ("/v1beta/models/gemini-3-pro:embedContent", CONTENTS),
    ("/v1beta/models/gemini-3-pro:batchGenerateContent", CONTENTS),
    ("/v1beta/models/gemini-3-pro", CONTENTS),
    ("/v1beta/models/gemini-3-pro:generateContent", {"contents": "hello"}),
    ("/v1beta/models/gemini-3-pro:generateContent", ["contents"]),
    ("/v1internal:generateContent", CONTENTS),  # no model named anywhere
    ("/v1internal:generateContent", WRAPPED | {"model": None}),
    ("/v1internal:generateContent", WRAPPED | {"request": []}),
    ("/v1internal:loadCodeAssist", WRAPPED),
    ("/v1/projects/p/models/a/b:generateContent", CONTENTS),
]


@pytest.mark.parametrize(("path", "body", "form", "model", "streamed"), OURS)
def test_an_endpoint_is_recognised_with_its_model(path: str, body: Json, form: str, model: str, streamed: bool) -> None:
    found = recognise("POST", path, body)
    assert found is not None
    assert (found.format.name, found.model, found.streamed) == (form, model, streamed)
    assert may_be("post", path)


@pytest.mark.parametrize(("path", "body"), NOT_OURS)
def test_what_lacks_the_shape_is_not_ours(path: str, body: Json) -> None:
    assert recognise("POST", path, body) is None


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", ""])
def test_only_a_post_is_an_exchange(method: str) -> None:
    assert recognise(method, "/v1/chat/completions", TALK) is None
    assert not may_be(method, "/v1/chat/completions")


@pytest.mark.parametrize(
    "path", ["/", "/v1/models", "/v1beta/models/g:countTokens", "/chat/completions/x", "/x?/chat/completions"]
)
def test_a_body_is_not_read_for_a_path_that_is_nobodys(path: str) -> None:
    assert not may_be("POST", path)
