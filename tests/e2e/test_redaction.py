"""Saved flows hold no credential where that is asked for, and never one that no client sent; the traffic has them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from mitmproxy import http, io
from mitmproxy.test import taddons, tflow

from e2e.kit import AMPLE, REDIRECT, Talk, backstage, client, keeper, wait_for
from e2e.switching import SHAPES, SUMMARY_KEY, TAG, Board, Session, handing, impatient
from e2e.upstream import Line, Request, Upstream, make_certificate, tls_front
from proxy import Proxy
from thoughtkeep_mitm.redaction import Redaction, is_secret, redact_header, redact_url, seal
from thoughtkeep_mitm.runtime import Runtime

JSON = {"content-type": "application/json"}
USER, PASSWORD = "somebody", "canary-of-the-proxy"
COOKIE = "canary-of-the-response"

#: What a client sends of itself, each value its own.
SECRETS = {
    "authorization": "Bearer canary-bearer",
    "x-api-key": "canary-x-api-key",
    "x-goog-api-key": "canary-x-goog-api-key",
    "cookie": "session=canary-cookie",
    "x-own-secret": "canary-own",
    "referer": "https://canary-user:canary-word@host.invalid/?token=canary-referer",
}
QUERY = "?alt=sse&key=canary-query"
#: All that may be in a saved flow with the option off, and in none with it on.
CANARIES = [
    "canary-bearer",
    "canary-x-api-key",
    "canary-x-goog-api-key",
    "canary-cookie",
    "canary-own",
    "canary-word",
    "canary-referer",
    "canary-query",
    COOKIE,
    PASSWORD,
]
ANSWERED = {**JSON, "set-cookie": f"session={COOKIE}; Path=/", "x-ratelimit-remaining-tokens": "4711"}


@dataclass
class Files:
    """Where a proxy saves its flows, both ways."""

    folder: Path

    @property
    def words(self) -> list[str | Path]:
        return ["-w", self.folder / "flows", "--set", f"hardump={self.folder / 'flows.har'}"]

    @property
    def raw(self) -> dict[str, bytes]:
        """Their bytes. The proxy must have ended."""
        return {name: (self.folder / name).read_bytes() for name in ("flows", "flows.har")}

    def found(self, words: list[str]) -> dict[str, list[str]]:
        """Which of the words are in which file."""
        return {name: [word for word in words if word.encode() in raw] for name, raw in self.raw.items()}

    def flows(self) -> list[http.HTTPFlow]:
        with (self.folder / "flows").open("rb") as file:
            return [flow for flow in io.FlowReader(file).stream() if isinstance(flow, http.HTTPFlow)]


# -- a day in the life of a proxy, once with the option on and once with it off ---------------------------------------


@dataclass
class Day:
    """What a proxy did and saved. The name of each exchange is the first part of its path."""

    redacts: bool
    files: Files
    got: dict[str, list[Request]] = field(default_factory=dict)
    answers: dict[str, httpx.Response] = field(default_factory=dict)
    restored: dict[str, bool] = field(default_factory=dict)
    log: str = ""

    def saved(self, name: str) -> list[http.HTTPFlow]:
        return [flow for flow in self.files.flows() if flow.request.path.startswith(f"/{name}/")]


class Host:
    """The upstream of that day: the first part of the path says what it does."""

    def __init__(self, day: Day) -> None:
        self._day = day
        self.talks: dict[str, Talk] = {}
        self.left = threading.Event()

    def script(self, request: Request, line: Line) -> None:
        name = request.target.split("/")[1]
        self._day.got.setdefault(name, []).append(request)
        if name in ("plain", "streamed"):
            talk = self.talks[name]
            if b"tool_call_id" in request.body:
                line.answer(b'{"choices":[]}', ANSWERED)
            elif talk.streamed:
                line.stream(talk.stream, ANSWERED)
            else:
                line.answer(talk.plain, ANSWERED)
        elif name == "other":
            line.answer(b"so", ANSWERED, "404 Not Found")
        elif name == "dies":
            line.begin({**ANSWERED, "content-length": "1000"})
            line.send(b"{")
        elif name in ("leaves", "open"):
            line.stream([b"data: {}\n\n"], ANSWERED, end=False)
            if line.wait_until_left():
                self.left.set()
        elif name == "socket":
            accepted = {"upgrade": "websocket", "sec-websocket-accept": "x", **ANSWERED}
            lines = [f"{header}: {value}" for header, value in accepted.items()]
            line.send("\r\n".join(["HTTP/1.1 101 So", "connection: Upgrade", *lines, "", ""]).encode())
            line.send(b"\x81\x02hi\x88\x00")  # a text, and the end
            line.wait_until_left()
        elif b"reasoning_content" in request.body:  # Groq does not want that
            error = {"error": {"message": "property 'reasoning_content' is unsupported"}}
            line.answer(json.dumps(error).encode(), ANSWERED, "400 Bad Request")
        else:
            line.answer(b'{"choices":[]}', ANSWERED)


def rescuable() -> bytes:
    said = {"role": "assistant", "content": "So.", "reasoning_content": "Hm."}
    messages = [{"role": "user", "content": "One."}, said, {"role": "user", "content": "Two."}]
    return json.dumps({"model": "gpt-oss", "messages": messages}).encode()


def live_through(day: Day, host: Host, proxy: Proxy, upstream: Upstream) -> None:
    told = {**JSON, **SECRETS}
    with client(proxy, f"{USER}:{PASSWORD}", headers=told) as asking:
        for name, streamed in (("plain", False), ("streamed", True)):
            talk = host.talks[name] = Talk(streamed=streamed)
            url = f"{upstream.url}/{name}{talk.path}{QUERY}"
            day.answers[name] = asking.post(url, content=talk.first)
            asking.post(url, content=talk.second)
            day.restored[name] = talk.restored(day.got[name][1].body)
        day.answers["other"] = asking.get(f"{upstream.url}/other/{QUERY}")
        with pytest.raises(httpx.HTTPError):
            day.answers["dies"] = asking.get(f"{upstream.url}/dies/{QUERY}").raise_for_status()
        with asking.stream("POST", f"{upstream.url}/leaves/v1/chat/completions{QUERY}", content=Talk().first) as left:
            next(left.iter_raw())
        wait_for(host.left.is_set)
        day.answers["rescued"] = asking.post(
            f"http://api.groq.com/openai/v1/chat/completions{QUERY}", content=rescuable()
        )
    day.answers["refused"] = httpx.get(
        f"{upstream.url}/refused/",
        proxy=proxy.url.replace("//", f"//{USER}:canary-wrong@"),
        trust_env=False,
    )
    through_a_websocket(proxy, upstream)
    with client(proxy, f"{USER}:{PASSWORD}", headers=told) as asking:
        url = f"{upstream.url}/open/v1/chat/completions{QUERY}"
        with asking.stream("POST", url, content=Talk().first) as stream:
            next(stream.iter_raw())
            proxy.stop()


def through_a_websocket(proxy: Proxy, upstream: Upstream) -> None:
    user = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    told = {
        "host": "x",
        "proxy-authorization": f"Basic {user}",
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "x",
        "sec-websocket-protocol": "realtime, openai-insecure-api-key.canary-protocol",
        **SECRETS,
    }
    lines = [f"{name}: {value}" for name, value in told.items()]
    head = "\r\n".join([f"GET {upstream.url}/socket/{QUERY} HTTP/1.1", *lines, "", ""])
    with socket.create_connection(("127.0.0.1", proxy.port), AMPLE) as sock:
        sock.sendall(head.encode())
        got = b""
        while not got.endswith(b"\x88\x00") and (more := sock.recv(4096)):
            got += more
    assert f"session={COOKIE}".encode() in got
    assert b"hi" in got


@pytest.fixture(scope="module", params=["on", "off"])
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Day:
    day = Day(request.param == "on", Files(tmp_path_factory.mktemp("day")))
    host = Host(day)
    with Upstream(host.script) as upstream:
        words = ["--proxyauth", f"{USER}:{PASSWORD}", "--set", f"thoughtkeep_redact_saved={request.param}"]
        groq: list[str | Path] = [
            "-s",
            REDIRECT,
            "--set",
            f"redirect_hosts=api.groq.com={upstream.port},127.0.0.1={upstream.port}",
        ]
        with keeper(*words, *groq, *day.files.words) as proxy:
            live_through(day, host, proxy, upstream)
            day.log = proxy.log()
    return day


def test_no_saved_file_holds_a_credential_with_the_option_on_and_all_are_there_with_it_off(day: Day) -> None:
    wrong = base64.b64encode(f"{USER}:canary-wrong".encode()).decode()
    words = [*CANARIES, "canary-protocol", wrong]
    if day.redacts:
        assert day.files.found(["canary", wrong]) == {"flows": [], "flows.har": []}
    else:
        no_metadata = [word for word in words if word != PASSWORD]
        assert day.files.found(words) == {"flows": words, "flows.har": no_metadata}


def test_saved_flows_are_otherwise_intact(day: Day) -> None:
    (first, _), (streamed, _) = day.saved("plain"), day.saved("streamed")
    for flow in (first, streamed):
        assert flow.response is not None
        assert flow.response.status_code == 200
        assert flow.response.headers["x-ratelimit-remaining-tokens"] == "4711"
        assert flow.request.headers["content-type"] == "application/json"
        assert flow.metadata["proxyauth"][0] == USER
    assert first.response is not None
    assert first.response.content == day.answers["plain"].content
    if day.redacts:
        assert first.request.path == "/plain" + Talk.path + "?alt=sse&key=[redacted]"
        assert first.request.headers["authorization"] == "Bearer [redacted]"
        assert first.request.headers["referer"] == "https://[redacted]@host.invalid/?token=[redacted]"
        assert first.response.headers["set-cookie"] == "[redacted]"
        assert list(first.metadata["proxyauth"]) == [USER, "[redacted]"]
    else:
        assert first.request.path == "/plain" + Talk.path + QUERY
        assert {name: first.request.headers[name] for name in SECRETS} == SECRETS
        assert first.response.headers["set-cookie"] == ANSWERED["set-cookie"]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("other", "404"),
        ("dies", "error"),
        ("leaves", "error"),
        ("open", "error"),
        ("socket", "101"),
        ("refused", "407"),
    ],
)
def test_every_exchange_is_saved_however_it_ends(name: str, how: str, day: Day) -> None:
    (flow,) = day.saved(name)
    assert (flow.error is not None) == (how == "error")
    if how.isdigit():
        assert flow.response is not None
        assert str(flow.response.status_code) == how
    assert name in ("refused", "socket") or flow.request.headers["x-own-secret"] == (
        "[redacted]" if day.redacts else SECRETS["x-own-secret"]
    )
    assert (flow.websocket is not None) == (name == "socket")


def test_the_upstream_gets_the_credentials_and_the_client_gets_its_cookies(day: Day) -> None:
    assert set(day.got) == {"plain", "streamed", "other", "dies", "leaves", "open", "openai", "socket"}
    for name, requests in day.got.items():
        for request in requests:
            assert request.target.endswith(QUERY), name
            assert {header: request.header(header) for header in SECRETS} == SECRETS, name
            assert request.header("proxy-authorization") is None
    for name in ("plain", "streamed", "other", "rescued"):
        assert day.answers[name].headers["set-cookie"] == ANSWERED["set-cookie"], name


def test_state_is_restored_and_refusals_are_rescued_as_ever(day: Day) -> None:
    assert day.restored == {"plain": True, "streamed": True}
    first, second = day.got["openai"]
    assert b"reasoning_content" in first.body
    assert b"reasoning_content" not in second.body
    assert day.answers["rescued"].status_code == 200
    own, clients = day.saved("openai")
    assert (own.is_replay, clients.is_replay) == ("request", None)
    assert own.response is not None
    assert own.response.headers["set-cookie"] == ("[redacted]" if day.redacts else ANSWERED["set-cookie"])
    assert "thoughtkeep: fault" not in day.log
    assert "Traceback" not in day.log


# -- flows that are open, requests that are not looked at, TLS and HTTP/2 ----------------------------------------------


#: The filter matches what clients ask here, and no request for a summary.
REDACTING = ["--set", "thoughtkeep_redact_saved=on", "--set", "thoughtkeep_filter=~hq x-test-name"]


def test_flows_that_mitmproxy_writes_while_they_are_open_hold_no_credential_and_go_on(tmp_path: Path) -> None:
    """When the file is closed, and when the proxy ends: then a summary is still waited for."""
    files, board = Files(tmp_path), Board()
    go, reached = threading.Event(), threading.Event()

    def held(request: Request, line: Line) -> None:
        reached.set()
        go.wait(AMPLE)
        line.answer(b"so", ANSWERED)

    with Upstream(held) as slow, Upstream(board.script) as upstream:
        with handing(*files.words, *REDACTING) as proxy, client(proxy) as asking:
            got: list[httpx.Response] = []
            headers = {**SECRETS, "x-test-name": ""}
            waiting = threading.Thread(target=lambda: got.append(asking.get(f"{slow.url}/{QUERY}", headers=headers)))
            waiting.start()
            wait_for(reached.is_set)
            assert backstage(proxy, save_stream_file=None).status_code == 200
            raw = (tmp_path / "flows").read_bytes()
            assert (b"[redacted]" in raw, b"canary" in raw) == (True, False)
            go.set()
            waiting.join()
            assert got[0].headers["set-cookie"] == ANSWERED["set-cookie"]

            assert backstage(proxy, save_stream_file=str(tmp_path / "flows")).status_code == 200
            session = Session(proxy, upstream.url, key="canary-of-the-session")
            session.turn("model-a")
            leave_behind(session, board)
            proxy.stop()
        assert board.summaries[0].header("authorization") == "Bearer canary-of-the-session"
    assert files.found(["[redacted]", "You prepare a handover"])["flows"] == ["[redacted]", "You prepare a handover"]
    assert files.found(["canary"]) == {"flows": [], "flows.har": []}


def leave_behind(session: Session, board: Board) -> None:
    """Let a conversation change hands; back when somebody is asked for a summary, who will not answer."""
    board.hold()
    before = len(board.summaries)

    def turn() -> None:
        with contextlib.suppress(httpx.HTTPError, AssertionError):
            session.turn("model-z")

    threading.Thread(target=turn, daemon=True).start()
    wait_for(lambda: len(board.summaries) > before)


class Http2(ssl.SSLContext):
    """Offers nothing else: httpx offers HTTP/1.1 first, and mitmproxy takes it."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        super().set_alpn_protocols(["h2"])


def only_http_2() -> ssl.SSLContext:
    context = Http2(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_over_tls_and_in_http_2_it_is_the_same_and_the_filter_says_what_is_looked_at(tmp_path: Path) -> None:
    files, got = Files(tmp_path), []
    pem = make_certificate(tmp_path, "localhost")

    def answer(request: Request, line: Line) -> None:
        got.append(request)
        line.answer(b"so", ANSWERED)

    options = ["connection_strategy=lazy", "upstream_cert=false"]  # else the upstream says which HTTP is spoken
    options += ["thoughtkeep_redact_saved=on", "thoughtkeep_filter=~u /wanted/"]
    words = ["--proxyauth", f"{USER}:{PASSWORD}", "--ssl-insecure", *(w for o in options for w in ("--set", o))]
    with Upstream(answer) as upstream, tls_front(upstream.port, pem) as port, keeper(*words, *files.words) as proxy:
        with client(proxy, f"{USER}:{PASSWORD}", http2=True, verify=only_http_2(), headers=SECRETS) as asking:
            for path in ("wanted", "other"):
                response = asking.get(f"https://localhost:{port}/{path}/{QUERY}")
                assert (response.http_version, response.headers["set-cookie"]) == ("HTTP/2", ANSWERED["set-cookie"])
        proxy.stop()
    assert [(request.target, request.header("x-api-key")) for request in got] == [
        (f"/{path}/{QUERY}", SECRETS["x-api-key"]) for path in ("wanted", "other")
    ]
    wanted, other = files.flows()
    assert "canary" not in repr(wanted.get_state())
    assert wanted.request.headers["authorization"] == "Bearer [redacted]"
    assert list(wanted.metadata["proxyauth"]) == [USER, "[redacted]"]
    assert {name: other.request.headers[name] for name in SECRETS} == SECRETS


# -- the key of the one who makes summaries ----------------------------------------------------------------------------


def test_the_environments_key_is_in_no_saved_file_whatever_the_options_and_however_the_request_ends(
    tmp_path: Path,
) -> None:
    files, board = Files(tmp_path), Board()
    with Upstream(board.script) as upstream, handing(*files.words, "--set", "flow_detail=2") as proxy:
        for shape in SHAPES:
            other = Board(shape)
            with Upstream(other.script) as elsewhere:
                options = summariser(elsewhere, shape)
                assert backstage(proxy, **options).status_code == 200
                session = Session(proxy, upstream.url)
                session.turn("model-a")
                session.turn("model-b")
                assert TAG in board.turns[-1].body.decode()
                assert SUMMARY_KEY.encode() in other.summaries[0].head
        other = Board()
        with Upstream(other.script) as elsewhere:
            assert backstage(proxy, **summariser(elsewhere, "chat")).status_code == 200
            other.summarise = lambda request, line: line.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{")
            session.turn("model-c")  # it hangs up
            with impatient(proxy):
                go = other.hold()
                session.turn("model-d")  # it is too slow
                go.set()
            leave_behind(session, other)  # it answers no more
            proxy.stop()
            assert "x-api-key: [redacted]" in proxy.log()
            assert SUMMARY_KEY not in proxy.log()
        assert len(other.summaries) == 3
        assert all(SUMMARY_KEY.encode() in asked.head for asked in other.summaries)
    assert files.found([SUMMARY_KEY, "sk-client"]) == {"flows": ["sk-client"], "flows.har": ["sk-client"]}
    own = [flow for flow in files.flows() if flow.is_replay]
    assert len(own) >= len(SHAPES) + 2
    for flow in own:
        names = ("authorization", "x-api-key", "x-goog-api-key")
        assert [value for name in names if (value := flow.request.headers.get(name))] in (
            ["Bearer [redacted]"],
            ["[redacted]"],
        )


def summariser(elsewhere: Upstream, shape: str) -> dict[str, str]:
    """The options by which summaries are made elsewhere."""
    url = elsewhere.url + SHAPES[shape].path.format(model="any")
    values = {"url": url, "key_env": "SUMMARY_KEY", "model": "small-1"}
    return {f"thoughtkeep_handover_{name}": value for name, value in values.items()}


# -- the parts, without a proxy ----------------------------------------------------------------------------------------


def test_a_name_is_secret_by_one_of_its_words() -> None:
    secret = """Authorization Proxy-Authorization x-api-key X-Goog-Api-Key api-key apikey api_key Cookie set-cookie
    X-Amz-Security-Token X-Amz-Signature X-Amz-Credential access_token accessToken AWSAccessKeyId client_secret
    x-auth-token password credentials X-Jwt-Assertion"""
    plain = """x-ratelimit-remaining-tokens max_tokens content-type authority keyboard x-request-id monkey
    WWW-Authenticate openai-organization author x-cookies"""
    assert [name for name in secret.split() if not is_secret(name)] == []
    assert [name for name in plain.split() if is_secret(name)] == []


@pytest.mark.parametrize(
    ("name", "value", "saved"),
    [
        ("Authorization", "Bearer sk-1", "Bearer [redacted]"),
        ("authorization", "basic dTpw", "basic [redacted]"),
        ("authorization", "AWS4-HMAC-SHA256 Credential=a/b, Signature=c", "AWS4-HMAC-SHA256 [redacted]"),
        ("authorization", "sk-1 sk-2", "[redacted]"),
        ("authorization", "Bearer ", "[redacted]"),
        ("x-api-key", "sk-1", "[redacted]"),
        ("x-api-key", "", ""),
        ("set-cookie", "a=b; Path=/", "[redacted]"),
        ("sec-websocket-protocol", "realtime, openai-insecure-api-key.sk-1", "[redacted]"),
        ("sec-websocket-protocol", "graphql-ws", "graphql-ws"),
        (
            "location",
            "https://u:p@host/?code=1&token=2#access_token=3",
            "https://[redacted]@host/?code=1&token=[redacted]#access_token=[redacted]",
        ),
        ("x-ratelimit-remaining-tokens", "4711", "4711"),
    ],
)
def test_of_a_secret_header_only_the_scheme_stays(name: str, value: str, saved: str) -> None:
    assert redact_header(name, value) == saved


@pytest.mark.parametrize(
    ("path", "saved"),
    [
        (
            "/v1beta/models/a:generateContent?alt=sse&key=AIza",
            "/v1beta/models/a:generateContent?alt=sse&key=[redacted]",
        ),
        ("/?sig=a%20b&Signature=c&b=%zz&&=&key=&key", "/?sig=[redacted]&Signature=[redacted]&b=%zz&&=&key=&key"),
        ("/?api%5Fkey=a=b&max_tokens=1", "/?api%5Fkey=[redacted]&max_tokens=1"),
        ("/key=1/a@b", "/key=1/a@b"),
        ("/fetch/https://u:p@ss@host/key", "/fetch/https://[redacted]@host/key"),
        ("", ""),
    ],
)
def test_of_a_secret_parameter_only_the_name_stays_and_all_else_to_the_byte(path: str, saved: str) -> None:
    assert redact_url(path) == saved


def secret_flow(*, live: bool = False) -> http.HTTPFlow:
    flow = tflow.tflow(resp=True)
    flow.live = live
    assert flow.response is not None
    flow.metadata["proxyauth"] = (USER, "canary")
    flow.request.path = "/?key=canary"
    for message in (flow.request, flow.response):
        message.headers["x-api-key"] = "canary"
        message.trailers = http.Headers([(b"x-token", b"canary \xff")])
    return flow


def test_what_is_sealed_goes_on_as_it_is_and_is_saved_and_copied_without_its_credentials() -> None:
    flow = secret_flow()
    request, response = flow.request, flow.response
    flow.backup()  # type: ignore[no-untyped-call]  # mitmproxy's own
    flow.request.headers["x-more"] = "edited"
    seal(flow)
    assert (flow.request, flow.response) == (request, response)
    assert (flow.request.path, flow.request.headers["x-api-key"]) == ("/?key=canary", "canary")
    copied = flow.copy()  # type: ignore[no-untyped-call]  # mitmproxy's own
    for state in (flow.get_state(), copied.get_state()):
        assert "canary" not in repr(state)
        assert state["metadata"]["proxyauth"] == (USER, "[redacted]")
    flow.revert()  # type: ignore[no-untyped-call]  # mitmproxy's own
    assert "x-more" not in flow.request.headers
    assert "canary" not in repr(flow.get_state())


def test_what_cannot_be_told_to_concern_us_is_redacted() -> None:
    runtime, flow = Runtime(), secret_flow()

    def fault(_: object) -> bool:
        raise RuntimeError("canary")

    runtime.settings = runtime.settings.model_copy(update={"redact_saved": "on"})
    runtime.concerns = fault
    Redaction(runtime).response(flow)
    assert "canary" not in repr((flow.get_state(), flow.request.headers))
    assert runtime.counts["faults"] == 1


async def given_up(flow: http.HTTPFlow, runtime: Runtime) -> None:
    with taddons.context() as context:  # type: ignore[no-untyped-call]  # mitmproxy's own
        redaction = Redaction(runtime)
        context.master.addons.add(redaction)
        runtime.own.add(flow.id)
        seal(flow)
        redaction.requestheaders(flow)
        for _ in range(3):
            await asyncio.sleep(0.05)
            assert flow.request.headers["x-api-key"] == "canary"  # it has yet to leave
        flow.live = False
        runtime.own.discard(flow.id)
        await asyncio.sleep(0.5)


def test_a_request_of_our_own_that_is_given_up_keeps_no_key_of_ours() -> None:
    flow = secret_flow(live=True)
    asyncio.run(given_up(flow, Runtime()))
    assert "canary" not in repr((flow.request.headers, flow.request.path, flow.get_state()))
