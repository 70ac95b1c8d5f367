"""Whatever fails inside: the client's own bytes go through, one line says so, and the next request is as any other."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from e2e.faults_addon import HEADER, SECRET
from e2e.kit import AMPLE, HERE, Talk, backstage, client, event, goes_on, keeper, wait_for
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy


@pytest.fixture(scope="module")
def faulty() -> Iterator[Proxy]:
    with keeper(before=[HERE / "faults_addon.py"]) as running:
        yield running


class Since:
    """What the log says and the counters counted from now on."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._size = len(proxy.log())
        self._faults = self._counted()

    def _counted(self) -> int:
        return int(backstage(self._proxy).json().get("faults", 0))

    @property
    def log(self) -> str:
        return self._proxy.log()[self._size :]

    def assert_one_fault(self, where: str, talk: Talk) -> None:
        """One line, which names the hook and no secret; one fault counted; no stack trace."""
        assert self.log.count("thoughtkeep: fault in ") == 1
        assert f"thoughtkeep: fault in {where}" in self.log
        assert "RuntimeError" in self.log or "TypeError" in self.log
        assert self._counted() == self._faults + 1
        self.assert_no_secret(talk)

    def assert_no_secret(self, talk: Talk) -> None:
        assert "Traceback" not in self.log
        for secret in (SECRET, "sk-one", f"words of {talk.name}", talk.thought[:20]):
            assert secret not in self.log


@pytest.mark.parametrize(
    "fault",
    ["concerns", "begin", "started", "_facts", "fetch", "decide", "touch", "apply", "planned", "write_body"],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_a_fault_in_request_lets_the_clients_own_request_through(fault: str, streamed: bool, faulty: Proxy) -> None:
    talk = Talk(streamed=streamed)
    with Upstream(talk.answer) as upstream, client(faulty, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        asking.post(url, content=talk.first)
        since = Since(faulty)
        answer = asking.post(url, content=talk.second, headers={HEADER: fault, "x-thoughtkeep-x": "y"})
        assert (answer.status_code, answer.content) == (200, b'{"choices":[]}')
        sent = upstream.requests[1]
        assert (sent.target, sent.body) == (talk.path, talk.second)
        assert sent.header("content-length") == str(len(talk.second))
        assert not [name for name, _ in sent.headers if name.startswith(("x-thoughtkeep", "x-half"))]
        since.assert_one_fault("request,", talk)

        asking.post(url, content=talk.second)
        assert talk.restored(upstream.requests[2].body)


def test_a_fault_in_requestheaders_lets_the_request_through(faulty: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(faulty, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        asking.post(url, content=talk.first)
        since = Since(faulty)
        assert asking.post(url, content=talk.second, headers={HEADER: "control"}).status_code == 200
        assert talk.restored(upstream.requests[1].body)  # the hooks behind it go on
        since.assert_one_fault("requestheaders,", talk)


def test_a_fault_where_an_upgrade_is_refused_lets_the_upgrade_through() -> None:
    talk = Talk()

    def answer(_: Request, line: Line) -> None:
        line.answer(b"no", {}, "404 Not Found")

    with keeper("--set", "thoughtkeep_websocket=off", before=[HERE / "faults_addon.py"]) as refusing:
        since = Since(refusing)
        with Upstream(answer) as upstream, client(refusing) as asking:
            headers = {"upgrade": "websocket", "connection": "upgrade", HEADER: "concerns"}
            assert asking.get(f"{upstream.url}/v1/responses", headers=headers).status_code == 404
            assert len(upstream.requests) == 1
        since.assert_no_secret(talk)
        assert "thoughtkeep: fault in requestheaders" in since.log


@pytest.mark.parametrize(
    ("fault", "streamed", "where"),
    [
        ("_work", True, "stream"),
        ("commit", True, "stream"),
        ("turns", True, "stream"),
        ("put", True, "stream"),
        ("finish", True, "response"),
        ("ended", True, "response"),
        ("flush", True, ""),
        ("answer", False, "response"),
        ("_work", False, "response"),
        ("commit", False, "response"),
        ("turns", False, "response"),
        ("put", False, "response"),
        ("finish", False, "response"),
        ("ended", False, "response"),
        ("flush", False, ""),
    ],
)
def test_a_fault_behind_the_request_lets_the_answer_through(
    fault: str, streamed: bool, where: str, faulty: Proxy
) -> None:
    talk = Talk(streamed=streamed)
    with Upstream(talk.answer) as upstream, client(faulty, headers=talk.headers) as asking:
        since = Since(faulty)
        answer = asking.post(upstream.url + talk.path, content=talk.first, headers={HEADER: fault})
        assert answer.status_code == 200
        assert answer.content == (b"".join(talk.stream) if streamed else talk.plain)
        wait_for(lambda: "<< 200 OK" in since.log)
        since.assert_one_fault(where, talk)
    assert goes_on(faulty)


def test_a_fault_in_responseheaders_lets_the_answer_through_in_one_piece(faulty: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(faulty, headers=talk.headers) as asking:
        since = Since(faulty)
        answer = asking.post(upstream.url + talk.path, content=talk.first, headers={HEADER: "answer"})
        assert (answer.status_code, answer.content) == (200, b"".join(talk.stream))
        # What was not captured as a stream is captured as a whole, and there it fails again.
        assert since.log.count("thoughtkeep: fault in responseheaders") == 1
        assert since.log.count("thoughtkeep: fault in response,") == 1
        since.assert_no_secret(talk)
    assert goes_on(faulty)


def test_a_store_that_does_not_answer_holds_up_no_request(faulty: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(faulty, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        asking.post(url, content=talk.first)
        since, began = Since(faulty), time.monotonic()
        answer = asking.post(url, content=talk.second, headers={HEADER: "fetch hangs"})
        assert time.monotonic() - began < AMPLE
        assert answer.status_code == 200
        assert upstream.requests[1].body == talk.second
        assert since.log.count("the store did not answer in time") == 1
        asking.post(url, content=talk.second)
        assert talk.restored(upstream.requests[2].body)


def test_what_the_store_said_in_time_counts_although_a_busy_proxy_hears_it_late(faulty: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(faulty, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        asking.post(url, content=talk.first)
        since = Since(faulty)
        asking.post(url, content=talk.second, headers={HEADER: "fetch is heard late"})
        assert talk.restored(upstream.requests[1].body)
        assert "did not answer in time" not in since.log


@pytest.mark.parametrize("streamed", [True, False])
def test_a_store_that_does_not_write_holds_up_no_answer(streamed: bool, faulty: Proxy) -> None:
    talk = Talk(streamed=streamed)
    with Upstream(talk.answer) as upstream, client(faulty, headers=talk.headers) as asking:
        url, began = upstream.url + talk.path, time.monotonic()
        answer = asking.post(url, content=talk.first, headers={HEADER: "flush hangs"})
        assert time.monotonic() - began < AMPLE
        assert answer.content == (b"".join(talk.stream) if streamed else talk.plain)
        asking.post(url, content=talk.second)
        assert talk.restored(upstream.requests[1].body)


@pytest.mark.parametrize("fault", ["finish", "turns", "put", "flush", "ended"])
def test_a_fault_while_a_broken_stream_is_dealt_with_harms_nobody(fault: str, faulty: Proxy) -> None:
    talk = Talk()

    entry = {
        "type": "reasoning.encrypted",
        "data": "c2lnbmVkIGJ5IG5vYm9keSBlbHNlIGF0IGFsbA==",
        "id": talk.call,
        "index": 0,
    }
    signed = event({"choices": [{"index": 0, "delta": {"reasoning_details": [entry]}}]})

    def answer(_: Request, line: Line) -> None:
        """A signed block that closed, and then no end."""
        line.stream([*talk.events[:2], signed], end=False)
        line.wait_until_left()

    since = Since(faulty)
    with Upstream(answer) as upstream, client(faulty, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        with asking.stream("POST", url, content=talk.first, headers={HEADER: fault}) as stream:
            next(stream.iter_raw())
        wait_for(lambda: "thoughtkeep: fault" in since.log)
        since.assert_one_fault("" if fault == "flush" else "error", talk)
    assert goes_on(faulty)
