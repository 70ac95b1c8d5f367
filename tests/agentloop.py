"""A naive agent: it knows messages, tools and text, and has never heard of reasoning state.

It does what most clients do: read an answer into text and calls, drop the rest, run the tools, rebuild the history from
what it kept, and ask again. What it keeps is `dialogues`' business; `run` is the loop.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from dialogues import DIALOGUES, TOOLS, Answer, BadAnswer, Call, Dialogue

__all__ = ["DIALOGUES", "Answer", "BadAnswer", "Call", "Dialogue", "Outcome", "events", "run"]


#: Most of this is plain http. A context that trusts nobody also spares each run the reading of the CA bundle.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    `texts` holds the final text of each task that was finished, `calls` every call that was made, `requests` how many
    requests were sent. A run that failed has the HTTP `status` (0 if there was none) and the body in `error`.
    """

    done: bool
    texts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    requests: int = 0
    status: int = 200
    error: str = ""


def run(
    dialogue: Dialogue,
    url: str,
    tasks: Sequence[str],
    *,
    streamed: bool,
    headers: Mapping[str, str] | None = None,
    proxy: str | None = None,
    verify: ssl.SSLContext = NO_TLS,
    hang_up: bool = False,
    max_requests: int = 12,
    timeout: float = 15.0,
) -> Outcome:
    """Work through `tasks` and say what became of them. Never raises for what the other side does.

    `url` is the whole endpoint, `proxy` an HTTP proxy's address, `verify` says whom an https endpoint is believed. With
    `hang_up` a stream is left at its last event instead of being read to the end. `timeout` is in seconds, for each
    wait; the whole run takes at most four of them.
    """
    texts: list[str] = []
    made: list[Call] = []
    sent = 0
    deadline = time.monotonic() + 4 * timeout
    try:
        with httpx.Client(
            proxy=proxy, trust_env=False, verify=verify, timeout=timeout, headers=dict(headers or {})
        ) as client:
            for task in tasks:
                dialogue.ask(task)
                while True:
                    if sent >= max_requests or time.monotonic() > deadline:
                        return Outcome(False, tuple(texts), tuple(made), sent, 0, "the run did not come to an end")
                    sent += 1
                    status, payloads = _exchange(client, dialogue, url, streamed, hang_up, deadline)
                    if status != 200:
                        return Outcome(False, tuple(texts), tuple(made), sent, status, str(payloads))
                    answer = dialogue.take(payloads, streamed) if isinstance(payloads, list) else Answer("")
                    if not answer.calls:
                        texts.append(answer.text)
                        break
                    made.extend(answer.calls)
                    dialogue.give([(call, _run_tool(call)) for call in answer.calls])
    except (httpx.HTTPError, BadAnswer) as error:
        return Outcome(False, tuple(texts), tuple(made), sent, 0, f"{type(error).__name__}: {error}")
    return Outcome(True, tuple(texts), tuple(made), sent)


def _exchange(
    client: httpx.Client, dialogue: Dialogue, url: str, streamed: bool, hang_up: bool, deadline: float
) -> tuple[int, list[Any] | str]:
    with client.stream("POST", url, json=dialogue.body(streamed)) as response:
        if response.status_code != 200:
            return response.status_code, response.read().decode("utf-8", "replace")
        if "event-stream" not in response.headers.get("content-type", ""):
            try:
                whole = json.loads(response.read())
            except ValueError as error:
                raise BadAnswer("the answer is no JSON") from error
            return 200, whole if isinstance(whole, list) else [whole]
        payloads: list[Any] = []
        for data in events(response.iter_bytes()):
            if time.monotonic() > deadline:
                raise BadAnswer("the stream did not come to an end")
            done = data == "[DONE]"
            if not done:
                payloads.append(json.loads(data))
                done = dialogue.finished(payloads[-1])
            if done and hang_up:
                break
        return 200, payloads


def events(chunks: Iterator[bytes]) -> Iterator[str]:
    """The data of each server-sent event. Lines end in LF, CR or CRLF; a last event may lack its blank line."""
    data: list[str] = []
    for line in _lines(chunks):
        if not line and data:
            yield "\n".join(data)
            data = []
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
    if data:
        yield "\n".join(data)


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        rest += chunk
        # A CR at the very end may be half of a CRLF: leave it for the next chunk.
        held = b"\r" if rest.endswith(b"\r") else b""
        whole = rest.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = whole.split(b"\n")
        rest += held
        yield from (line.decode("utf-8", "replace") for line in lines)
    # Behind the last line end stand two empty lines at most: they end an event and harm nothing.
    yield from (line.decode("utf-8", "replace") for line in rest.replace(b"\r", b"\n").split(b"\n"))


def _run_tool(call: Call) -> dict[str, Any]:
    for tool in TOOLS:
        if tool.name == call.name:
            try:
                return tool.run(call.arguments)
            except KeyError as error:
                return {"error": f"missing argument {error}"}
    return {"error": f"no tool {call.name}"}
