"""What the end-to-end tests share: a proxy with the addon in it, agents that go through it, and a small conversation.

`Talk` is a conversation of two requests in the chat shape: the first one is answered with a tool call and reasoning,
the second one is what a naive client makes of it, without the reasoning. `restored` says whether it was put back.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from agentloop import NO_TLS, Outcome, run
from dialogues import DIALOGUES
from e2e.upstream import Line, Request, Upstream
from providers import PROVIDERS, TASKS, Provider
from proxy import Proxy

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]

HERE = Path(__file__).parent
ADDON = HERE.parent.parent / "addons" / "addon.py"
BACKSTAGE = HERE / "backstage_addon.py"
REDIRECT = HERE.parent / "redirect_addon.py"
#: For tests of what people see: a list of flows, and who writes down what it shows.
LIST = HERE / "list_addon.py"
WITNESS = HERE / "witness_addon.py"

#: Every provider with every way to ask it.
EVERY_WAY = [(name, mode) for name, dialect in PROVIDERS.items() for mode in dialect.modes]

#: The texts of a run that came to its end.
FINISHED = ("Paris 18 degrees, Rome 24 degrees; in Rome it is 14:30.", "It is 7 degrees in Oslo.")

#: Seconds that are more than anything takes that is not blocked.
AMPLE = 5.0


def keeper(*words: str | Path, store: str = "memory:", addon: Path = ADDON, before: Sequence[Path] = ()) -> Proxy:
    """A mitmdump with the addon; `before` are scripts that are loaded ahead of it."""
    scripts = [word for script in (BACKSTAGE, *before, addon) for word in ("-s", script)]
    return Proxy("--set", f"thoughtkeep_store={store}", *scripts, *words)


def redirect(port: int) -> list[str | Path]:
    """Words that make all real hosts end at one loopback port."""
    hosts = sorted({dialect.host for dialect in PROVIDERS.values()})
    return ["-s", REDIRECT, "--set", "redirect_hosts=" + ",".join(f"{host}={port}" for host in hosts)]


def agent(provider: Provider, mode: str, url: str, **options: Any) -> Outcome:
    """Run the naive agent through the scenario. `options` are those of `agentloop.run`."""
    dialect = provider.dialect
    how = dialect.modes[mode]
    dialogue = DIALOGUES[dialect.shape](dialect.model if how.model_in_body else None, dialect.extra_of(mode))
    options["headers"] = {**dialect.headers, **options.get("headers", {})}
    return run(dialogue, url, options.pop("tasks", TASKS), streamed=how.streamed, **options)


def assert_all_restored(provider: Provider, outcome: Outcome) -> None:
    """The run came to its end, and the provider got back every value that it demands, each time."""
    assert (outcome.done, outcome.error, outcome.texts) == (True, "", FINISHED)
    assert not provider.refusals
    assert provider.skips == 0
    demanded = [record for record in provider.issued if record.demanded]
    assert len(demanded) == (4 if provider.dialect.name.endswith("responses") else 3)
    assert all(record.returned == record.due > 0 for record in demanded)


def assert_not_restored(provider: Provider, outcome: Outcome) -> None:
    """The provider got nothing back: it refused the request after the first call, if it is one that refuses."""
    assert not [record for record in provider.issued if record.returned]
    if provider.dialect.silent:
        assert outcome.done
        assert [record for record in provider.issued if record.due]
    else:
        assert (outcome.done, outcome.status, outcome.requests) == (False, 400, 2)
        assert [refusal.kind for refusal in provider.refusals] == ["missing"]


def backstage(proxy: Proxy, **options: object) -> httpx.Response:
    """Change options of the running proxy; without any, ask for its counts."""
    with client(proxy) as asking:
        if options:
            return asking.post("http://backstage.invalid/options", json=options)
        return asking.get("http://backstage.invalid/counts")


def command(proxy: Proxy, *words: str) -> Any:
    """Run a command of the running proxy; its value, or its error as `ValueError`."""
    with client(proxy) as asking:
        response = asking.post("http://backstage.invalid/command", json=words)
    told = response.json()
    if response.status_code != 200:
        raise ValueError(told["error"])
    return told["value"]


def witnessed(proxy: Proxy, what: str) -> list[dict[str, Any]]:
    """What the witness wrote down of flows or of one kind of event, in order."""
    lines = [line.partition("WITNESS ")[2] for line in proxy.log().splitlines() if "WITNESS" in line]
    return [told for told in map(json.loads, lines) if told["what"] == what]


def client(proxy: Proxy, user: str = "", **options: Any) -> httpx.Client:
    """An HTTP client behind the proxy."""
    address = proxy.url.replace("//", f"//{user}@") if user else proxy.url
    return httpx.Client(**{"proxy": address, "trust_env": False, "timeout": 2 * AMPLE, "verify": NO_TLS, **options})


def logged(proxy: Proxy, words: str, since: int = 0) -> str:
    """The newest line of the log that has these words, once there is one."""
    return str(wait_for(lambda: [line for line in proxy.log()[since:].splitlines() if words in line])[-1])


def goes_on(proxy: Proxy) -> bool:
    """Whether state is captured and put back: a conversation of its own, without faults."""
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        asking.post(upstream.url + talk.path, content=talk.first)
        asking.post(upstream.url + talk.path, content=talk.second)
        return talk.restored(upstream.requests[1].body)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another program that has the file for itself. Closing a descriptor of it here meanwhile would drop its locks."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        yield


def wait_for(what: Callable[[], Any]) -> Any:
    """Wait until something is so, and return it."""
    until = time.monotonic() + AMPLE
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.02)
    assert found
    return found


class Talk:
    """See above. Each one has words, ids and reasoning of its own."""

    path = "/v1/chat/completions"

    def __init__(self, *, streamed: bool = True, key: str = "sk-one") -> None:
        self.name = uuid4().hex
        self.call = f"call_{self.name}"
        self.thought = f"Reasoning {self.name}: é\u2028—"
        self.streamed = streamed
        self.headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}

    def body(self, *more: dict[str, Any], **keys: Any) -> bytes:
        """A request: the user's words, then `more`."""
        messages = [{"role": "user", "content": f"words of {self.name}"}, *more]
        return json.dumps({"model": "model-1", "stream": self.streamed, "messages": messages, **keys}).encode()

    @property
    def function(self) -> dict[str, str]:
        return {"name": "look", "arguments": '{"at":"the sky"}'}

    def said(self, **more: Any) -> list[dict[str, Any]]:
        """What a naive client keeps of the answer, and the tool's result."""
        calls = [{"id": self.call, "type": "function", "function": self.function}]
        return [
            {"role": "assistant", "content": "", "tool_calls": calls, **more},
            {"role": "tool", "tool_call_id": self.call, "content": "blue"},
        ]

    @property
    def first(self) -> bytes:
        return self.body()

    @property
    def second(self) -> bytes:
        return self.body(*self.said())

    @property
    def complete(self) -> bytes:
        """The second request of a client that keeps everything."""
        return self.body(*self.said(reasoning_content=self.thought))

    @property
    def plain(self) -> bytes:
        """The answer to the first request, not streamed."""
        calls = [{"id": self.call, "type": "function", "function": self.function}]
        message = {"role": "assistant", "content": None, "reasoning_content": self.thought, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return json.dumps({"model": "model-1", "choices": [choice]}, ensure_ascii=False).encode()

    @property
    def events(self) -> list[bytes]:
        """The same as a stream, without its `[DONE]`."""
        call = {"index": 0, "id": self.call, "type": "function", "function": self.function}
        middle = len(self.thought) // 2
        deltas: list[dict[str, Any]] = [
            {"role": "assistant", "content": None, "reasoning_content": self.thought[:middle]},
            {"reasoning_content": self.thought[middle:]},
            {"tool_calls": [call]},
        ]
        choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
        return [event({"model": "model-1", "choices": [choice]}) for choice in choices]

    @property
    def stream(self) -> list[bytes]:
        return [*self.events, b"data: [DONE]\n\n"]

    def answer(self, request: Request, line: Line) -> None:
        """An upstream's part: the call and the reasoning, or an end to the talk."""
        if b"tool_call_id" in request.body or request.header("content-encoding"):
            line.answer(b'{"choices":[]}', {"content-type": "application/json"})
        elif self.streamed:
            line.stream(self.stream)
        else:
            line.answer(self.plain, {"content-type": "application/json"})

    def state(self, body: bytes) -> Any:
        """The reasoning that a request as sent holds on its assistant message; None without any."""
        return json.loads(body)["messages"][1].get("reasoning_content")

    def restored(self, body: bytes) -> bool:
        return bool(self.state(body) == self.thought)


def event(value: dict[str, Any]) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
